/**
 * The cross-process frames of tabs that are not attached. Clients receive them as targets of their
 * own, so Chrome's ids of these targets have to be known without attaching.
 *
 * Chrome lists the targets of a page's frames right after the page, but does not say whose they are.
 * So each is compared with the tab's frames. If one cannot be told from another, it is left out.
 *
 * The relay gets them with the list of tabs, and the changes afterwards. Chrome does not report frames that
 * a page removes, so the relay may know some that are gone.
 */

import { targetsByPage } from './attachments.js';

/**
 * @typedef {import('./protocol.js').RemoteFrame} RemoteFrame
 * @typedef {chrome.webNavigation.GetAllFrameResultDetails} Frame
 */

/**
 * How long to collect changes: a page with many frames loads them one after the other. Chrome has no
 * event with the target of a frame, so each look lists the targets of all tabs, which took 0.4 ms with
 * 20 tabs, 3.5 ms with 200 and more than ten times that with 500. A page that keeps navigating its frames
 * must not occupy the worker with that.
 */
const COLLECT_MS = 300;

/** @type {Map<number, string>} The frames that the relay has of each tab with any, as JSON. */
const reported = new Map();
/** @type {Set<number>} The tabs whose frames may have changed since. */
let changed = new Set();

/** The frames of all tabs, for the list of tabs. @param {(tabId: number) => boolean} isWanted */
export async function listRemoteFrames(isWanted) {
  const frames = await remoteFrames(isWanted).catch(() => new Map());
  reported.clear();
  for (const [tabId, ofTab] of frames) {
    reported.set(tabId, JSON.stringify(ofTab));
  }
  return frames;
}

/** The relay forgets a tab's frames when the tab has a new document or is closed. @param {number} tabId */
export function forgetFrames(tabId) {
  reported.delete(tabId);
}

/**
 * Frames of this tab may have changed. Calls `notify` if they have: at once for the first change in a
 * while, and for all others a moment later.
 * @param {number} tabId
 * @param {(tabId: number, frames: RemoteFrame[]) => void} notify
 */
export function onFramesChanged(tabId, notify) {
  if (changed.size === 0) {
    setTimeout(reportCollected, COLLECT_MS, notify);
    reportChanges(new Set([tabId]), notify);
  }
  changed.add(tabId);
}

/** @param {(tabId: number, frames: RemoteFrame[]) => void} notify */
function reportCollected(notify) {
  const tabs = changed;
  changed = new Set();
  return reportChanges(tabs, notify);
}

/** @param {Set<number>} tabs @param {(tabId: number, frames: RemoteFrame[]) => void} notify */
async function reportChanges(tabs, notify) {
  const found = await remoteFrames((tabId) => tabs.has(tabId)).catch(() => null);
  for (const tabId of found ? tabs : []) {
    const frames = found?.get(tabId) ?? [];
    const text = JSON.stringify(frames);
    if (text !== (reported.get(tabId) ?? '[]')) {
      if (frames.length > 0) {
        reported.set(tabId, text);
      } else {
        reported.delete(tabId);
      }
      notify(tabId, frames);
    }
  }
}

/**
 * The cross-process frames in the top document of each tab that has any. Those inside of them appear
 * when the tab is attached.
 * @param {(tabId: number) => boolean} isWanted
 * @returns {Promise<Map<number, RemoteFrame[]>>}
 */
async function remoteFrames(isWanted) {
  const tabs = [...(await targetsByPage())].filter(
    ([tabId, targets]) => targets.length > 0 && isWanted(tabId),
  );
  const found = await Promise.all(
    tabs.map(async ([tabId, targets]) => {
      const frames = await chrome.webNavigation.getAllFrames({ tabId }).catch(() => null);
      return /** @type {const} */ ([tabId, matchFrames(frames ?? [], targets)]);
    }),
  );
  return new Map(found.filter(([, frames]) => frames.length > 0));
}

/**
 * @param {Frame[]} frames
 * @param {RemoteFrame[]} targets
 * @returns {RemoteFrame[]}
 */
function matchFrames(frames, targets) {
  const byId = new Map(frames.map((frame) => [frame.frameId, frame]));
  /** @param {Frame} frame */
  const isRemote = (frame) => {
    const parent = byId.get(frame.parentFrameId);
    return parent !== undefined && parent.processId !== frame.processId;
  };
  const remote = frames.filter(isRemote);
  /** Whether no other process is between the frame and the page. @param {Frame} frame */
  const isDirect = (frame) => {
    let parent = byId.get(frame.parentFrameId);
    while (parent && parent.frameId !== 0 && !isRemote(parent)) {
      parent = byId.get(parent.parentFrameId);
    }
    return parent?.frameId === 0;
  };
  return targets.filter(({ url }) => {
    const same = remote.filter((frame) => frame.url === url);
    const count = targets.filter((target) => target.url === url).length;
    return same.length === count && same.every(isDirect);
  });
}
