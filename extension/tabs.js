/**
 * What the relay can do with tabs besides debugging them: list, create, activate, navigate, and load
 * a discarded one.
 */

import { pageTargetIds } from './attachments.js';
import { checkNavigation, isRestricted } from './policy.js';
import { listRemoteFrames } from './remote_frames.js';
import { readKnownTabs, saveRestrictedTabs } from './restricted_tabs.js';
import { findPdfs, holdAnnouncements } from './tab_events.js';
import { readUnchanged, reportTab, urlOf } from './tab_reports.js';
import { changeCount, isClosed, setReportedTabs, tabState } from './tab_state.js';

/** @typedef {import('./tab_state.js').TabState} TabState */

/** How long to wait for the document of a discarded tab before attaching anyway. */
const LOAD_TIMEOUT_MS = 5_000;

/** Every tab that agents may use. From then on, the relay has exactly these. */
export function listTabs() {
  return holdAnnouncements(async (appeared) => {
    // Tabs are read last, so that no change can fall between reading them and recording them as
    // reported.
    const [targetIds, isKnown] = await Promise.all([pageTargetIds(), readKnownTabs()]);
    const frames = await listRemoteFrames((tabId) => targetIds.has(tabId));
    const tabs = await readUnchanged(() => chrome.tabs.query({}), changeCount);
    const reports = tabs
      .filter((tab) => isListable(tab, targetIds, appeared))
      .filter((tab) => !isRestricted(urlOf(tab)) || isKnown(/** @type {number} */ (tab.id)))
      .map((tab) => reportTab(tab, targetIds, frames));
    setReportedTabs(reports);
    saveRestrictedTabs();
    findPdfs(reports);
    return reports;
  });
}

/**
 * A tab that appeared after the target ids were read has none yet. It is announced after the list
 * instead.
 * @param {chrome.tabs.Tab} tab
 * @param {Map<number, string>} targetIds
 * @param {ReadonlySet<number>} appeared
 */
function isListable({ id }, targetIds, appeared) {
  return id !== undefined && !isClosed(id) && (targetIds.has(id) || !appeared.has(id));
}

/**
 * Opens a tab, in the background unless `active`. `window` has the size, position and state of a
 * new window.
 * @param {{ url: string, newWindow: boolean, active: boolean, window?: WindowOptions }} options
 */
export function createTab({ url, newWindow, active, window }) {
  return holdAnnouncements(async () => {
    const tab = newWindow
      ? await createInNewWindow(url, active, window)
      : await chrome.tabs.create({ url, active }).catch(() => createInNewWindow(url, active));
    const tabId = /** @type {number} */ (tab.id);
    tabState(tabId).isReported = true;
    return tabId;
  });
}

/**
 * @typedef {{ left?: number, top?: number, width?: number, height?: number,
 *   windowState?: 'normal' | 'minimized' | 'maximized' | 'fullscreen' }} WindowOptions
 */

/**
 * @param {string} url
 * @param {boolean} focused
 * @param {WindowOptions} [options]
 * @returns {Promise<chrome.tabs.Tab>}
 */
async function createInNewWindow(url, focused, { windowState: state = 'normal', ...place } = {}) {
  // As on Chrome's own port, the state wins over size and position.
  const details = state === 'normal' ? { url, focused, ...place } : { url, focused };
  const window = await chrome.windows.create(details);
  const tab = window?.tabs?.[0];
  if (!tab || window.id === undefined) {
    throw new Error('Chrome did not open a window.');
  }
  if (state !== 'normal') {
    // Chrome does not create a maximized window without giving it the focus.
    await chrome.windows.update(window.id, { state });
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

/** Why a navigation ends when the next one begins. */
const ABORTED = 'net::ERR_ABORTED';

/**
 * Navigates a tab that has no debugger. Resolves when it has the new document, or with the reason
 * why it gets none.
 * @param {number} tabId
 * @param {string} url
 * @returns {Promise<{ errorText?: string }>}
 */
export async function navigateTab(tabId, url) {
  checkNavigation(url);
  if (!URL.canParse(url)) {
    throw new Error('Cannot navigate to invalid URL');
  }
  const { href } = new URL(url);
  const tab = tabState(tabId);
  tab.onDocument?.(ABORTED);
  /** @type {TabState['onDocument']} */
  let onDocument;
  /** @type {Promise<string | undefined>} */
  const arrived = new Promise((resolve) => {
    onDocument = async (error, failedUrl = href) => {
      // It may be the end of the navigation before, or this one was redirected.
      const isOther = error !== undefined && failedUrl !== href;
      if (!isOther || !(await isNavigating(tabId))) {
        resolve(error);
      }
    };
  });
  tab.onDocument = onDocument;
  try {
    await chrome.tabs.update(tabId, { url });
    const errorText = await arrived;
    return errorText === undefined ? {} : { errorText };
  } finally {
    removeWaiter(tab, onDocument);
  }
}

/** @param {number} tabId */
async function isNavigating(tabId) {
  const tab = await chrome.tabs.get(tabId).catch(() => undefined);
  return tab?.pendingUrl !== undefined && tab.status === 'loading';
}

/** Another one may have taken its place. @param {TabState} tab @param {TabState['onDocument']} waiter */
function removeWaiter(tab, waiter) {
  if (tab.onDocument === waiter) {
    tab.onDocument = undefined;
  }
}

/**
 * Loads a tab whose page Chrome has discarded, and waits for its document: commands sent before
 * would go to an empty document and be lost with it.
 * @param {number} tabId
 */
export async function loadDiscarded(tabId) {
  const tab = tabState(tabId);
  const earlier = tab.onDocument;
  /** @type {TabState['onDocument']} */
  let onDocument;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  const arrived = new Promise((resolve) => {
    onDocument = (error, url) => {
      earlier?.(error, url);
      resolve(undefined);
    };
    timer = setTimeout(resolve, LOAD_TIMEOUT_MS);
  });
  tab.onDocument = onDocument;
  try {
    await chrome.tabs.reload(tabId);
    await arrived;
  } finally {
    clearTimeout(timer);
    removeWaiter(tab, onDocument);
  }
}
