/**
 * Whose a download is. It is an agent's if the debugger of a tab has announced it, or if it began with
 * a navigation in a tab that an agent uses, or that the page of such a tab has just opened. Every other
 * download is the user's.
 */

import { isAttached } from './attachments.js';
import { tabState } from './tab_state.js';

/**
 * How long Chrome may take from announcing a download, or from the end of a navigation, to creating
 * the download. Usually a few milliseconds.
 */
const MATCH_TIMEOUT_MS = 2_000;

/**
 * How long after it was opened a popup's downloads belong to the page that opened it. Later ones are
 * the user's, unless an agent uses the popup itself.
 */
const POPUP_MS = 5_000;

/**
 * @typedef {object} Origin Where a download comes from.
 * @property {number} tabId
 * @property {string} url
 * @property {number} at When it was seen.
 * @property {number} [openerTabId] The attached tab whose page opened this one.
 * @property {boolean} isOwn Whether the tab is an agent's. An agent's announcement always is.
 * @property {string} [guid]
 * @property {string} [frameId]
 * @property {string} [suggestedFilename]
 */

/**
 * The debugger's announcements of downloads that Chrome has not created yet. Oldest first: Chrome
 * creates downloads of one address in the order in which it has announced them.
 * @type {Origin[]}
 */
let announced = [];

/** @type {Origin[]} Navigations that ended without a document. Oldest first. */
let aborted = [];

/** @param {Origin} origin */
const isRecent = ({ at }) => Date.now() - at < MATCH_TIMEOUT_MS;

/** @param {number} tabId @param {any} params */
export function rememberAnnouncement(tabId, params) {
  announced = announced.filter(isRecent);
  announced.push({ ...params, tabId, at: Date.now(), isOwn: true });
}

/**
 * A navigation has ended without a document. The debugger does not announce the download if it is not
 * attached to the tab, as in a popup that nobody has used yet.
 * @param {number} tabId
 * @param {string} url
 */
export function rememberNavigation(tabId, url) {
  aborted = aborted.filter(isRecent);
  aborted.push({ ...ownerOf(tabId), url, at: Date.now() });
}

/**
 * Where this download, which Chrome has just created, comes from.
 * @param {chrome.downloads.DownloadItem} item
 * @returns {Origin | undefined} Undefined for the user's downloads.
 */
export function takeOrigin({ url, finalUrl, byExtensionId }) {
  if (byExtensionId !== undefined) {
    return undefined;
  }
  /** @param {Origin} origin */
  const matches = (origin) => (origin.url === url || origin.url === finalUrl) && isRecent(origin);
  // A download that is a navigation is in both.
  const navigation = takeFrom(aborted, matches);
  // In a tab of the user's, it is not what an agent's tab has announced.
  const tabId = navigation?.isOwn === false ? navigation.tabId : undefined;
  const announcement = takeFrom(
    announced,
    (origin) => matches(origin) && (tabId === undefined || origin.tabId === tabId),
  );
  return announcement ?? (navigation?.isOwn ? navigation : undefined);
}

/** @param {Origin[]} origins @param {(origin: Origin) => boolean} matches */
function takeFrom(origins, matches) {
  const index = origins.findIndex(matches);
  return index < 0 ? undefined : origins.splice(index, 1)[0];
}

/** @param {number} tabId */
function ownerOf(tabId) {
  const { openerTabId, openedAt, isReported, firstDocument } = tabState(tabId);
  if (isAttached(tabId)) {
    return { tabId, isOwn: true };
  }
  // What the tab was opened for may take its time. Whatever follows soon after, the page can have
  // caused, unless the user has gone to the tab.
  const isNew = openedAt !== undefined && Date.now() - openedAt < POPUP_MS;
  const isOpeners = firstDocument === 'pending' || isNew;
  if (openerTabId === undefined || !isAttached(openerTabId) || !isOpeners) {
    return { tabId, isOwn: false };
  }
  // Chrome closes a popup whose first request is a download. Clients find the download in the page
  // that opened it.
  const isPage = isReported && firstDocument === undefined;
  return { tabId: isPage ? tabId : openerTabId, openerTabId, isOwn: true };
}
