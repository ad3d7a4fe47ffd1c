/**
 * The user's settings: the relay's address, and whether to connect at all. Stored in
 * `chrome.storage.local`.
 */

import { DEFAULT_PORT, readPairing } from './pairing.js';

/** The only host that is dialed. It needs no name lookup, and the relay's proof names it. */
const HOST = '127.0.0.1';

/**
 * Parses an address as a user may type it. The relay always runs on this machine, so any other host
 * is rejected.
 * @param {string} text
 * @returns {{ address: string } | { error: string }} `127.0.0.1:PORT`, or a message for the user.
 */
export function checkAddress(text) {
  const trimmed = text.trim();
  if (!trimmed) {
    return { error: 'Enter an address, such as 127.0.0.1:19222.' };
  }
  if (/^\d+$/.test(trimmed)) {
    return checkAddress(`${HOST}:${trimmed}`);
  }
  const withScheme = /^\w+:\/\//.test(trimmed) ? trimmed : `ws://${trimmed}`;
  const url = URL.canParse(withScheme) ? new URL(withScheme) : undefined;
  if (!url || !['ws:', 'http:'].includes(url.protocol) || url.port === '0') {
    return { error: 'Not a valid address. Enter one like 127.0.0.1:19222.' };
  }
  if (![HOST, 'localhost'].includes(url.hostname) || url.username || url.password) {
    return { error: 'The relay runs on this machine. Use 127.0.0.1.' };
  }
  // `URL` drops a scheme's default port, so an explicit 80 shows up only under another scheme.
  const port = url.port || new URL(withScheme.replace(/^\w+:/, 'https:')).port || DEFAULT_PORT;
  return { address: `${HOST}:${port}` };
}

/**
 * @typedef {object} Settings
 * @property {string} address
 * @property {boolean} enabled
 * @property {string} installId
 * @property {string} secret Empty if the extension is not paired.
 * @property {boolean} wasAccepted Whether a relay has ever accepted this secret.
 * @property {boolean} isLaunched Whether the relay has launched this browser.
 */

/** @returns {Promise<Settings>} */
export async function readSettings() {
  const [stored, { port, ...pairing }] = await Promise.all([
    chrome.storage.local.get(['address', 'enabled', 'installId']),
    readPairing(),
  ]);
  const installId = typeof stored.installId === 'string' ? stored.installId : newInstallId();
  // Checked again: earlier versions stored other hosts, too.
  const checked = typeof stored.address === 'string' ? checkAddress(stored.address) : undefined;
  const address = checked && 'address' in checked ? checked.address : `${HOST}:${port}`;
  return { address, enabled: stored.enabled !== false, installId, ...pairing };
}

/** @type {string | undefined} The id of a new installation, until it can be read back. */
let ownInstallId;

/** Does not wait until the id is saved: in a new profile, that takes longer than connecting. */
function newInstallId() {
  if (ownInstallId === undefined) {
    ownInstallId = crypto.randomUUID();
    chrome.storage.local.set({ installId: ownInstallId });
  }
  return ownInstallId;
}

/**
 * Saves an address, unless it is the one of the pairing: then a new pairing can change it.
 * @param {string} address
 */
export async function saveAddress(address) {
  if (address === `${HOST}:${(await readPairing()).port}`) {
    await chrome.storage.local.remove('address');
  } else {
    await chrome.storage.local.set({ address });
  }
}

/** @param {boolean} enabled */
export async function saveEnabled(enabled) {
  await chrome.storage.local.set({ enabled });
}
