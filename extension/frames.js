/**
 * Frames for tabs that nobody looks at. Of a background tab whose last three frames nobody saw, Chrome draws one a second,
 * and what waits for frames waits for that: a click, before which Playwright waits for two, takes two seconds. While a
 * screencast runs, frames are drawn. So when a command is not answered soon, one is run until it is, and a moment longer. A
 * screenshot of such a tab would wait for ever, so for it one is run at once. A page that believes to be hidden draws nothing
 * at all: where the client did not say that it has the focus, as Playwright does, that is said too.
 *
 * Chrome has one screencast a tab, and a client may run it: then frames come anyway.
 */

const SOON_MS = 25;
const LINGER_MS = 100;
const SETTLE_MS = 500;
const SETTLE_STEP_MS = 20;

/** The smallest frames there are, and only the first of a million is sent: nobody sees them. */
const OWN_SCREENCAST = {
  format: 'jpeg',
  quality: 1,
  maxWidth: 16,
  maxHeight: 16,
  everyNthFrame: 1_000_000,
};

const SETS_SIZE = /^(Emulation|Page)\.setDeviceMetricsOverride$/;

/** Commands whose answer may wait for a frame: scripts can ask for one, and input is handled with one. */
const MAY_WAIT = /^(Input\.|Runtime\.(awaitPromise|callFunctionOn|evaluate)$)/;

/**
 * @typedef {object} Frames
 * @property {'nobody' | 'us' | 'client'} runner Who runs the tab's screencast.
 * @property {number} late How many commands are not answered yet though they should be.
 * @property {ReturnType<typeof setTimeout>} [linger] Ends our screencast.
 * @property {boolean} focused The page was told that it has the focus.
 * @property {boolean} resized A client gave the page another size. Taking that back may not have reached the page yet.
 */

/** @type {Map<number, Frames>} By tab; enters with its first command that is late or about a screencast, leaves with the debugger. */
const tabs = new Map();

/**
 * A command is on its way to this tab.
 * @param {number} tabId
 * @param {string} method
 * @param {{ enabled?: boolean }} params
 * @param {Promise<unknown>} answer
 */
export function keepFramesComing(tabId, method, params, answer) {
  if (method === 'Page.startScreencast') {
    framesOf(tabId).runner = 'client';
  } else if (method === 'Page.stopScreencast') {
    onStopped(tabId, framesOf(tabId));
  } else if (method === 'Page.captureScreenshot') {
    watch(tabId, answer, 0);
  } else if (SETS_SIZE.test(method)) {
    framesOf(tabId).resized = true;
  } else if (method === 'Emulation.setFocusEmulationEnabled') {
    framesOf(tabId).focused = params.enabled === true;
  } else if (MAY_WAIT.test(method)) {
    watch(tabId, answer, SOON_MS);
  }
}

/**
 * Gives a page its own size back before the debugger leaves it. Chrome tells a page of a new size only when it has drawn
 * a frame of the last one, and without the debugger a page in the background draws none: it would keep the client's size
 * until the person looks at it.
 * @param {number} tabId
 */
export async function settleSize(tabId) {
  const frames = tabs.get(tabId);
  if (frames?.resized) {
    // A page that has gone, or is stopped, is not waited for.
    await Promise.race([giveSizeBack(tabId, frames).catch(() => {}), pause(SETTLE_MS)]);
  }
}

/** @param {number} tabId @param {Frames} frames */
async function giveSizeBack(tabId, frames) {
  frames.late += 1;
  start(tabId, frames);
  const resized = await sizeOf(tabId);
  await chrome.debugger.sendCommand({ tabId }, 'Emulation.clearDeviceMetricsOverride');
  // Ends at the latest with the debugger.
  while (tabs.get(tabId) === frames && (await sizeOf(tabId)) === resized) {
    await pause(SETTLE_STEP_MS);
  }
}

/** @param {number} tabId */
async function sizeOf(tabId) {
  return JSON.stringify(await chrome.debugger.sendCommand({ tabId }, 'Page.getLayoutMetrics'));
}

/** @param {number} ms */
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** The debugger is off this tab, and a screencast with it. @param {number} tabId */
export function forgetFrames(tabId) {
  clearTimeout(tabs.get(tabId)?.linger);
  tabs.delete(tabId);
}

/** @param {number} tabId @returns {Frames} */
function framesOf(tabId) {
  const frames = tabs.get(tabId) ?? { runner: 'nobody', late: 0, focused: false, resized: false };
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
    if (!frames.focused) {
      frames.focused = true;
      send(tabId, 'Emulation.setFocusEmulationEnabled', { enabled: true });
    }
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
