/**
 * Opens the welcome page, once, after the extension has been installed.
 */

import { wantsWelcome } from './pairing.js';

/** @param {{ reason: string }} details */
export async function onInstalled({ reason }) {
  if (reason === 'install' && (await wantsWelcome())) {
    const url = chrome.runtime.getURL('welcome.html');
    // There may be no window to open a tab in.
    await chrome.tabs.create({ url }).catch(() => chrome.windows.create({ url }));
  }
}
