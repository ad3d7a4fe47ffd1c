/**
 * What the relay may ask for: one handler a method.
 */

import { attach, detach, sendCommand } from './attachments.js';
import { isRestricted } from './policy.js';
import { activateTab, createTab, describeTab, listTabs, loadDiscarded } from './tabs.js';

/** @type {Record<string, (params: any) => unknown>} */
const handlers = {
  listTabs: async () => ({ tabs: await listTabs() }),

  attachTab: async ({ tabId }) => {
    const { url, discarded } = await chrome.tabs.get(tabId);
    if (isRestricted(url)) {
      throw new Error(
        `Cannot attach to this target: ${url} is a page that Chrome keeps from extensions`,
      );
    }
    if (discarded) {
      // There is no page in it to debug. The person's click on it would load it; so does a client's first use.
      await loadDiscarded(tabId);
    }
    await attach(tabId);
  },

  detachTab: async ({ tabId }) => {
    await detach(tabId);
  },

  createTab: async ({ url = 'about:blank', newWindow = false, active = false }) => {
    if (isRestricted(url)) {
      throw new Error(
        `Cannot open ${url}: it is not a full address, or a page that Chrome keeps from extensions`,
      );
    }
    const tabId = await createTab({ url, newWindow, active });
    try {
      await attach(tabId);
    } catch (error) {
      // Nobody knows of this tab, so nobody would ever close it.
      await chrome.tabs.remove(tabId).catch(() => {});
      throw error;
    }
    return describeTab(tabId);
  },

  closeTab: async ({ tabId }) => {
    await chrome.tabs.remove(tabId);
  },

  activateTab: async ({ tabId }) => {
    await activateTab(tabId);
  },

  cdpCommand: ({ tabId, method, params, childSessionId }) =>
    sendCommand(tabId, method, params ?? {}, childSessionId),
};

/**
 * @param {string} method
 * @param {object} [params]
 * @returns {Promise<unknown>}
 */
export async function runCommand(method, params) {
  const handler = Object.hasOwn(handlers, method) ? handlers[method] : undefined;
  if (!handler) {
    throw new Error(`Unknown command: ${method}`);
  }
  return handler(params ?? {});
}
