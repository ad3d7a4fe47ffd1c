/**
 * Frames for tabs that nobody looks at. Of a background tab whose last three frames nobody saw, Chrome draws one a second,
 * and what waits for frames waits for that: a click, before which Playwright waits for two, takes two seconds. While a
 * screencast runs, frames are drawn. So when a command is not answered soon, one is run until it is, and a moment longer. A
 * screenshot of such a tab would wait for ever, so for it one is run at once.
 *
 * Chrome has one screencast a tab, and a client may run it: then frames come anyway.
 */

const SOON_MS = 25;
const LINGER_MS = 100;

/** The smallest frames there are, and only the first of a million is sent: nobody sees them. */
const OWN_SCREENCAST = { format: 'jpeg', quality: 1, maxWidth: 16, maxHeight: 16, everyNthFrame: 1_000_000 };

/** Commands whose answer may wait for a frame: scripts can ask for one, and input is handled with one. */
const MAY_WAIT = /^(Input\.|Runtime\.(awaitPromise|callFunctionOn|evaluate)$)/;

/**
 * @typedef {object} Frames
 * @property {'nobody' | 'us' | 'client'} runner Who runs the tab's screencast.
 * @property {number} late How many commands are not answered yet though they should be.
 * @property {ReturnType<typeof setTimeout>} [linger] Ends our screencast.
 */

/** @type {Map<number, Frames>} By tab; enters with its first command that is late or about a screencast, leaves with the debugger. */
const tabs = new Map();

/**
 * A command is on its way to this tab.
 * @param {number} tabId
 * @param {string} method
 * @param {Promise<unknown>} answer
 */
export function keepFramesComing(tabId, method, answer) {
  if (method === 'Page.startScreencast') {
    framesOf(tabId).runner = 'client';
  } else if (method === 'Page.stopScreencast') {
    onStopped(tabId, framesOf(tabId));
  } else if (method === 'Page.captureScreenshot') {
    watch(tabId, answer, 0);
  } else if (MAY_WAIT.test(method)) {
    watch(tabId, answer, SOON_MS);
  }
}

/** The debugger is off this tab, and a screencast with it. @param {number} tabId */
export function forgetFrames(tabId) {
  clearTimeout(tabs.get(tabId)?.linger);
  tabs.delete(tabId);
}

/** @param {number} tabId @returns {Frames} */
function framesOf(tabId) {
  const frames = tabs.get(tabId) ?? { runner: 'nobody', late: 0 };
  tabs.set(tabId, frames);
  return frames;
}

/** @param {number} tabId @param {Promise<unknown>} answer @param {number} patienceMs */
function watch(tabId, answer, patienceMs) {
  /** @type {Frames | undefined} */
  let frames;
  const onLate = () => {
    frames = framesOf(tabId);
    frames.late += 1;
    start(tabId, frames);
  };
  const soon = patienceMs > 0 ? setTimeout(onLate, patienceMs) : onLate();
  const onAnswer = () => {
    clearTimeout(soon ?? undefined);
    if (frames) {
      frames.late -= 1;
      endLater(tabId, frames);
    }
  };
  answer.then(onAnswer, onAnswer);
}

/** @param {number} tabId @param {Frames} frames */
function start(tabId, frames) {
  clearTimeout(frames.linger);
  if (frames.runner === 'nobody') {
    frames.runner = 'us';
    send(tabId, 'Page.startScreencast', OWN_SCREENCAST);
  }
}

/** @param {number} tabId @param {Frames} frames */
function endLater(tabId, frames) {
  clearTimeout(frames.linger);
  frames.linger = setTimeout(() => {
    if (frames.late === 0 && frames.runner === 'us' && tabs.get(tabId) === frames) {
      frames.runner = 'nobody';
      send(tabId, 'Page.stopScreencast', {});
    }
  }, LINGER_MS);
}

/** A client ended the tab's screencast, whoever began it. @param {number} tabId @param {Frames} frames */
function onStopped(tabId, frames) {
  frames.runner = 'nobody';
  if (frames.late > 0) {
    start(tabId, frames);
  }
}

/** @param {number} tabId @param {string} method @param {object} params */
function send(tabId, method, params) {
  // The tab may have gone; then there is nothing to draw.
  chrome.debugger.sendCommand({ tabId }, method, params).catch(() => {});
}
