/**
 * The connection of the popup or the welcome page to the service worker: delivers each status and
 * sends the user's requests.
 */

/** @typedef {(message: import('./popup_messages.js').PopupMessage) => void} Send */

/**
 * @param {string} name
 * @param {(status: import('./relay_session.js').Status) => void} onStatus
 * @returns {Send}
 */
export function connectToWorker(name, onStatus) {
  /** @type {chrome.runtime.Port} */
  let worker;
  // Chrome stops an idle worker even while a page is connected. Connecting starts it again.
  const connect = () => {
    worker = chrome.runtime.connect({ name });
    worker.onMessage.addListener(onStatus);
    worker.onDisconnect.addListener(connect);
  };
  connect();
  return (message) => worker.postMessage(message);
}
