/**
 * CDP commands that Chrome does not grant to an extension's debugger, or that need no debugger, and
 * that other APIs of Chrome can carry out. One handler per command; the work is in other modules.
 */

import { clearCookies, deleteCookies, getCookies, getCookiesOf, setCookies } from './cookies.js';
import { navigateTab } from './tabs.js';
import { getWindowBounds, getWindowOfTab, setWindowBounds } from './windows.js';

/**
 * `tabId` is the tab that the command is about, if it is about one.
 * @type {Record<string, (params: any, tabId: number) => unknown>}
 */
const handlers = {
  'Browser.getWindowBounds': ({ windowId }) => getWindowBounds(windowId),
  'Browser.getWindowForTarget': (_params, tabId) => getWindowOfTab(tabId),
  'Browser.setWindowBounds': ({ windowId, bounds }) => setWindowBounds(windowId, bounds),
  'Network.clearBrowserCookies': clearCookies,
  'Network.deleteCookies': deleteCookies,
  'Network.getAllCookies': getCookies,
  'Network.getCookies': ({ urls }, tabId) => getCookiesOf(urls, tabId),
  'Network.setCookie': async (cookie) => {
    await setCookies([cookie]);
    return { success: true };
  },
  'Network.setCookies': ({ cookies }) => setCookies(cookies),
  'Page.navigate': ({ url }, tabId) => navigateTab(tabId, url),
  'Storage.clearCookies': clearCookies,
  'Storage.getCookies': getCookies,
  'Storage.setCookies': ({ cookies }) => setCookies(cookies),
};

/** @param {string} method @param {object} params @param {number} tabId */
export async function runBrowserCommand(method, params, tabId) {
  const handler = Object.hasOwn(handlers, method) ? handlers[method] : undefined;
  if (!handler) {
    throw new Error(`Unknown command: ${method}`);
  }
  return handler(params, tabId);
}
