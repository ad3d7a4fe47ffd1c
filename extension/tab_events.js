/**
 * Notifies the relay of what happens to tabs, and `focus_guard.js` of what the user sees. In the
 * service worker this is the only module that listens to `chrome.tabs` and `chrome.webNavigation`.
 *
 * 1. A tab is announced (`tabCreated`) when the user opens it, when a tab opened by a page has its
 *    first document, or when a tab that opened with a restricted page leaves it.
 * 2. While the relay has it, its changes are sent: `tabUpdated`, `tabNavigated`, `tabReplaced`. On a
 *    restricted page, `tabUpdated` says so.
 * 3. It is withdrawn (`tabRemoved`) when it is closed.
 */

import { releaseStuck } from './attachments.js';
import { onNavigationAborted, onTabUsed } from './downloads.js';
import { onActivated, onOpened } from './focus_guard.js';
import { isRestricted } from './policy.js';
import { forgetFrames, onFramesChanged } from './remote_frames.js';
import { saveRestrictedTabs } from './restricted_tabs.js';
import { describeTab, urlOf } from './tab_reports.js';
import { countChange, forgetClosedTab, forgetTab, tabState } from './tab_state.js';

/**
 * How long to wait for a new empty tab's document. A tab opened with a `javascript:` URL gets none,
 * and looks the same.
 */
const EMPTY_DOCUMENT_TIMEOUT_MS = 500;

/**
 * @typedef {{ tabId: number, frameId: number, url: string, documentLifecycle?: string }} Navigation
 */

/** @type {(method: string, params: object) => void} */
let notify = () => {};

/**
 * Call this once, before anything is awaited: otherwise the event that started the worker is lost.
 * @param {(method: string, params: object) => void} onNotify
 */
export function watchTabs(onNotify) {
  notify = onNotify;
  chrome.tabs.onCreated.addListener(({ id }) => {
    if (id !== undefined) {
      onAppeared(id);
    }
  });
  chrome.tabs.onUpdated.addListener(onUpdated);
  chrome.tabs.onActivated.addListener((details) => {
    onActivated(details);
    // Chrome activates a new tab before it reports which page opened it, so this is later.
    tabState(details.tabId).openedAt = undefined;
  });
  chrome.tabs.onZoomChange.addListener(onZoomChange);
  chrome.tabs.onRemoved.addListener(onRemoved);
  chrome.tabs.onReplaced.addListener(onReplaced);
  watchNavigation();
}

// ---- announcements ----

/** How many lists and creations are in flight. While there are any, announcements are held back. */
let holds = 0;
/** @type {Set<number>} The tabs that have appeared meanwhile. */
let appeared = new Set();

/**
 * Holds announcements back while `work` lists or creates tabs: a tab that appears meanwhile may be
 * part of the result. Those that the relay did not get that way are announced afterwards.
 * @template T
 * @param {(appeared: ReadonlySet<number>) => Promise<T>} work
 */
export async function holdAnnouncements(work) {
  holds += 1;
  try {
    return await work(appeared);
  } finally {
    holds -= 1;
    if (holds === 0) {
      const held = [...appeared];
      appeared = new Set();
      held.filter((tabId) => !tabState(tabId).isReported).forEach(announce);
    }
  }
}

/** @param {number} tabId */
function onAppeared(tabId) {
  if (holds > 0) {
    appeared.add(tabId);
  } else {
    announce(tabId);
  }
}

/** @param {number} tabId */
async function announce(tabId) {
  const report = await describeTab(tabId).catch(() => undefined);
  if (!report || isRestricted(report.url)) {
    // Without a report: the tab was closed before Chrome could describe it.
    return;
  }
  const tab = tabState(tabId);
  if (!tab.isReported && tab.firstDocument !== 'pending') {
    tab.isReported = true;
    tab.firstDocument = undefined;
    notify('tabCreated', report);
  }
}

// ---- chrome.tabs ----

/**
 * @param {number} tabId
 * @param {chrome.tabs.OnUpdatedInfo} change
 * @param {chrome.tabs.Tab} chromeTab
 */
function onUpdated(tabId, change, chromeTab) {
  countChange(tabId);
  const tab = tabState(tabId);
  const { url, status } = change;
  // A page from the back/forward cache has its title already, and Chrome reports no change.
  const title = status === 'complete' ? chromeTab.title : change.title;
  if (status !== undefined) {
    tab.isLoaded = status === 'complete';
  }
  if (!isRestricted(urlOf(chromeTab))) {
    releaseStuck(tabId);
  }
  if (tab.isReported) {
    sendUpdate(tabId, { url, title, status }, urlOf(chromeTab));
  } else if (url !== undefined) {
    // It may have left a restricted page.
    onAppeared(tabId);
  }
}

/**
 * @param {number} tabId
 * @param {{ url?: string, title?: string, status?: string }} change
 * @param {string} current The URL of the tab.
 */
function sendUpdate(tabId, change, current) {
  const tab = tabState(tabId);
  const restricted = isRestricted(current);
  if (restricted !== tab.isRestricted) {
    tab.isRestricted = restricted;
    saveRestrictedTabs();
    notify('tabUpdated', { tabId, ...change, url: current, restricted });
  } else if (Object.values(change).some((value) => value !== undefined)) {
    notify('tabUpdated', { tabId, ...change });
  }
}

/**
 * Only the viewer of PDFs sets this mode, and Chrome reports it before the title. It is also fired
 * for each new document.
 * @param {{ tabId: number, zoomSettings: chrome.tabs.ZoomSettings }} change
 */
