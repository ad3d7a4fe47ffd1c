/**
 * Uploading a folder. Chrome lists the files of a folder only for a page that the user can see. In
 * any other tab it accepts `DOM.setFileInputFiles`, cancels the choice a moment later, and a client
 * that waits for the files waits forever. On Chrome's own port it does the same.
 */

import { sendCommand } from './attachments.js';
import { cdpError } from './protocol.js';

/**
 * Rejects a choice that Chrome would cancel.
 * @param {number} tabId
 * @param {{ files?: string[], nodeId?: number, backendNodeId?: number, objectId?: string }} params
 *   The parameters of `DOM.setFileInputFiles`.
 * @param {string} [childSessionId]
 */
export async function checkFolderUpload(tabId, { files: _files, ...node }, childSessionId) {
  if (!(await isVisible(tabId)) && (await isFolderInput(tabId, node, childSessionId))) {
    throw cdpError(
      'DOM.setFileInputFiles: Chrome uploads a folder only from a tab that is visible, and this one ' +
        'is in the background. Bring it to the front first, for example with page.bringToFront().',
    );
  }
}

/** @param {number} tabId */
async function isVisible(tabId) {
  const { active, windowId } = await chrome.tabs.get(tabId);
  return active && (await chrome.windows.get(windowId)).state !== 'minimized';
}

/** @param {number} tabId @param {object} node @param {string} [childSessionId] */
async function isFolderInput(tabId, node, childSessionId) {
  try {
    const described = await sendCommand(tabId, 'DOM.describeNode', node, childSessionId);
    const { attributes } = /** @type {{ node: { attributes?: string[] } }} */ (described).node;
    // Names and values alternate.
    return attributes?.some((name, index) => index % 2 === 0 && name === 'webkitdirectory');
  } catch {
    // The command itself fails with the reason.
    return false;
  }
}
