/**
 * The tabs that this extension's debugger is attached to. This is the only module that uses
 * `chrome.debugger`: other modules attach, send commands and receive events through it.
 *
 * A tab is attached from `attach` until `detach`, or until Chrome detaches it. Chrome keeps the
 * debugger attached when it stops this service worker, so the state is also saved in
 * `chrome.storage.session`, where `adopt` finds it again.
 */

import { CpuThrottle, isRate, SET_CPU_RATE } from './cpu_throttle.js';
import { FramePump } from './frames.js';
import { tabState } from './tab_state.js';

const DEBUGGER_VERSION = '1.3';

/**
 * @typedef {object} Attachment
 * @property {FramePump} frames
 * @property {Set<string>} runtimeEnabled Targets in which `Runtime` is enabled: child session ids,
 *   or `PAGE`.
 * @property {CpuThrottle} cpu
 *
 * @typedef {{ tabId: number, childSessionId?: string }} TargetId A tab's page or, with Chrome's session id, one
 *   of its child targets.
 */

/**
 * @callback DebuggerEventListener
 * @param {number} tabId
 * @param {string} method
 * @param {object} params
 * @param {string} [childSessionId] Set if the event comes from a child target of the tab.
 * @returns {void}
 */

/** Stands for the tab's own page among the child session ids. */
const PAGE = '';

/**
 * An entry is added when Chrome has attached the debugger, or by `adopt`, and removed when the
 * debugger is detached.
 * @type {Map<number, Attachment>}
 */
const attached = new Map();

/** @type {Map<number, Promise<void>>} Attaches in flight. Further calls join them. */
const attaching = new Map();

/** @type {Map<number, Promise<void>>} Detaches in flight. A new attach waits for them. */
const detaching = new Map();

/**
 * Tabs whose debugger Chrome refused to detach, as it does while they show a `view-source:` page.
 * An entry is removed when the debugger is detached after all.
 * @type {Set<number>}
 */
const stuck = new Set();

/** Whether a page may be told that it has the focus although no client has asked for it. */
let emulatesFocus = true;

/** @param {boolean} isAllowed */
export function setFocusEmulation(isAllowed) {
  emulatesFocus = isAllowed;
}

/** @param {number} tabId */
export function isAttached(tabId) {
  return attached.has(tabId);
}

export function attachedTabs() {
  return [...attached.keys()];
}

/**
 * Restores the attachments made before the service worker was last stopped. Await this before using
 * anything else here.
 */
export async function adopt() {
  /** @type {{ attachedTabs?: number[], runtimeEnabled?: Record<number, string[]>, cpuRates?: Record<number, any> }} */
  const saved = await chrome.storage.session.get(['attachedTabs', 'runtimeEnabled', 'cpuRates']);
  if (!saved.attachedTabs?.length) {
    return;
  }
  const targets = await chrome.debugger.getTargets();
  for (const tabId of saved.attachedTabs) {
    if (targets.some((target) => target.tabId === tabId && target.attached)) {
      attached.set(
        tabId,
        newAttachment(tabId, saved.runtimeEnabled?.[tabId], saved.cpuRates?.[tabId]),
      );
    }
  }
}

/**
 * @param {number} tabId
 * @param {string[]} [runtimeEnabled]
 * @param {Record<string, import('./cpu_throttle.js').CpuRate>} [cpuRates]
 * @returns {Attachment}
 */
function newAttachment(tabId, runtimeEnabled = [], cpuRates) {
  const frames = new FramePump(
    (method, params) => chrome.debugger.sendCommand({ tabId }, method, params),
    {
      viewSize: () => chrome.tabs.get(tabId),
      isPdf: () => tabState(tabId).isPdf,
      mayFocus: () => emulatesFocus,
    },
  );
  /** @type {import('./cpu_throttle.js').Send} */
  const send = (childSessionId, method, params) =>
    chrome.debugger.sendCommand(debuggee(tabId, childSessionId), method, params);
  const cpu = new CpuThrottle(send, cpuRates);
  return { frames, runtimeEnabled: new Set(runtimeEnabled), cpu };
}

/** @param {number} tabId */
export async function attach(tabId) {
  await detaching.get(tabId);
  await releaseStuck(tabId);
  if (attached.has(tabId)) {
    return;
  }
  let pending = attaching.get(tabId);
  if (!pending) {
    pending = attachNow(tabId).finally(() => attaching.delete(tabId));
    attaching.set(tabId, pending);
  }
  await pending;
}

