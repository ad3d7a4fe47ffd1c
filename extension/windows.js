/**
 * The windows of the browser: where they are, and moving them. Never touches a tab. Errors have
 * Chrome's own words, as on its debugging port.
 */

import { cdpError } from './protocol.js';

/** @param {number} tabId */
export async function getWindowOfTab(tabId) {
  const { windowId } = await chrome.tabs.get(tabId);
  return { windowId, ...(await getWindowBounds(windowId)) };
}

/** @param {number} windowId */
export async function getWindowBounds(windowId) {
  const { left, top, width, height, state } = await getWindow(windowId);
  // Only kiosks have the state `locked-fullscreen`.
  const windowState = state === 'locked-fullscreen' ? 'fullscreen' : state;
  return { bounds: { left, top, width, height, windowState } };
}

/**
 * @param {number} windowId
 * @param {{ windowState?: 'normal' | 'minimized' | 'maximized' | 'fullscreen', left?: number,
 *   top?: number, width?: number, height?: number }} bounds
 */
export async function setWindowBounds(windowId, { windowState, ...place }) {
  const { state } = await getWindow(windowId);
  if (windowState === 'fullscreen' && state === 'minimized') {
    throw cdpError('To make minimized window fullscreen, restore it to normal state first.');
  }
  if (windowState === 'maximized' && (state === 'minimized' || state === 'fullscreen')) {
    throw cdpError(
      'To maximize a minimized or fullscreen window, restore it to normal state first.',
    );
  }
  await chrome.windows.update(windowId, {
    ...place,
    ...(windowState ? { state: windowState } : {}),
  });
}

/** @param {number} windowId */
async function getWindow(windowId) {
  const notFound = cdpError('Browser window not found');
  if (windowId < 0) {
    // Chrome would take -2 for the window that the user is in, which no client has chosen.
    throw notFound;
  }
  try {
    return await chrome.windows.get(windowId);
  } catch {
    throw notFound;
  }
}
