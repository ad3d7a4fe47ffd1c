/**
 * Shows the status to the user: on the toolbar button, in open popups and on the welcome page.
 * Decides nothing.
 */

import { describe, showBadge } from './badge.js';

/** @type {Set<chrome.runtime.Port>} The ports of open popups and welcome pages. */
const watchers = new Set();

/** What the button shows. Tabs change often, and updating the button takes five calls to Chrome. */
let shownBadge = '';

/** @param {chrome.runtime.Port} watcher @param {() => void} onLast The last one has been closed. */
export function addWatcher(watcher, onLast) {
  watchers.add(watcher);
  watcher.onDisconnect.addListener(() => {
    watchers.delete(watcher);
    if (watchers.size === 0) {
      onLast();
    }
  });
}

/** @param {import('./relay_session.js').Status} status */
export function showStatus(status) {
  const badge = describe(status.state, status.attached.length);
  if (JSON.stringify(badge) !== shownBadge) {
    shownBadge = JSON.stringify(badge);
    showBadge(badge);
  }
  for (const watcher of watchers) {
    watcher.postMessage(status);
  }
}
