/**
 * Whose a download is that begins with a navigation in a tab: an agent's, if it uses the tab or the
 * page that has just opened it, and otherwise the user's.
 */

import { isAttached } from './attachments.js';
import { tabState } from './tab_state.js';

/**
 * How long after it was opened a popup's downloads belong to the page that opened it. Later ones are
 * the user's, unless an agent uses the popup itself.
 */
const POPUP_MS = 5_000;

/** @param {number} tabId */
export function ownerOf(tabId) {
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
