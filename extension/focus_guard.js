/**
 * Keeps in front what the user is looking at. A click or a script in a tab that an agent uses can
 * open a tab or a window, and Chrome shows it as if the user had clicked: it activates the tab, and
 * focuses its window. A click also focuses the window of its tab. This module takes that back at
 * once, unless the user was looking at the page that caused it.
 *
 * It never touches what is not caused by an agent: it acts only when a tab in use has just opened
 * something or received a click, and once per cause. Tabs that agents bring to the front on purpose
 * stay there.
 */

import { isAttached } from './attachments.js';

/** Chrome's id for "no window of this browser has the focus". */
const NO_WINDOW = -1;
/** A new window gets the focus this soon after Chrome reports what opened it. */
const OPENING_MS = 500;
/** A click has moved the focus this soon after the page has answered it. */
const CLICK_MS = 100;
/** When the focus moves between windows of the browser, it may be nowhere for this long. */
const BETWEEN_WINDOWS_MS = 100;

/** The window with the focus, as far as the user moved it there. */
const user = {
  /** @type {number | undefined} */
  windowId: undefined,
  /** When the browser lost the focus, or 0 if it has it. */
  lostAt: 0,
  /** @type {number | undefined} The window before. */
  previousId: undefined,
  /** When `windowId` got the focus. */
  since: 0,
};

/** @type {{ windowId: number, until: number } | undefined} The next focus that is not the user's. */
let expected;

/**
 * The active tab of each window, and the one before it. An entry is added when a tab is activated,
 * or at the start, and removed when the window is closed.
 * @type {Map<number, { tabId: number, previousTabId?: number }>}
 */
const activeTabs = new Map();

/**
 * Tabs that were opened a moment ago, and what was visible before. A page may open several tabs at
 * once, and each hides the one before.
 * @type {Map<number, number>}
 */
const hidden = new Map();

/** Call this once, before anything is awaited. */
export function watchFocus() {
  chrome.windows.onFocusChanged.addListener(onFocusChanged);
  chrome.windows.onRemoved.addListener((windowId) => activeTabs.delete(windowId));
  readFocus().catch(() => {}); // There is no window.
}

/** What was visible before the worker started. */
async function readFocus() {
  for (const { id, windowId } of await chrome.tabs.query({ active: true })) {
    if (id !== undefined && !activeTabs.has(windowId)) {
      activeTabs.set(windowId, { tabId: id });
    }
  }
  const { id, focused } = await chrome.windows.getLastFocused();
  if (focused && user.since === 0) {
    user.windowId = id;
  }
}

/** @param {{ tabId: number, windowId: number }} tab */
export function onActivated({ tabId, windowId }) {
  activeTabs.set(windowId, { tabId, previousTabId: activeTabs.get(windowId)?.tabId });
}

/** @param {number} windowId */
function onFocusChanged(windowId) {
  const now = Date.now();
  if (windowId === NO_WINDOW) {
    user.lostAt = now;
    return;
  }
  const isExpected = expected?.windowId === windowId && now < expected.until;
  if (isExpected) {
    expected = undefined;
  }
  if (isElsewhere()) {
    // An extension cannot return the focus to another program. So this window is in front now.
    user.windowId = undefined;
  } else if (isExpected) {
    user.lostAt = 0;
    giveBackFocus(user.windowId, windowId);
    return;
  }
  Object.assign(user, { windowId, lostAt: 0, previousId: user.windowId, since: now });
}

/** Whether the user is in another program. */
function isElsewhere() {
  return user.lostAt !== 0 && Date.now() - user.lostAt > BETWEEN_WINDOWS_MS;
}

/** @param {number | undefined} windowId @param {number} takenBy The window that has the focus. */
async function giveBackFocus(windowId, takenBy) {
  if (windowId === undefined || isElsewhere()) {
    return;
  }
  try {
    // Chrome does not always report that the browser has lost the focus, and would show the window.
    const { state } = await chrome.windows.get(windowId);
    if (state === 'minimized') {
      user.windowId = takenBy;
    } else {
      await chrome.windows.update(windowId, { focused: true });
    }
  } catch {
    // It was closed.
  }
}

/**
 * An agent clicks in this tab.
 * @param {number} tabId
 * @param {Promise<unknown>} reply
 */
export async function onClick(tabId, reply) {
  const { windowId } = await chrome.tabs.get(tabId);
  if (windowId === user.windowId) {
    return;
  }
  // If the click opens a dialog, its reply waits until the user has closed that.
  const click = { windowId, until: Date.now() + OPENING_MS };
  expected = click;
  await reply.catch(() => {});
  click.until = Math.min(click.until, Date.now() + CLICK_MS);
}

/**
 * A page has opened a tab, possibly in a new window. Chrome has activated it by now.
 * @param {{ tabId: number, sourceTabId: number }} details
 */
export async function onOpened({ tabId, sourceTabId }) {
  const found = [...activeTabs].find(([, active]) => active.tabId === tabId);
  if (!found || !isAttached(sourceTabId)) {
    return;
  }
  const [windowId, { previousTabId }] = found;
  const openedAt = Date.now();
  // Nothing is awaited before this: the user sees the new tab until it is done.
  if (previousTabId !== undefined && previousTabId !== sourceTabId) {
    showAgain(tabId, previousTabId);
  }
  const source = await chrome.tabs.get(sourceTabId);
  const wasVisible = windowId === source.windowId ? previousTabId === sourceTabId : source.active;
  keepFocus(windowId, openedAt, wasVisible ? source.windowId : undefined);
}

/** @param {number} tabId @param {number} previousTabId */
async function showAgain(tabId, previousTabId) {
  const visible = hidden.get(previousTabId) ?? previousTabId;
  hidden.set(tabId, visible);
  // It may have been closed.
  await chrome.tabs.update(visible, { active: true }).catch(() => {});
  hidden.delete(tabId);
}

/**
 * A tab was opened in this window, which gets the focus now or has got it since.
 * @param {number} windowId
 * @param {number} openedAt
 * @param {number | undefined} visibleIn The window in which the page that opened it is visible.
 */
function keepFocus(windowId, openedAt, visibleIn) {
  const isTaken = user.windowId === windowId && user.since >= openedAt;
  const userWindow = isTaken ? user.previousId : user.windowId;
  if (userWindow === undefined || userWindow === visibleIn || userWindow === windowId) {
    return;
  }
  if (isTaken) {
    user.windowId = userWindow;
    giveBackFocus(userWindow, windowId);
  } else {
    expected = { windowId, until: openedAt + OPENING_MS };
  }
}