/** @param {number} tabId */
async function attachNow(tabId) {
  await chrome.debugger.attach({ tabId }, DEBUGGER_VERSION);
  attached.set(tabId, newAttachment(tabId));
  save();
}

/** @param {number} tabId @returns {Promise<boolean>} Whether the debugger was attached. */
export async function detach(tabId) {
  const attachment = attached.get(tabId);
  if (!attachment || detaching.has(tabId)) {
    return false;
  }
  const pending = detachNow(tabId, attachment);
  detaching.set(tabId, pending);
  await pending;
  detaching.delete(tabId);
  return true;
}

/**
 * Detaches and leaves the page as if it had never been debugged.
 * @param {number} tabId
 * @param {Attachment} attachment
 */
async function detachNow(tabId, attachment) {
  // An open dialog would block the page with nobody left to answer it. Fails if there is none.
  chrome.debugger
    .sendCommand({ tabId }, 'Page.handleJavaScriptDialog', { accept: false })
    .catch(() => {});
  await attachment.frames.restoreSize();
  // The user may have cancelled debugging or closed the tab by now.
  if (forget(tabId)) {
    await chrome.debugger.detach({ tabId }).catch(() => onDetachRefused(tabId));
  }
}

/** @param {number} tabId */
async function onDetachRefused(tabId) {
  const targets = await chrome.debugger.getTargets();
  if (targets.some((target) => target.tabId === tabId && target.attached)) {
    stuck.add(tabId);
    save();
  }
}

/**
 * Detaches the debugger from a tab that has left the page where Chrome refused it. Call this when a
 * tab shows another page.
 * @param {number} tabId
 */
export async function releaseStuck(tabId) {
  if (stuck.delete(tabId)) {
    save();
    const pending = chrome.debugger.detach({ tabId }).catch(() => {});
    detaching.set(tabId, pending);
    await pending;
    detaching.delete(tabId);
  }
}

/** A target, as `chrome.debugger` names it. @param {number} tabId @param {string} [childSessionId] */
const debuggee = (tabId, childSessionId) =>
  childSessionId ? { tabId, sessionId: childSessionId } : { tabId };

/** @param {number} tabId @returns {boolean} Whether the tab was still attached. */
function forget(tabId) {
  attached.get(tabId)?.frames.stop();
  const wasStuck = stuck.delete(tabId);
  const wasAttached = attached.delete(tabId);
  if (wasAttached || wasStuck) {
    save();
  }
  return wasAttached;
}

/** @param {number} tabId @param {string} childSessionId */
function forgetChild(tabId, childSessionId) {
  const attachment = attached.get(tabId);
  const hadRuntime = attachment?.runtimeEnabled.delete(childSessionId);
  const hadRate = attachment?.cpu.forget(childSessionId);
  if (hadRuntime || hadRate) {
    save();
  }
}

/**
 * @param {number} tabId
 * @param {string} method
 * @param {object} params
 * @param {string} [childSessionId] Chrome's session id of a child target of the tab.
 * @returns {Promise<unknown>}
 */
export function sendCommand(tabId, method, params, childSessionId) {
  const target = debuggee(tabId, childSessionId);
  const attachment = attached.get(tabId);
  if (attachment && method === 'Runtime.enable') {
    return enableRuntime(attachment, target, params);
  }
  if (attachment && method === 'Runtime.disable') {
    attachment.runtimeEnabled.delete(childSessionId ?? PAGE);
    save();
  }
  if (attachment && method === SET_CPU_RATE && 'rate' in params && isRate(params.rate)) {
    return attachment.cpu.setClientRate(childSessionId, params.rate, save);
  }
  const send = () => chrome.debugger.sendCommand(target, method, params);
  const isForPage = attachment && !childSessionId;
  const reply = isForPage ? attachment.frames.sendInOrder(method, send) : send();
  attachment?.frames.onCommand(method, params, reply);
  return reply;
}

/**
 * Chrome reports a target's execution contexts only when `Runtime` is switched on, and every client
 * that enables it waits for them. So if it is already on, it is switched off first.
 * @param {Attachment} attachment
 * @param {{ tabId: number, sessionId?: string }} target
 * @param {object} params
 */
async function enableRuntime({ runtimeEnabled }, target, params) {
  const key = target.sessionId ?? PAGE;
  if (runtimeEnabled.has(key)) {
    await chrome.debugger.sendCommand(target, 'Runtime.disable', {});
  }
  runtimeEnabled.add(key);
  save();
  return chrome.debugger.sendCommand(target, 'Runtime.enable', params);
}

