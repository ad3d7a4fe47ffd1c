/**
 * The browser's tabs as the relay is told of them, and what the person does with them.
 */

import { isAttached } from './attachments.js';
import { isRestricted } from './policy.js';

/** @type {Set<number>} The tabs that the relay knows: listed or announced, and not taken back. */
const reported = new Set();

/**
 * Lists and creations that are under way, and the tabs that appeared meanwhile: those may be in a list already, or be what
 * was asked for, so they are announced only afterwards.
 */
let underWay = 0;
/** @type {number[]} */
let appeared = [];

/**
 * The last tabs that have closed, perhaps while they were looked at, which takes a moment. Chrome gives no id twice.
 * @type {Set<number>}
 */
const closed = new Set();
const CLOSED_KEPT = 500;

/**
 * Which tab opened which. `tab.openerTabId` is not it: there Chrome names the tab that was in front.
 * @type {Map<number, number>}
 */
const openers = new Map();

/**
 * Tabs that a page has just opened and that show nothing yet. Chrome calls their empty document complete; what they were
 * opened for is still to come, and clients are to find that in them.
 * @type {Set<number>}
 */
const expecting = new Set();

/**
 * Tabs that the relay does not know and whose first document is there. Chrome may say only afterwards that a page opened one.
 * @type {Set<number>}
 */
const early = new Set();

/**
 * Tabs that have loaded, by what Chrome said last. Its answers do not wait for its events: what a tab was when it was looked at
 * may be learned after what it became, which nobody would ever tell again.
 * @type {Set<number>}
 */
const loaded = new Set();

/** How often Chrome has told of a change, and the last one of each tab. */
let changes = 0;
/** @type {Map<number, number>} */
const lastChange = new Map();

/** How often a tab is looked at that changes while it is looked at. */
const MOST_LOOKS = 5;

/** @type {Set<number>} Tabs whose navigation came to nothing: where they were going is not where they are. */
const failed = new Set();

/** @type {Map<number, () => void>} Who waits for the document that comes next in a tab. */
const waiting = new Map();

/** How long a tab that was discarded may take to have a document again before the debugger is attached all the same. */
const LOADED_WITHIN_MS = 5_000;

/** How long an empty document is waited for: `javascript:` as an address brings none, and Chrome does not tell it apart. */
const EMPTY_WITHIN_MS = 500;

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
    url: (failed.has(tabId) ? tab.url : urlOf(tab)) || 'about:blank',
    title: tab.title ?? '',
    targetId: ids.get(tabId),
    status: loaded.has(tabId) ? 'complete' : tab.status,
    openerTabId: openers.get(tabId),
    windowId: tab.windowId,
    attached: isAttached(tabId),
  };
}

/**
 * Whether a tab was there before its list was begun, and still is. A newer one has no target id in it yet.
 * @param {chrome.tabs.Tab} tab
 * @param {Map<number, string>} ids
 */
function isSettled({ id }, ids) {
  return id !== undefined && !closed.has(id) && (ids.has(id) || !appeared.includes(id));
}

/** Every tab that may be used; what the relay knows starts anew with it. */
export function listTabs() {
  return holdingBack(async () => {
    // The tabs come last, so that no change falls between their state and its being told.
    const ids = await targetIds();
    const tabs = await unchanged(
      () => chrome.tabs.query({}),
      () => changes,
    );
    reported.clear();
    const offered = tabs.filter((tab) => isSettled(tab, ids) && !isRestricted(urlOf(tab)));
    for (const tab of offered) {
      reported.add(/** @type {number} */ (tab.id));
    }
    return offered.map((tab) => report(tab, ids));
  });
}

/**
 * What Chrome answers is older than a change that it has told of meanwhile, and nobody would tell of that again: then it is
 * asked again.
 * @template T
 * @param {() => Promise<T>} look
 * @param {() => number | undefined} lastChanged
 */
async function unchanged(look, lastChanged) {
  for (let looks = 1; ; looks += 1) {
    const before = lastChanged();
    const seen = await look();
    if (lastChanged() === before || looks === MOST_LOOKS) {
      return seen;
    }
  }
}

/** @param {number} tabId */
export async function describeTab(tabId) {
  const ids = await targetIds();
  const tab = await unchanged(
    () => chrome.tabs.get(tabId),
    () => lastChange.get(tabId),
  );
  if (closed.has(tabId)) {
    throw new Error(`No tab with id: ${tabId}.`);
  }
  return report(tab, ids);
}

/**
 * Does this work, and then announces the tabs that appeared meanwhile and are not in its outcome.
 * @template T
 * @param {() => Promise<T>} work
 */
async function holdingBack(work) {
  underWay += 1;
  try {
    return await work();
  } finally {
    underWay -= 1;
    if (underWay === 0) {
      const others = appeared;
      appeared = [];
      others.filter((tabId) => !reported.has(tabId)).forEach(announce);
    }
  }
}

/**
 * Makes a tab behind the others, or in front only where that was asked for.
 * @param {{ url: string, newWindow: boolean, active: boolean }} wish
 */
