/**
 * The pairing: the secret that this extension shares with the user's relay, and the relay's port.
 * It comes from a code that the user has pasted, or else from `pairing.json`, which `tabwire
 * install-extension` writes. The file is read again each time, so a new one needs no reload.
 */

import { toBase64url } from './base64url.js';

export const DEFAULT_PORT = 19222;

/**
 * 32 bytes in base64url. The last character has only four bits, so a secret that was cut off or
 * mistyped rarely passes.
 */
const SECRET = /^[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]$/;

/**
 * @typedef {object} Pairing
 * @property {number} port
 * @property {string} secret Empty if there is none.
 * @property {boolean} wasAccepted Whether a relay has ever accepted this secret.
 * @property {boolean} isLaunched Whether the relay has launched this browser.
 */

/**
 * Parses a code printed by `tabwire pair`.
 * @param {string} text
 * @returns {{ port: number, secret: string } | { error: string }}
 */
export function parsePairingCode(text) {
  const code = text.trim();
  if (!code) {
    return { error: 'Paste the code that “tabwire pair” prints.' };
  }
  const [, port, secret] = /^tabwire:(\d{1,5}):([^:]*)$/.exec(code) ?? [];
  if (port === undefined || secret === undefined) {
    return { error: 'Not a pairing code. It looks like tabwire:19222:… and has no spaces.' };
  }
  if (!isPort(Number(port))) {
    return { error: `Not a pairing code: ${port} is not a valid port.` };
  }
  if (!SECRET.test(secret)) {
    return { error: 'This code is incomplete or has a typing error. Copy all of it.' };
  }
  return { port: Number(port), secret };
}

/** @param {unknown} port */
const isPort = (port) => Number.isInteger(port) && Number(port) >= 1 && Number(port) <= 65535;

/**
 * A code that was rejected gives way to a file that was written since, and the other way round.
 * @returns {Promise<Pairing>}
 */
export async function readPairing() {
  const [stored, file] = await Promise.all([
    chrome.storage.local.get(['pairing', 'acceptedPairing', 'rejectedPairings']),
    readFile(),
  ]);
  const candidates = [stored.pairing, file].filter(isPairing);
  const prints = await Promise.all(candidates.map(({ secret }) => fingerprint(secret)));
  const rejected = Array.isArray(stored.rejectedPairings) ? stored.rejectedPairings : [];
  const at = Math.max(
    prints.findIndex((print) => !rejected.includes(print)),
    0,
  );
  const { port, secret } = candidates[at] ?? { ...file, secret: '' };
  return {
    port,
    secret,
    wasAccepted: secret !== '' && stored.acceptedPairing === prints[at],
    isLaunched: file.launched,
  };
}

/**
 * Remembers that this secret was rejected. When all were, each gets another chance.
 * @param {string} secret
 */
export async function rememberRejected(secret) {
  const { pairing, rejectedPairings } = await chrome.storage.local.get([
    'pairing',
    'rejectedPairings',
  ]);
  const candidates = [pairing, await readFile()].filter(isPairing);
  const prints = await Promise.all(candidates.map((each) => fingerprint(each.secret)));
  const earlier = Array.isArray(rejectedPairings) ? rejectedPairings : [];
  const rejected = [...new Set([...earlier, await fingerprint(secret)])];
  const areAll = prints.every((print) => rejected.includes(print));
  await chrome.storage.local.set({ rejectedPairings: areAll ? [] : rejected });
}

/** @param {any} value @returns {value is { port: number, secret: string }} */
const isPairing = (value) => isPort(value?.port) && SECRET.test(value?.secret);

/** Whether to show the welcome page after installation. Tests and scripts do without it. */
export async function wantsWelcome() {
  return (await readFile()).welcome;
}

/** @type {ReturnType<typeof fetchFile> | undefined} Whoever asks meanwhile gets the same. */
let reading;

function readFile() {
  reading ??= fetchFile().finally(() => (reading = undefined));
  return reading;
}

async function fetchFile() {
  /** @type {{ port?: unknown, secret?: unknown, welcome?: unknown, launched?: unknown }} */
  let content = {};
  try {
    const file = await fetch(chrome.runtime.getURL('pairing.json'), { cache: 'no-store' });
    content = await file.json();
  } catch {
    // It is missing, or being written. The next attempt reads it again.
  }
  return {
    port: isPort(content.port) ? Number(content.port) : DEFAULT_PORT,
    secret: SECRET.test(String(content.secret)) ? String(content.secret) : '',
    welcome: content.welcome !== false,
    launched: content.launched === true,
  };
}

/**
 * Saves a code that the user has pasted. An address that the user has set is for another relay.
 * @param {{ port: number, secret: string }} pairing
 */
export async function savePairing({ port, secret }) {
  await chrome.storage.local.set({ pairing: { port, secret } });
  await chrome.storage.local.remove(['address', 'rejectedPairings']);
}

/**
 * Remembers that a relay has accepted this secret, also after Chrome has stopped this worker.
 * @param {string} secret
 */
export async function rememberAccepted(secret) {
  await chrome.storage.local.set({
    acceptedPairing: await fingerprint(secret),
    rejectedPairings: [],
  });
}

/** Identifies a secret without storing another copy of it. @param {string} secret */
async function fingerprint(secret) {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(secret));
  return toBase64url(new Uint8Array(digest));
}
