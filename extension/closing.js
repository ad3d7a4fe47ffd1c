/**
 * Closes tabs for agents as Chrome's own debugging port does: without asking the page. After
 * `chrome.tabs.remove`, a page could ask the user whether to leave it (`beforeunload`). Chrome would
 * bring it to the front for that, and wait for the answer.
 */

import { attach, detach, isAttached, sendCommand } from './attachments.js';
import { checkNotPaused } from './pause.js';
import { isRestricted } from './policy.js';
import { isClosed, tabState } from './tab_state.js';

/** @type {Map<number, Promise<void>>} Tabs that are being closed. Further calls join. */
const closing = new Map();

/**
 * Resolves when the tab is being closed and nothing can keep it open, as Chrome answers on its own port.
 * @param {number} tabId
 */
export async function closeTab(tabId) {
  let pending = closing.get(tabId);
  if (!pending) {
    pending = closeNow(tabId);
    closing.set(tabId, pending);
    pending.catch(() => closing.delete(tabId));
  }
  await pending;
}

/** @param {number} tabId */
async function closeNow(tabId) {
  const { url, discarded } = await chrome.tabs.get(tabId);
  // The user may have stopped all agents meanwhile.
  checkNotPaused();
  tabState(tabId).onRemoved = () => closing.delete(tabId);
  // A discarded tab has no page that could ask.
  const canAttach = !discarded && !isRestricted(url);
  if (!canAttach || !(await closePage(tabId))) {
    await chrome.tabs.remove(tabId);
  }
}

/**
 * @param {number} tabId
 * @returns {Promise<boolean>} False if Chrome does not let the debugger close it.
 */
async function closePage(tabId) {
  const wasAttached = isAttached(tabId);
  try {
    if (!wasAttached) {
      await attach(tabId);
    }
    const info = await sendCommand(tabId, 'Target.getTargetInfo', {});
    const { targetId } = /** @type {{ targetInfo: { targetId: string } }} */ (info).targetInfo;
    await sendCommand(tabId, 'Target.closeTarget', { targetId });
    return true;
  } catch {
    if (!wasAttached) {
      await detach(tabId);
    }
    return isClosed(tabId);
  }
}
