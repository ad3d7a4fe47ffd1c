/** The user's settings: how they are checked and stored. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeBrowser } from './fake_chrome.mjs';
import { newWorker } from './worker.mjs';

const browser = new FakeBrowser();
const { checkAddress } = await newWorker(browser)('settings.js');

/** The settings of a new installation. */
async function installed(port = 19222) {
  const fresh = new FakeBrowser();
  fresh.pairingFile.port = port;
  return { browser: fresh, ...(await newWorker(fresh)('settings.js')) };
}

test('accepts an address in the forms a user may type', () => {
  const accepted = {
    19222: '127.0.0.1:19222',
    ' 4000 ': '127.0.0.1:4000',
    '127.0.0.1:4000': '127.0.0.1:4000',
    '127.0.0.1': '127.0.0.1:19222',
    'localhost:4000': '127.0.0.1:4000',
    'LOCALHOST:4000': '127.0.0.1:4000',
    localhost: '127.0.0.1:19222',
    'ws://127.0.0.1:4000': '127.0.0.1:4000',
    'ws://127.0.0.1:4000/extension': '127.0.0.1:4000',
    'http://127.0.0.1:4000/': '127.0.0.1:4000',
    'http://localhost': '127.0.0.1:19222',
    'http://127.0.0.1:4000/json/version?token=x': '127.0.0.1:4000',
    '127.1:4000': '127.0.0.1:4000',
  };
  for (const [typed, address] of Object.entries(accepted)) {
    assert.deepEqual(checkAddress(typed), { address }, typed);
  }
});

test("keeps an explicit port that is a scheme's default", () => {
  for (const [typed, address] of Object.entries({
    80: '127.0.0.1:80',
    'ws://localhost:80': '127.0.0.1:80',
    443: '127.0.0.1:443',
  })) {
    assert.deepEqual(checkAddress(typed), { address }, typed);
  }
});

test('rejects every address but 127.0.0.1', () => {
  const foreign = [
    'example.org:19222',
    '192.168.1.10:19222',
    '10.0.0.1',
    '0.0.0.0:19222',
    '127.0.0.2:19222',
    '128.0.0.1',
    '[::]:19222',
    '[::1]:19222',
    '[::1]',
    'http://[::1]:4000/',
    '[fe80::1]:19222',
    '127.0.0.1.example.org:19222',
    'localhost.example.org',
    'ws://example.org',
    'http://example.org/127.0.0.1:19222',
  ];
  for (const typed of foreign) {
    assert.match(checkAddress(typed).error, /this machine/, typed);
  }
});

test('rejects a user name or password', () => {
  for (const typed of [
    'user:pass@127.0.0.1:19222',
    'user@localhost',
    'ws://:pass@127.0.0.1',
    '127.0.0.1@example.org',
    '127.0.0.1:19222@example.org',
  ]) {
    assert.match(checkAddress(typed).error, /this machine/, typed);
  }
});

test('rejects invalid addresses', () => {
  const invalid = [
    'not an address',
    '127.0.0.1:port',
    '127.0.0.1:70000',
    '70000',
    '0',
    '127.0.0.1:0',
    ':19222',
    '[::1',
    'ftp://127.0.0.1',
    'wss://127.0.0.1',
    'https://127.0.0.1',
    'javascript://127.0.0.1',
    'file:///127.0.0.1',
  ];
  for (const typed of invalid) {
    assert.match(checkAddress(typed).error, /Not a valid address/, typed);
  }
});

test('asks for an address if none is given', () => {
  assert.match(checkAddress('').error, /Enter an address/);
  assert.match(checkAddress('   ').error, /Enter an address/);
});

test('a new installation is on and uses the address from pairing.json', async () => {
  const { readSettings } = await installed(4321);
  const { address, enabled } = await readSettings();
  assert.deepEqual({ address, enabled }, { address: '127.0.0.1:4321', enabled: true });
});

test('uses the default port if pairing.json is unreadable', async () => {
  const { readSettings } = await installed();
  globalThis.fetch = async () => {
    throw new TypeError('Failed to fetch');
  };
  assert.equal((await readSettings()).address, '127.0.0.1:19222');
});

test('concurrent first reads and later starts get the same installation id', async () => {
  const { browser: fresh, readSettings } = await installed();
  const [first, second] = await Promise.all([readSettings(), readSettings()]);
  assert.match(first.installId, /^[0-9a-f-]{36}$/);
  assert.equal(second.installId, first.installId);
  const restarted = await newWorker(fresh)('settings.js');
  assert.equal((await restarted.readSettings()).installId, first.installId);
});

test('address and switch survive a restart of the worker', async () => {
  const { browser: fresh, saveAddress, saveEnabled } = await installed();
  await saveAddress('127.0.0.1:4000');
  await saveEnabled(false);
  const restarted = await newWorker(fresh)('settings.js');
  const { address, enabled } = await restarted.readSettings();
  assert.deepEqual({ address, enabled }, { address: '127.0.0.1:4000', enabled: false });
});

test('does not store the installed address, so that a reinstall can change it', async () => {
  const { browser: fresh, readSettings, saveAddress } = await installed();
  await saveAddress('127.0.0.1:4000');
  await saveAddress('127.0.0.1:19222');
  assert.equal('address' in fresh.local, false);
  fresh.pairingFile.port = 5555;
  assert.equal((await readSettings()).address, '127.0.0.1:5555');
});

test('dials 127.0.0.1 whatever an earlier version has stored', async () => {
  const { browser: fresh, readSettings } = await installed();
  for (const [stored, address] of Object.entries({
    'localhost:4000': '127.0.0.1:4000',
    '[::1]:4000': '127.0.0.1:19222',
    'example.org:4000': '127.0.0.1:19222',
  })) {
    fresh.local.address = stored;
    assert.equal((await readSettings()).address, address, stored);
  }
});
