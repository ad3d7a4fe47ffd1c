/**
 * The tabs that agents know from an earlier page, and that show a restricted one now. The relay keeps
 * them. They are also saved in `chrome.storage.session`, so that a restarted service worker still
 * lists them.
 */

import { restrictedTabs, tabState } from './tab_state.js';

/** Call this after each change. */
export function saveRestrictedTabs() {
  chrome.storage.session.set({ restrictedTabs: restrictedTabs() });
}

/**
 * Whether the relay has a tab, or had it before the service worker was last stopped.
 * @returns {Promise<(tabId: number) => boolean>}
 */
export async function readKnownTabs() {
  /** @type {{ restrictedTabs?: number[] }} */
  const saved = await chrome.storage.session.get(['restrictedTabs']);
  const known = new Set(saved.restrictedTabs);
  return (tabId) => known.has(tabId) || tabState(tabId).isReported;
}
