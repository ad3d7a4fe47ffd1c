/**
 * The relay's calls: one handler per method. Handlers hold no state.
 */

import { attach, detach, sendCommand, setFocusEmulation } from './attachments.js';
import { runBrowserCommand } from './browser_commands.js';
import { closeTab } from './closing.js';
import { controlDownload, onTabUsed, watchDownloads } from './downloads.js';
import { onClick } from './focus_guard.js';
import { checkOf, mayUploadFolder, refuseHiddenFolder } from './folder_upload.js';
import { hasPermissions, setPermissions } from './permissions.js';
import { checkNotPaused, isPaused } from './pause.js';
import { checkNavigation, isRestricted, RESTRICTION } from './policy.js';
import { groupTab } from './tab_groups.js';
import { describeTab } from './tab_reports.js';
import { activateTab, createTab, listTabs, loadDiscarded } from './tabs.js';

/** How long after the errors of its commands Chrome may report that a debugger was detached. */
const DETACH_REPORT_MS = 50;

/**
 * When a debugger is detached, Chrome fails the commands in flight first and then reports why. The
 * relay answers them better if it knows the reason.
 * @param {unknown} error
 * @returns {Promise<never>}
 */
async function waitForReason(error) {
  if (String(error).includes('Detached while handling command')) {
    await new Promise((resolve) => setTimeout(resolve, DETACH_REPORT_MS));
  }
  throw error;
}

/** @type {Record<string, (params: any) => unknown>} */
const handlers = {
  listTabs: async ({ focusEmulation = true } = {}) => {
    setFocusEmulation(focusEmulation);
    const hasRules = await hasPermissions();
    const tabs = await listTabs();
    return {
      tabs,
      ...(hasRules ? { hasPermissions: true } : {}),
      ...(isPaused() ? { paused: true } : {}),
    };
  },

  attachTab: async ({ tabId }) => {
    const { url, discarded } = await chrome.tabs.get(tabId);
    if (isRestricted(url)) {
      // The relay recognizes the beginning of this message, which is Chrome's own.
      throw new Error(`Cannot attach to this target: ${url} is a restricted page`);
    }
    if (discarded) {
      // It has no page to debug. A click by the user would load it, and so does a client's first
      // command.
      await loadDiscarded(tabId);
    }
    await attachUnlessPaused(tabId);
    onTabUsed(tabId, url);
  },

  detachTab: async ({ tabId }) => {
    await detach(tabId);
  },

  createTab: async ({
    url = 'about:blank',
    newWindow = false,
    active = false,
    attach: attaches = true,
    window,
    group,
  }) => {
    if (isRestricted(url)) {
      const isValid = URL.canParse(url);
      const reason = isValid ? RESTRICTION : 'Use a full URL, such as https://example.com/.';
      throw new Error(`Cannot open ${url}. ${reason}`);
    }
    const tabId = await createTab({ url, newWindow, active, window });
    try {
      if (attaches) {
        await attachUnlessPaused(tabId);
        onTabUsed(tabId, url);
      }
      const report = await describeTab(tabId);
      // The user may have stopped all agents meanwhile.
      checkNotPaused();
      if (group) {
        // The agent does not wait until its tab is in a group.
        groupTab(tabId, group);
      }
      return report;
    } catch (error) {
      // The relay does not have this tab, so nobody else would close it.
      await chrome.tabs.remove(tabId).catch(() => {});
      throw error;
    }
  },

  closeTab: async ({ tabId }) => {
    await closeTab(tabId);
  },

  activateTab: async ({ tabId }) => {
    await activateTab(tabId);
  },

  // Commands are sent in the order in which they arrive, so nothing else is awaited before.
  cdpCommand: async ({ tabId, method, params, childSessionId }) => {
    while (checkOf(tabId)) {
      await checkOf(tabId);
    }
    if (method === 'Page.navigate') {
      checkNavigation(params?.url);
    }
    if (mayUploadFolder(method, params ?? {})) {
      const refusal = await refuseHiddenFolder(tabId, method, params ?? {}, childSessionId);
      if (refusal) {
        return refusal;
      }
    }
    const reply = sendCommand(tabId, method, params ?? {}, childSessionId);
    if (method === 'Input.dispatchMouseEvent' && params?.type === 'mousePressed') {
      onClick(tabId, reply).catch(() => {}); // The tab was closed.
    }
    return reply.catch(waitForReason);
  },

  watchDownloads: ({ enabled }) => watchDownloads(enabled === true),

  controlDownload: ({ guid, action }) => controlDownload(guid, action),

  setPermissions: ({ rules }) => setPermissions(rules),

  browserCommand: ({ method, params, tabId }) => runBrowserCommand(method, params ?? {}, tabId),
};

/**
 * What does something in the browser, and fails while the user has stopped all agents. The others
 * list, release and clean up.
 */
const ACTING = new Set([
  'attachTab',
  'createTab',
  'closeTab',
  'activateTab',
  'cdpCommand',
  'browserCommand',
]);

/** The user may stop all agents while Chrome attaches the debugger. @param {number} tabId */
async function attachUnlessPaused(tabId) {
  checkNotPaused();
  await attach(tabId);
  if (isPaused()) {
    await detach(tabId);
    checkNotPaused();
  }
}

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
  if (ACTING.has(method)) {
    checkNotPaused();
  }
  return handler(params ?? {});
}
