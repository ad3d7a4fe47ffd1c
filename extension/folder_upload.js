/**
 * Uploading a folder. Chrome lists the files of a folder only for a page that the user can see. In
 * any other tab it accepts `DOM.setFileInputFiles`, cancels the choice a moment later, and a client
 * that waits for the files waits forever. On Chrome's own port it does the same.
 */

import { sendCommand } from './attachments.js';
import { cdpError } from './protocol.js';

const REASON =
  'DOM.setFileInputFiles: Chrome uploads a folder only from a tab that is visible, and this one is ' +
  'in the background. Bring it to the front first, for example with page.bringToFront().';

/**
 * Whether a command is part of an upload. Anything else needs no check.
 * @param {string} method
 * @param {any} params
 */
export function mayUploadFolder(method, params) {
  return method === 'DOM.setFileInputFiles' || isFolderUploadOfPlaywright(method, params);
}

/**
 * Rejects what Chrome would cancel. If it returns a result, that is the reply, and the command is
 * not sent.
 * @param {number} tabId
 * @param {string} method
 * @param {any} params
 * @param {string} [childSessionId]
 */
export async function refuseHiddenFolder(tabId, method, params, childSessionId) {
  if (await isVisible(tabId)) {
    return undefined;
  }
  if (method !== 'DOM.setFileInputFiles') {
    return thrown(REASON);
  }
  const { files: _files, ...node } = params;
  if (await isFolderInput(tabId, node, childSessionId)) {
    throw cdpError(REASON);
  }
  return undefined;
}

/**
 * Before it uploads, Playwright checks the element with a script, and passes whether it is about to
 * upload a folder. It repeats a command that fails until its timeout, and never shows the reason. An
 * exception in this script ends the upload.
 * @param {string} method
 * @param {any} params
 */
function isFolderUploadOfPlaywright(method, params) {
  const [source, ...rest] = method === 'Runtime.callFunctionOn' ? scriptOf(params) : [];
  return (
    source?.includes('directoryUpload') === true &&
    source.includes('.retarget(') &&
    JSON.stringify(rest).includes('{"k":"directoryUpload","v":true}')
  );
}

/**
 * Playwright runs a script by calling its helper with the script's source, and with the arguments
 * in a format of its own.
 * @param {{ arguments?: { value?: unknown }[] }} params
 * @returns {[string, ...unknown[]] | []}
 */
function scriptOf({ arguments: list = [] }) {
  const values = list.map(({ value }) => value);
  const index = values.findIndex((value) => typeof value === 'string');
  return index === -1 ? [] : [String(values[index]), ...values.slice(index + 1)];
}

/** The result of a script that has thrown an error. @param {string} message */
function thrown(message) {
  const exception = {
    type: 'object',
    subtype: 'error',
    className: 'Error',
    description: `Error: ${message}`,
  };
  const position = { exceptionId: 1, lineNumber: 0, columnNumber: 0 };
  return { result: exception, exceptionDetails: { text: 'Uncaught', ...position, exception } };
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
