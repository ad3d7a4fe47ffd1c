/**
 * Shows the status to the user: on the toolbar button and in open popups. Decides nothing.
 */

import { showBadge } from './badge.js';

/** @type {Set<chrome.runtime.Port>} The ports of open popups. */
const popups = new Set();

/** What the button shows. Tabs change often, and updating the button takes four calls to Chrome. */
let shownBadge = '';

/** @param {chrome.runtime.Port} popup */
export function addPopup(popup) {
  popups.add(popup);
  popup.onDisconnect.addListener(() => popups.delete(popup));
}

/** @param {import('./relay_session.js').Status} status */
export function showStatus(status) {
  const { state, attached } = status;
  const badge = `${state} ${attached.length}`;
  if (badge !== shownBadge) {
    shownBadge = badge;
    showBadge(state, attached.length);
  }
  for (const popup of popups) {
    popup.postMessage(status);
  }
}
