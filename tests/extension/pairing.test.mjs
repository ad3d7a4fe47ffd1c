/** The pairing: codes, where the secret comes from, and what is remembered about it. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newNonce, SECRET } from '../harness/handshake.mjs';
import { FakeBrowser } from './fake_chrome.mjs';
import { newWorker } from './worker.mjs';

const OTHER = 'ICEiIyQlJicoKSorLC0uLzAxMjM0NTY3ODk6Ozw9Pj8';

/** A new installation, with this in its `pairing.json`. */
async function installed(file = {}) {
  const browser = new FakeBrowser();
  Object.assign(browser.pairingFile, file);
  return { browser, ...(await newWorker(browser)('pairing.js')) };
}

const { parsePairingCode } = await installed();

// ---- codes ----

test('reads a code, also with space around it', () => {
  const pairing = { port: 19222, secret: SECRET };
  assert.deepEqual(parsePairingCode(`tabwire:19222:${SECRET}`), pairing);
  assert.deepEqual(parsePairingCode(`  tabwire:19222:${SECRET}\n`), pairing);
});

test('asks for a code if none is given', () => {
  for (const text of ['', '  ']) {
    assert.match(parsePairingCode(text).error, /Paste the code/);
  }
});

test('explains what is not a code', () => {
  for (const text of [
    'nonsense',
    SECRET,
    `19222:${SECRET}`,
    `tabwire:${SECRET}`,
    `tabwire:port:${SECRET}`,
    `Tabwire:19222:${SECRET}`,
    `tabwire:19222:${SECRET}:more`,
    `tabwire 19222 ${SECRET}`,
    'ws://127.0.0.1:19222/cdp?token=x',
  ]) {
    assert.match(parsePairingCode(text).error, /Not a pairing code. It looks like/, text);
  }
  for (const port of ['0', '65536', '99999']) {
    assert.match(parsePairingCode(`tabwire:${port}:${SECRET}`).error, /not a valid port/, port);
  }
});

test('explains what is a damaged code', () => {
  for (const secret of [
    '',
    SECRET.slice(1),
    SECRET.slice(0, -1),
    `${SECRET}A`,
    `${SECRET}=`,
    SECRET.replace('B', '+'),
    SECRET.replace('B', ' '),
    // 32 bytes leave two bits unused, which are zero.
    SECRET.replace(/8$/, '9'),
  ]) {
    assert.match(parsePairingCode(`tabwire:19222:${secret}`).error, /incomplete/, secret);
  }
  assert.equal(parsePairingCode(`tabwire:1:${newNonce()}`).port, 1);
});

// ---- where the pairing comes from ----

/** What a pairing is, unless a test says otherwise. */
const pairing = (more) => ({ wasAccepted: false, isLaunched: false, ...more });

test('reads pairing.json each time', async () => {
  const { browser, readPairing } = await installed({ port: 4321 });
  assert.deepEqual(await readPairing(), pairing({ port: 4321, secret: SECRET }));
  browser.pairingFile = { port: 5432, secret: OTHER };
  assert.deepEqual(await readPairing(), pairing({ port: 5432, secret: OTHER }));
});

test('a code wins over pairing.json, and over an address set earlier', async () => {
  const { browser, readPairing, savePairing } = await installed();
  browser.local.address = '127.0.0.1:4000';
  await savePairing({ port: 5000, secret: OTHER });
  assert.deepEqual(await readPairing(), pairing({ port: 5000, secret: OTHER }));
  assert.equal('address' in browser.local, false);
});

test('has no secret if pairing.json is missing, unreadable or has none', async () => {
  const { browser, readPairing } = await installed({ secret: '' });
  const unpaired = pairing({ port: 19222, secret: '' });
  assert.deepEqual(await readPairing(), unpaired);
  for (const file of [{}, { port: 'x', secret: 7 }, { port: 0, secret: SECRET.slice(1) }]) {
    browser.pairingFile = file;
    assert.deepEqual(await readPairing(), unpaired);
  }
  globalThis.fetch = async () => {
    throw new TypeError('Failed to fetch');
  };
  assert.deepEqual(await readPairing(), unpaired);
});

test('a code that is rejected gives way to pairing.json, and gets another chance after it', async () => {
  const { readPairing, rememberRejected, savePairing } = await installed();
  await savePairing({ port: 5000, secret: OTHER });
  await rememberRejected(OTHER);
  assert.equal((await readPairing()).secret, SECRET);
  await rememberRejected(SECRET);
  assert.equal((await readPairing()).secret, OTHER);
});

// ---- what is remembered ----

test('remembers across restarts which secret was accepted, without storing it', async () => {
  const { browser, rememberAccepted } = await installed();
  await rememberAccepted(SECRET);
  assert.ok(!JSON.stringify(browser.local).includes(SECRET));
  const { readPairing } = await newWorker(browser)('pairing.js');
  assert.equal((await readPairing()).wasAccepted, true);
  browser.pairingFile.secret = OTHER;
  assert.equal((await readPairing()).wasAccepted, false);
});

test('wants the welcome page unless pairing.json says otherwise', async () => {
  const { browser, wantsWelcome } = await installed();
  assert.equal(await wantsWelcome(), true);
  browser.pairingFile.welcome = false;
  assert.equal(await wantsWelcome(), false);
  browser.pairingFile = {};
  assert.equal(await wantsWelcome(), true);
});
