/**
 * What the extension remembers about each tab. Holds state only: it never calls Chrome and never
 * sends a message.
 */

/**
 * @typedef {object} TabState
 * @property {boolean} isReported The relay has this tab: it was listed or announced, and not
 *   withdrawn since.
 * @property {boolean} isRestricted The relay has this tab, and it shows a page that agents may not
 *   use.
 * @property {boolean} isPdf The tab shows a PDF, as far as Chrome has reported it.
 * @property {number} [openerTabId] The tab whose page opened this one. Chrome's own `openerTabId`
 *   is something else: the tab that was active at the time.
 * @property {number} [openedAt] When a page opened this tab. Missing once the user has gone to it.
 * @property {'pending' | 'arrived'} [firstDocument] Used until the tab is announced. `pending`: a
 *   page has opened the tab, and what it was opened for has not loaded. Chrome reports its initial
 *   empty document as complete, but clients expect to find the real one. `arrived`: the document
 *   loaded before Chrome reported whether a page opened the tab.
 * @property {boolean} isLoaded The last event said that the tab has loaded. Replies are not ordered
 *   with events: a reply that arrives later may still say `loading`, and no further event would
 *   correct it.
 * @property {boolean} hasFailed The last navigation failed, so the tab is not where `pendingUrl`
 *   says.
 * @property {number} changes How many times Chrome has reported a change.
 * @property {(error?: string, url?: string) => void} [onDocument] Called when the next document
 *   arrives, or with the reason why none does, and the address that failed.
 * @property {() => void} [onRemoved] Called when the tab is closed.
 */

/**
 * An entry is added when the tab is first listed, announced or named by an event, and removed when
 * the tab is closed or replaced. After a restart of the service worker the map is empty until the
 * relay lists the tabs again.
 * @type {Map<number, TabState>}
 */
const tabs = new Map();

/** How many changes Chrome has reported in all tabs. */
let totalChanges = 0;

/**
 * Tabs that were closed, possibly while Chrome was answering a question about them. Kept apart from
 * `tabs`, because it has to outlive the entry. Chrome does not reuse ids, so the oldest are dropped
 * only to save memory.
 * @type {Set<number>}
 */
const recentlyClosed = new Set();
const MAX_RECENTLY_CLOSED = 500;

/**
 * The tab's entry, added if missing. An event about a closed tab adds none.
 * @param {number} tabId
 * @returns {TabState}
 */
export function tabState(tabId) {
  let tab = tabs.get(tabId);
  if (!tab) {
    tab = {
      isReported: false,
      isRestricted: false,
      isPdf: false,
      isLoaded: false,
      hasFailed: false,
      changes: 0,
    };
    if (!recentlyClosed.has(tabId)) {
      tabs.set(tabId, tab);
    }
  }
  return tab;
}

/**
 * Replaces the set of reported tabs.
 * @param {{ tabId: number, restricted?: boolean }[]} reports
 */
export function setReportedTabs(reports) {
  for (const tab of tabs.values()) {
    tab.isReported = false;
    tab.isRestricted = false;
  }
  for (const { tabId, restricted = false } of reports) {
    Object.assign(tabState(tabId), { isReported: true, isRestricted: restricted });
  }
}

/** The tabs that the relay has and that show a page that agents may not use. */
export function restrictedTabs() {
  return [...tabs].filter(([, tab]) => tab.isRestricted).map(([tabId]) => tabId);
}

/** @param {number} tabId */
export function countChange(tabId) {
  totalChanges += 1;
  tabState(tabId).changes += 1;
}

/** How many changes Chrome has reported in this tab, or in all. @param {number} [tabId] */
export function changeCount(tabId) {
  return tabId === undefined ? totalChanges : (tabs.get(tabId)?.changes ?? 0);
}

/** @param {number} tabId */
export function forgetTab(tabId) {
  tabs.delete(tabId);
}

/** @param {number} tabId */
export function forgetClosedTab(tabId) {
  forgetTab(tabId);
  recentlyClosed.add(tabId);
  if (recentlyClosed.size > MAX_RECENTLY_CLOSED) {
    recentlyClosed.delete(/** @type {number} */ (recentlyClosed.values().next().value));
  }
}

/** @param {number} tabId */
export function isClosed(tabId) {
  return recentlyClosed.has(tabId);
}
