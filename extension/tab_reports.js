/**
 * Describes tabs in the form the relay receives. Asks Chrome and reads `tab_state.js`; never
 * changes a tab.
 */

import { isAttached, pageTargetIds } from './attachments.js';
import { isRestricted } from './policy.js';
import { changeCount, isClosed, tabState } from './tab_state.js';

/** How often Chrome is asked again about a tab that keeps changing. */
const MAX_READS = 5;

/** @param {chrome.tabs.Tab} tab */
export const urlOf = (tab) => tab.url || tab.pendingUrl || '';

/**
 * @param {chrome.tabs.Tab} tab
 * @param {Map<number, string>} targetIds
 * @param {Map<number, import('./protocol.js').RemoteFrame[]>} [frames]
 * @returns {import('./protocol.js').TabReport}
 */
export function reportTab(tab, targetIds, frames) {
  const tabId = /** @type {number} */ (tab.id);
  const { hasFailed, isLoaded, isPdf, openerTabId } = tabState(tabId);
  return {
    tabId,
    url: (hasFailed ? tab.url : urlOf(tab)) || 'about:blank',
    title: tab.title ?? '',
    targetId: targetIds.get(tabId),
    status: isLoaded ? 'complete' : tab.status,
    openerTabId,
    windowId: tab.windowId,
    attached: isAttached(tabId),
    frames: frames?.get(tabId),
    ...(isRestricted(urlOf(tab)) ? { restricted: true } : {}),
    ...(isPdf ? { pdf: true } : {}),
  };
}

/** @param {number} tabId */
export async function describeTab(tabId) {
  const targetIds = await pageTargetIds();
  const tab = await readUnchanged(
    () => chrome.tabs.get(tabId),
    () => changeCount(tabId),
  );
  if (isClosed(tabId)) {
    throw new Error(`No tab with id: ${tabId}.`);
  }
  return reportTab(tab, targetIds);
}

/**
 * If Chrome reports a change while it is answering, the answer may be older than the change, and no
 * further event would correct it. So ask again.
 * @template T
 * @param {() => Promise<T>} read
 * @param {() => number} countChanges
 */
export async function readUnchanged(read, countChanges) {
  for (let reads = 1; ; reads += 1) {
    const before = countChanges();
    const result = await read();
    if (countChanges() === before || reads === MAX_READS) {
      return result;
    }
  }
}
