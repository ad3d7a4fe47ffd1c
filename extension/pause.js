/**
 * Whether the user has stopped all agents. Only the user changes this: with "Pause agents" and "Resume"
 * in the popup, with "Release all", or with "Cancel" in Chrome's own notice. Saved in `chrome.storage.local`, so
 * that it lasts until the user resumes, also when the service worker, the relay or the browser is
 * restarted.
 */

/** For the relay's calls. The relay has the same words for its clients. */
const STOPPED = 'The person stopped this. Ask them before you go on.';

/** @type {boolean | undefined} Unknown until it has been read, or the user has decided. */
let paused;

/** Call this before the relay is connected. */
export async function readPaused() {
  const stored = await chrome.storage.local.get(['paused']);
  // The user may have decided in the meantime.
  paused ??= stored.paused === true;
}

export function isPaused() {
  return paused === true;
}

/** @param {boolean} isNowPaused @returns {boolean} Whether that is a change. */
export function setPaused(isNowPaused) {
  const hasChanged = paused !== isNowPaused;
  paused = isNowPaused;
  if (isNowPaused) {
    chrome.storage.local.set({ paused: true });
  } else {
    chrome.storage.local.remove('paused');
  }
  return hasChanged;
}

/** Throws if the user has stopped all agents. */
export function checkNotPaused() {
  if (isPaused()) {
    throw new Error(STOPPED);
  }
}
