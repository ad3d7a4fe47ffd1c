/**
 * What the person has set: which relay, and whether to be connected at all. Kept in `chrome.storage.local`.
 */

const DEFAULT_PORT = 19222;
const LOOPBACK = ['127.0.0.1', 'localhost', '[::1]'];

/**
 * Reads an address as a person would write it. The relay is always on this machine: any other address is refused.
 * @param {string} text
 * @returns {{ address: string } | { error: string }} `host:port`, or what is wrong.
 */
export function checkAddress(text) {
  const trimmed = text.trim();
  if (!trimmed) {
    return { error: 'Write an address, such as 127.0.0.1:19222.' };
  }
  if (/^\d+$/.test(trimmed)) {
    return checkAddress(`127.0.0.1:${trimmed}`);
  }
  const withScheme = /^\w+:\/\//.test(trimmed) ? trimmed : `ws://${trimmed}`;
  const url = URL.canParse(withScheme) ? new URL(withScheme) : undefined;
  if (!url || !['ws:', 'http:'].includes(url.protocol) || url.port === '0') {
    return { error: 'This is not an address. It looks like 127.0.0.1:19222.' };
  }
  if (!LOOPBACK.includes(url.hostname) || url.username || url.password) {
    return { error: 'The relay runs on this machine: use 127.0.0.1.' };
  }
  // A parsed address leaves out its scheme's own port: 80 is there to read only under another scheme.
  const port = url.port || new URL(withScheme.replace(/^\w+:/, 'https:')).port || DEFAULT_PORT;
  return { address: `${url.hostname}:${port}` };
}

/** Where the installed extension points, before the person sets anything else. */
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

/** @type {Promise<string> | undefined} Whoever asks meanwhile gets the same id. */
let makingInstallId;

function newInstallId() {
  makingInstallId ??= (async () => {
    const installId = crypto.randomUUID();
    await chrome.storage.local.set({ installId });
    return installId;
  })();
  return makingInstallId;
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