export function createTab({ url, newWindow, active }) {
  return holdingBack(async () => {
    const tab = newWindow
      ? await inNewWindow(url, active)
      : await chrome.tabs.create({ url, active }).catch(() => inNewWindow(url, active));
    const tabId = /** @type {number} */ (tab.id);
    reported.add(tabId);
    return tabId;
  });
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

/** What was kept of a tab goes with it. @param {number} tabId */
function forget(tabId) {
  for (const kept of [openers, expecting, early, loaded, failed, lastChange]) {
    kept.delete(tabId);
  }
}

/** @type {(method: string, params: object) => void} */
let tell = () => {};

/** A tab has come into reach. @param {number} tabId */
function onAppeared(tabId) {
  if (underWay > 0) {
    appeared.push(tabId);
  } else {
    announce(tabId);
  }
}

/** What a tab was opened for is there, or will not come: a download, an answer without a page. @param {number} tabId */
function onArrived(tabId) {
  waiting.get(tabId)?.();
  loaded.delete(tabId);
  if (expecting.delete(tabId)) {
    onAppeared(tabId);
  } else if (!reported.has(tabId)) {
    early.add(tabId);
  }
}

/**
 * Loads a tab whose page Chrome has thrown away. What is asked of it before its document is there would be lost with the empty
 * one.
 * @param {number} tabId
 */
export async function loadDiscarded(tabId) {
  const arrived = new Promise((resolve) => {
    waiting.set(tabId, () => resolve(undefined));
    setTimeout(resolve, LOADED_WITHIN_MS);
  });
  try {
    await chrome.tabs.reload(tabId);
    await arrived;
  } finally {
    waiting.delete(tabId);
  }
}

/** @param {number} tabId */
async function announce(tabId) {
  try {
    const described = await describeTab(tabId);
    if (!isRestricted(described.url) && !reported.has(tabId) && !expecting.has(tabId)) {
      reported.add(tabId);
      early.delete(tabId);
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
    if (tab.id !== undefined) {
      onAppeared(tab.id);
    }
  });
  chrome.tabs.onUpdated.addListener((tabId, change, tab) => {
    changes += 1;
    lastChange.set(tabId, changes);
    if (change.status === 'complete') {
      loaded.add(tabId);
    } else if (change.status !== undefined) {
      loaded.delete(tabId);
    }
    if (!reported.has(tabId)) {
      // A tab comes into reach when it leaves a restricted page.
      if (change.url !== undefined) {
        onAppeared(tabId);
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
  watchNavigation();
  // Comes right after a tab's creation, and before its target can be looked up.
  chrome.webNavigation.onCreatedNavigationTarget.addListener(({ tabId, sourceTabId, url }) => {
    openers.set(tabId, sourceTabId);
    if (early.delete(tabId)) {
      onAppeared(tabId);
      return;
    }
    expecting.add(tabId);
    if (url === 'about:blank') {
      setTimeout(onArrived, EMPTY_WITHIN_MS, tabId);
    }
  });
  chrome.tabs.onRemoved.addListener((tabId) => {
    forget(tabId);
    closed.add(tabId);
    if (closed.size > CLOSED_KEPT) {
      closed.delete(/** @type {number} */ (closed.values().next().value));
    }
    if (reported.delete(tabId)) {
      tell('tabRemoved', { tabId });
    }
  });
  chrome.tabs.onReplaced.addListener(async (addedTabId, removedTabId) => {
    reported.delete(removedTabId);
    forget(removedTabId);
    const added = await describeTab(addedTabId).catch(() => undefined);
    if (added && !isRestricted(added.url)) {
      reported.add(addedTabId);
      tell('tabReplaced', { removedTabId, ...added });
    } else {
      tell('tabRemoved', { tabId: removedTabId });
    }
  });
}

/** What `chrome.tabs` cannot tell: whether a new address is a new document. */
function watchNavigation() {
  const {
    onCommitted,
    onErrorOccurred,
    onHistoryStateUpdated,
    onReferenceFragmentUpdated,
    onDOMContentLoaded,
  } = chrome.webNavigation;
  /** @typedef {{ tabId: number, frameId: number, url: string, documentLifecycle?: string }} Navigation */
  /** @param {Navigation} navigation */
  const concernsTheTab = ({ tabId, frameId, documentLifecycle = 'active' }) =>
    frameId === 0 && documentLifecycle === 'active' && reported.has(tabId);
  /** @param {boolean} sameDocument @returns {(navigation: Navigation) => void} */
  const navigated = (sameDocument) => (navigation) => {
    if (concernsTheTab(navigation) && !isRestricted(navigation.url)) {
      tell('tabNavigated', { tabId: navigation.tabId, url: navigation.url, sameDocument });
    }
  };
  /** @param {Navigation} navigation */
  const arrived = ({ tabId, frameId }) => {
    if (frameId === 0) {
      onArrived(tabId);
    }
  };
  onCommitted.addListener(({ tabId, frameId }) => frameId === 0 && failed.delete(tabId));
  onErrorOccurred.addListener(({ tabId, frameId }) => frameId === 0 && failed.add(tabId));
  onCommitted.addListener(arrived);
  onErrorOccurred.addListener(arrived);
  onCommitted.addListener(navigated(false));
  onHistoryStateUpdated.addListener(navigated(true));
  onReferenceFragmentUpdated.addListener(navigated(true));
  onDOMContentLoaded.addListener((navigation) => {
    if (concernsTheTab(navigation)) {
      tell('tabUpdated', { tabId: navigation.tabId, status: 'interactive' });
    }
  });
}
