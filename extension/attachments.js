/**
 * The tabs that have our debugger: the only module that calls `chrome.debugger.attach`, `detach` and `sendCommand`.
 *
 * Chrome keeps the debugger attached when it ends this service worker, so what is known of our tabs is also kept in
 * `chrome.storage.session`, and `adopt` takes it up again.
 */

import { forgetFrames, keepFramesComing, settleSize } from './frames.js';

const DEBUGGER_VERSION = '1.3';

/** @type {Set<number>} */
const attached = new Set();

/** @type {Map<number, Promise<void>>} Attaching that is under way: two commands never attach twice. */
const attaching = new Map();

/** @type {Map<number, Promise<void>>} Detaching that is under way: who wants the tab again waits for it. */
const detaching = new Map();

/**
 * Targets whose `Runtime` is on, as `tabId` or `tabId/childSessionId`. Chrome reports contexts only when it is switched on.
 * @type {Set<string>}
 */
const runtimeOn = new Set();

/** @param {number} tabId @param {string} [child] */
const targetKey = (tabId, child) => (child ? `${tabId}/${child}` : `${tabId}`);

/** @param {number} tabId */
export function isAttached(tabId) {
  return attached.has(tabId);
}

export function attachedTabs() {
  return [...attached];
}

/** Takes up the attachments of an earlier life of this worker. Every other use of this module comes after it. */
export async function adopt() {
  const stored = await chrome.storage.session.get(['attachedTabs', 'runtimeOn']);
  if (!Array.isArray(stored.attachedTabs) || stored.attachedTabs.length === 0) {
    return;
  }
  const targets = await chrome.debugger.getTargets();
  for (const { tabId, attached: stillAttached } of targets) {
    if (tabId !== undefined && stillAttached && stored.attachedTabs.includes(tabId)) {
      attached.add(tabId);
    }
  }
  for (const key of Array.isArray(stored.runtimeOn) ? stored.runtimeOn : []) {
    if (attached.has(Number.parseInt(key))) {
      runtimeOn.add(key);
    }
  }
}

/** @param {number} tabId */
export async function attach(tabId) {
  await detaching.get(tabId);
  if (attached.has(tabId)) {
    return;
  }
  let underWay = attaching.get(tabId);
  if (!underWay) {
    underWay = chrome.debugger.attach({ tabId }, DEBUGGER_VERSION).then(() => {
      attached.add(tabId);
      remember();
    });
    attaching.set(tabId, underWay);
    underWay.catch(() => {}).finally(() => attaching.delete(tabId));
  }
  await underWay;
}

/** @param {number} tabId @returns {Promise<boolean>} Whether it had the debugger. */
export async function detach(tabId) {
  if (!attached.has(tabId) || detaching.has(tabId)) {
    return false;
  }
  const underWay = giveBack(tabId);
  detaching.set(tabId, underWay);
  await underWay;
  detaching.delete(tabId);
  return true;
}

/** Takes the debugger off a page that is left as if it had never been there. @param {number} tabId */
async function giveBack(tabId) {
  // A dialog that a client did not answer would stop the page, and nobody would see why. Where there is none this fails.
  chrome.debugger
    .sendCommand({ tabId }, 'Page.handleJavaScriptDialog', { accept: false })
    .catch(() => {});
  await settleSize(tabId);
  // The person may have taken it off meanwhile, or the tab has gone.
  if (forget(tabId)) {
    await chrome.debugger.detach({ tabId }).catch(() => {});
  }
}

/**
 * The debugger is off this tab; says whether it was ours.
 * @param {number} tabId
 */
export function forget(tabId) {
  if (!attached.delete(tabId)) {
    return false;
  }
  forgetFrames(tabId);
  for (const key of runtimeOn) {
    if (key === targetKey(tabId) || key.startsWith(`${tabId}/`)) {
      runtimeOn.delete(key);
    }
  }
  remember();
  return true;
}

/**
 * @param {number} tabId
 * @param {string} method
 * @param {object} params
 * @param {string} [child] Chrome's session id of a target below the tab.
 */
export function sendCommand(tabId, method, params, child) {
  const target = child ? { tabId, sessionId: child } : { tabId };
  if (method === 'Runtime.enable') {
    return enableRuntime(target, params);
  }
  if (method === 'Runtime.disable') {
    runtimeOn.delete(targetKey(tabId, child));
    remember();
  }
  const answer = chrome.debugger.sendCommand(target, method, params);
  keepFramesComing(tabId, method, params, answer);
  return answer;
}

/**
 * Chrome tells a target's contexts only as `Runtime` is switched on, and somebody who asks again waits for them: so it is
 * switched off first where it is on.
 * @param {{ tabId: number, sessionId?: string }} target
 * @param {object} params
 */
async function enableRuntime(target, params) {
  const key = targetKey(target.tabId, target.sessionId);
  if (runtimeOn.has(key)) {
    await chrome.debugger.sendCommand(target, 'Runtime.disable', {});
  }
  runtimeOn.add(key);
  remember();
  return chrome.debugger.sendCommand(target, 'Runtime.enable', params);
}

function remember() {
  chrome.storage.session.set({ attachedTabs: [...attached], runtimeOn: [...runtimeOn] });
}
