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

/** How long a check may hold up the commands behind it. A page that is paused does not answer it. */
const CHECK_TIMEOUT_MS = 500;

/** @type {Map<number, Promise<void>>} The last check of each tab, until it has ended. */
const checks = new Map();

/**
 * What a command has to wait for, so that it does not overtake an upload. Another check may have
 * started by then.
 * @param {number} tabId
 */
export function checkOf(tabId) {
  return checks.get(tabId);
}

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
export function refuseHiddenFolder(tabId, method, params, childSessionId) {
  const refusal = findRefusal(tabId, method, params, childSessionId);
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  const late = new Promise((resolve) => {
    timer = setTimeout(resolve, CHECK_TIMEOUT_MS);
  });
  const check = Promise.race([refusal.catch(() => {}), late]).then(() => {
    clearTimeout(timer);
    if (checks.get(tabId) === check) {
      checks.delete(tabId);
    }
  });
  checks.set(tabId, check);
  return refusal;
}

/** @param {number} tabId @param {string} method @param {any} params @param {string} [childSessionId] */
async function findRefusal(tabId, method, params, childSessionId) {
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
 * @param {{ arguments?: unknown }} params Whatever the client has sent.
 * @returns {[string, ...unknown[]] | []}
 */
function scriptOf({ arguments: list }) {
  const values = Array.isArray(list) ? list.map((item) => item?.value) : [];
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
