/**
 * Shows the status to the user: on the toolbar button, in open popups and on the welcome page.
 * Decides nothing.
 */

import { describe, showBadge } from './badge.js';

/** @type {Set<chrome.runtime.Port>} The ports of open popups and welcome pages. */
const watchers = new Set();

/**
 * How long the button may lag behind. Updating it decodes images and takes five calls to Chrome. In a
 * browser that has just started, this would compete with connecting and with the first command.
 */
const BADGE_DELAY_MS = 200;

/** @type {import('./badge.js').Badge | undefined} What the button is about to show. */
let nextBadge;
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
  if (!nextBadge) {
    setTimeout(updateBadge, BADGE_DELAY_MS);
  }
  nextBadge = describe(status.state, status.attached.length, status.isPaused);
  for (const watcher of watchers) {
    watcher.postMessage(status);
  }
}

function updateBadge() {
  const badge = nextBadge;
  nextBadge = undefined;
  if (badge && JSON.stringify(badge) !== shownBadge) {
    shownBadge = JSON.stringify(badge);
    showBadge(badge);
  }
}
