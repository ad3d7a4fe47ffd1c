/**
 * The browser's tabs as the relay is told of them, and what the person does with them.
 */

import { isAttached } from './attachments.js';
import { isRestricted } from './policy.js';

/** @type {Set<number>} The tabs that the relay knows: listed or announced, and not taken back. */
const reported = new Set();

/** Tabs that are being created on request, and those that appeared meanwhile: either may be the other. */
let creating = 0;
/** @type {number[]} */
let appeared = [];

/** @returns {Promise<Map<number, string>>} */
async function targetIds() {
  const targets = await chrome.debugger.getTargets();
  /** @type {Map<number, string>} */
  const ids = new Map();
  for (const target of targets) {
    if (target.tabId !== undefined && target.type === 'page') {
      ids.set(target.tabId, target.id);
    }
  }
  return ids;
}

/** @param {chrome.tabs.Tab} tab */
const urlOf = (tab) => tab.url || tab.pendingUrl || '';

/**
 * @param {chrome.tabs.Tab} tab
 * @param {Map<number, string>} ids
 * @returns {import('./protocol.js').TabReport}
 */
function report(tab, ids) {
  const tabId = /** @type {number} */ (tab.id);
  return {
    tabId,
    url: urlOf(tab) || 'about:blank',
    title: tab.title ?? '',
    targetId: ids.get(tabId),
    status: tab.status,
    openerTabId: tab.openerTabId,
    windowId: tab.windowId,
    attached: isAttached(tabId),
  };
}

/** Every tab that may be used; what the relay knows starts anew with it. */
export async function listTabs() {
  const [tabs, ids] = await Promise.all([chrome.tabs.query({}), targetIds()]);
  reported.clear();
  const offered = tabs.filter((tab) => tab.id !== undefined && !isRestricted(urlOf(tab)));
  for (const tab of offered) {
    reported.add(/** @type {number} */ (tab.id));
  }
  return offered.map((tab) => report(tab, ids));
}

/** @param {number} tabId */
export async function describeTab(tabId) {
  const [tab, ids] = await Promise.all([chrome.tabs.get(tabId), targetIds()]);
  return report(tab, ids);
}

/**
 * Makes a tab behind the others, or in front only where that was asked for.
 * @param {{ url: string, newWindow: boolean, active: boolean }} wish
 */
export async function createTab({ url, newWindow, active }) {
  creating += 1;
  try {
    const tab = newWindow ? await inNewWindow(url, active) : await chrome.tabs.create({ url, active }).catch(() => inNewWindow(url, active));
    const tabId = /** @type {number} */ (tab.id);
    reported.add(tabId);
    return tabId;
  } finally {
    creating -= 1;
    if (creating === 0) {
      const others = appeared;
      appeared = [];
      others.filter((tabId) => !reported.has(tabId)).forEach(reportLater);
    }
  }
}

/** @param {string} url @param {boolean} focused @returns {Promise<chrome.tabs.Tab>} */
async function inNewWindow(url, focused) {
  const window = await chrome.windows.create({ url, focused });
  const tab = window?.tabs?.[0];
  if (!tab) {
    throw new Error('Chrome opened no window');
  }
  return tab;
}

/** @param {number} tabId */
export async function activateTab(tabId) {
  const tab = await chrome.tabs.update(tabId, { active: true });
  if (tab) {
    await chrome.windows.update(tab.windowId, { focused: true });
  }
}

/** @type {(method: string, params: object) => void} */
let tell = () => {};

/** @param {number} tabId */
async function reportLater(tabId) {
  try {
    const described = await describeTab(tabId);
    if (!isRestricted(described.url) && !reported.has(tabId)) {
      reported.add(tabId);
      tell('tabCreated', described);
    }
  } catch {
    // It was closed before it could be looked at.
  }
}

/**
 * Listens to what happens with tabs. Called once, before anything is awaited, so that events that woke the worker arrive.
 * @param {(method: string, params: object) => void} onEvent
 */
export function watchTabs(onEvent) {
  tell = onEvent;
  chrome.tabs.onCreated.addListener((tab) => {
    if (tab.id === undefined) {
      return;
    }
    if (creating > 0) {
      appeared.push(tab.id);
    } else {
      reportLater(tab.id);
    }
  });
  chrome.tabs.onUpdated.addListener((tabId, change, tab) => {
    if (!reported.has(tabId)) {
      // A tab comes into reach when it leaves a restricted page.
      if (change.url !== undefined && creating === 0) {
        reportLater(tabId);
      }
      return;
    }
    if (isRestricted(urlOf(tab))) {
      reported.delete(tabId);
      tell('tabRemoved', { tabId });
      return;
    }
    const { url, title, status } = change;
    if (url !== undefined || title !== undefined || status !== undefined) {
      tell('tabUpdated', { tabId, url, title, status });
    }
  });
  chrome.tabs.onRemoved.addListener((tabId) => {
    if (reported.delete(tabId)) {
      tell('tabRemoved', { tabId });
    }
  });
  chrome.tabs.onReplaced.addListener(async (addedTabId, removedTabId) => {
    reported.delete(removedTabId);
    try {
      const added = await describeTab(addedTabId);
      reported.add(addedTabId);
      tell('tabReplaced', { removedTabId, ...added });
    } catch {
      tell('tabRemoved', { tabId: removedTabId });
    }
  });
}
