/**
 * The user's settings: the relay's address, and whether to connect at all. Stored in
 * `chrome.storage.local`.
 */

const DEFAULT_PORT = 19222;
const LOOPBACK = ['127.0.0.1', 'localhost', '[::1]'];

/**
 * Parses an address as a user may type it. The relay always runs on this machine, so any other host
 * is rejected.
 * @param {string} text
 * @returns {{ address: string } | { error: string }} `host:port`, or a message for the user.
 */
export function checkAddress(text) {
  const trimmed = text.trim();
  if (!trimmed) {
    return { error: 'Enter an address, such as 127.0.0.1:19222.' };
  }
  if (/^\d+$/.test(trimmed)) {
    return checkAddress(`127.0.0.1:${trimmed}`);
  }
  const withScheme = /^\w+:\/\//.test(trimmed) ? trimmed : `ws://${trimmed}`;
  const url = URL.canParse(withScheme) ? new URL(withScheme) : undefined;
  if (!url || !['ws:', 'http:'].includes(url.protocol) || url.port === '0') {
    return { error: 'Not a valid address. Enter one like 127.0.0.1:19222.' };
  }
  if (!LOOPBACK.includes(url.hostname) || url.username || url.password) {
    return { error: 'The relay runs on this machine. Use 127.0.0.1.' };
  }
  // `URL` drops a scheme's default port, so an explicit 80 shows up only under another scheme.
  const port = url.port || new URL(withScheme.replace(/^\w+:/, 'https:')).port || DEFAULT_PORT;
  return { address: `${url.hostname}:${port}` };
}

/** The address that `tabwire install-extension` wrote, used until the user sets another. */
async function installedAddress() {
  try {
    const file = await fetch(chrome.runtime.getURL('relay.json'));
    const { port } = await file.json();
    return `127.0.0.1:${Number(port) || DEFAULT_PORT}`;
  } catch {
    return `127.0.0.1:${DEFAULT_PORT}`;
  }
}

/** @returns {Promise<{ address: string, enabled: boolean, installId: string }>} */
export async function readSettings() {
  const stored = await chrome.storage.local.get(['address', 'enabled', 'installId']);
  const installId = typeof stored.installId === 'string' ? stored.installId : await newInstallId();
  const address = typeof stored.address === 'string' ? stored.address : await installedAddress();
  return { address, enabled: stored.enabled !== false, installId };
}

/** @type {Promise<string> | undefined} Concurrent first reads share one id. */
let pendingInstallId;

function newInstallId() {
  pendingInstallId ??= (async () => {
    const installId = crypto.randomUUID();
    await chrome.storage.local.set({ installId });
    return installId;
  })();
  return pendingInstallId;
}

/** @param {string} address */
export async function saveAddress(address) {
  if (address === (await installedAddress())) {
    await chrome.storage.local.remove('address');
  } else {
    await chrome.storage.local.set({ address });
  }
}

/** @param {boolean} enabled */
export async function saveEnabled(enabled) {
  await chrome.storage.local.set({ enabled });
}