function onZoomChange({ tabId, zoomSettings }) {
  const tab = tabState(tabId);
  const isPdf = zoomSettings.mode === 'manual';
  if (tab.isPdf !== isPdf) {
    tab.isPdf = isPdf;
    if (tab.isReported) {
      notify('tabUpdated', { tabId, pdf: isPdf });
    }
  }
}

/**
 * Finds the PDFs among these tabs that were opened before the worker started. There may be hundreds of
 * tabs, so nobody waits for this.
 * @param {{ tabId: number, status?: string }[]} reports
 */
export function findPdfs(reports) {
  for (const { tabId, status } of reports) {
    if (status === 'complete') {
      chrome.tabs
        .getZoomSettings(tabId)
        .then((zoomSettings) => onZoomChange({ tabId, zoomSettings }))
        .catch(() => {}); // It was closed.
    }
  }
}

/** @param {number} tabId */
function onRemoved(tabId) {
  const { isReported, isRestricted: wasRestricted, onRemoved: resolveRemoval } = tabState(tabId);
  forgetClosedTab(tabId);
  forgetFrames(tabId);
  if (wasRestricted) {
    saveRestrictedTabs();
  }
  if (isReported) {
    notify('tabRemoved', { tabId });
  }
  resolveRemoval?.();
}

/** @param {number} addedTabId @param {number} removedTabId */
async function onReplaced(addedTabId, removedTabId) {
  forgetTab(removedTabId);
  forgetFrames(removedTabId);
  const report = await describeTab(addedTabId).catch(() => undefined);
  if (report && !isRestricted(report.url)) {
    tabState(addedTabId).isReported = true;
    notify('tabReplaced', { removedTabId, ...report });
  } else {
    notify('tabRemoved', { tabId: removedTabId });
  }
}

// ---- chrome.webNavigation ----

/**
 * Only `chrome.webNavigation` reports which page opened a tab, and whether a new URL is a new
 * document.
 */
function watchNavigation() {
  const navigation = chrome.webNavigation;
  navigation.onCreatedNavigationTarget.addListener((details) => {
    onOpened(details).catch(() => {}); // One of the tabs was closed.
    onOpenedByPage(details);
  });
  navigation.onCommitted.addListener((details) => {
    onDocumentOrError(details);
    onNavigated(details, false);
    onFrameCommitted(details);
  });
  navigation.onErrorOccurred.addListener((details) => {
    onNavigationAborted(details.tabId, details.url);
    onDocumentOrError(details);
  });
  navigation.onHistoryStateUpdated.addListener((details) => onNavigated(details, true));
  navigation.onReferenceFragmentUpdated.addListener((details) => onNavigated(details, true));
  navigation.onDOMContentLoaded.addListener((details) => {
    if (isReportedPage(details)) {
      notify('tabUpdated', { tabId: details.tabId, status: 'interactive' });
    }
  });
}

/**
 * Usually fires right after `tabs.onCreated`, before Chrome has described the tab.
 * @param {{ tabId: number, sourceTabId: number, url: string }} details
 */
function onOpenedByPage({ tabId, sourceTabId, url }) {
  const tab = tabState(tabId);
  tab.openerTabId = sourceTabId;
  tab.openedAt = Date.now();
  if (tab.firstDocument === 'arrived') {
    tab.firstDocument = undefined;
    onAppeared(tabId);
    return;
  }
  tab.firstDocument = 'pending';
  if (url === 'about:blank') {
    setTimeout(() => onDocument(tabId), EMPTY_DOCUMENT_TIMEOUT_MS);
  }
}

/** @param {Navigation & { error?: string }} navigation */
function onDocumentOrError({ tabId, frameId, url, error }) {
  if (frameId === 0) {
    tabState(tabId).hasFailed = error !== undefined;
    onDocument(tabId, error, url);
  }
}

/**
 * The tab has its document, or will get none: a download, or a response without a page.
 * @param {number} tabId
 * @param {string} [error]
 * @param {string} [url]
 */
function onDocument(tabId, error, url) {
  const tab = tabState(tabId);
  tab.onDocument?.(error, url);
  tab.isLoaded = false;
  if (tab.firstDocument === 'pending') {
    tab.firstDocument = undefined;
    onAppeared(tabId);
  } else if (!tab.isReported) {
    tab.firstDocument = 'arrived';
  }
}

/** @param {Navigation} navigation */
function onFrameCommitted(navigation) {
  const { tabId, frameId } = navigation;
  if (isReportedPage(navigation)) {
    forgetFrames(tabId);
  } else if (frameId !== 0 && tabState(tabId).isReported) {
    onFramesChanged(tabId, (changedTab, frames) => {
      if (tabState(changedTab).isReported) {
        notify('tabUpdated', { tabId: changedTab, frames });
      }
    });
  }
}

/** @param {Navigation} navigation @param {boolean} sameDocument */
function onNavigated(navigation, sameDocument) {
  const { tabId, url } = navigation;
  // The relay has been notified of a restricted page by `tabUpdated`. Chrome reports `view-source:`
  // here without that prefix.
  if (isReportedPage(navigation) && !isRestricted(url) && !tabState(tabId).isRestricted) {
    onTabUsed(tabId, url);
    notify('tabNavigated', { tabId, url, sameDocument });
  }
}

/**
 * Whether this is about a tab's visible page, not a frame or a prerendered page.
 * @param {Navigation} navigation
 */
function isReportedPage({ tabId, frameId, documentLifecycle = 'active' }) {
  return frameId === 0 && documentLifecycle === 'active' && tabState(tabId).isReported;
}