/**
 * Slows a target down, in addition to what clients have set. `1` ends this.
 * @param {TargetId} target
 * @param {number} rate
 */
export async function slowDown({ tabId, childSessionId }, rate) {
  const cpu = attached.get(tabId)?.cpu;
  if (cpu) {
    await cpu.slowDown(childSessionId, rate, save);
    repeatAbove(cpu.total(childSessionId));
  }
}

/**
 * Chrome applies a rate to the target's process, which may have other tabs of the same site. The highest has to come last.
 * @param {number} rate What was just applied.
 */
function repeatAbove(rate) {
  const higher = [...attached.values()].flatMap(({ cpu }) => cpu.above(rate));
  higher.sort((a, b) => a.rate - b.rate).forEach(({ repeat }) => repeat());
}

/** The targets that are slowed down, and their rates. @returns {[TargetId, number][]} */
export function slowedTargets() {
  return [...attached].flatMap(([tabId, { cpu }]) =>
    cpu.own().map(([childSessionId, rate]) => [{ tabId, childSessionId }, rate]),
  );
}

// ---- what is known without attaching ----

/**
 * The DevTools target id of every tab's page. Chrome returns it without attaching.
 * @returns {Promise<Map<number, string>>}
 */
export async function pageTargetIds() {
  /** @type {Map<number, string>} */
  const ids = new Map();
  for (const { tabId, type, id } of await chrome.debugger.getTargets()) {
    if (tabId !== undefined && type === 'page') {
      ids.set(tabId, id);
    }
  }
  return ids;
}

/**
 * The targets that Chrome lists right after each tab's page: those of its cross-process frames and, after
 * the last of them, maybe others. Chrome returns them without attaching.
 * @returns {Promise<Map<number, import('./protocol.js').RemoteFrame[]>>}
 */
export async function targetsByPage() {
  /** @type {Map<number, import('./protocol.js').RemoteFrame[]>} */
  const byPage = new Map();
  let tabId;
  for (const target of await chrome.debugger.getTargets()) {
    if (target.type === 'other' && tabId !== undefined) {
      byPage.get(tabId)?.push({ targetId: target.id, url: target.url });
    } else {
      tabId = target.type === 'page' ? target.tabId : undefined;
    }
    if (tabId !== undefined && !byPage.has(tabId)) {
      byPage.set(tabId, []);
    }
  }
  return byPage;
}

/**
 * Call this once, before anything is awaited: otherwise the event that started the worker is lost.
 * @param {object} listeners
 * @param {DebuggerEventListener} listeners.onEvent
 * @param {(tabId: number, reason: string) => void} listeners.onDetached
 * @param {() => void} listeners.onCancelled The user has cancelled debugging. Called first.
 */
export function watchDebugger({ onEvent, onDetached, onCancelled }) {
  chrome.debugger.onEvent.addListener(({ tabId, sessionId }, method, params) => {
    if (tabId !== undefined) {
      if (method === 'Target.detachedFromTarget' && params) {
        forgetChild(tabId, /** @type {{ sessionId: string }} */ (params).sessionId);
      }
      onEvent(tabId, method, params ?? {}, sessionId);
    }
  });
  chrome.debugger.onDetach.addListener(({ tabId }, reason) => {
    if (reason === 'canceled_by_user') {
      onCancelled();
    }
    for (const detachedTab of detachedTabs(tabId, reason)) {
      forget(detachedTab);
      onDetached(detachedTab, reason);
    }
  });
}

/**
 * "Cancel" in the infobar detaches every tab, whichever one Chrome names.
 * @param {number | undefined} tabId
 * @param {string} reason
 */
function detachedTabs(tabId, reason) {
  if (reason === 'canceled_by_user') {
    return attachedTabs();
  }
  return tabId === undefined ? [] : [tabId];
}

function save() {
  const runtimeEnabled = Object.fromEntries(
    [...attached].map(([tabId, attachment]) => [tabId, [...attachment.runtimeEnabled]]),
  );
  const cpuRates = Object.fromEntries(
    [...attached].map(([tabId, attachment]) => [tabId, attachment.cpu.saved()]),
  );
  chrome.storage.session.set({
    attachedTabs: [...attachedTabs(), ...stuck],
    runtimeEnabled,
    cpuRates,
  });
}
