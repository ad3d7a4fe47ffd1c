/** What the person may set, and how it is kept. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeBrowser } from './fake_chrome.mjs';
import { startLife } from './life.mjs';

const browser = new FakeBrowser();
const { checkAddress } = await startLife(browser)('settings.js');

/** Settings of an extension that was just installed. */
async function installed(port = 19222) {
  const fresh = new FakeBrowser();
  fresh.installedPort = port;
  return { browser: fresh, ...(await startLife(fresh)('settings.js')) };
}

test('an address is read as a person may write it', () => {
  const readings = {
    19222: '127.0.0.1:19222',
    ' 4000 ': '127.0.0.1:4000',
    '127.0.0.1:4000': '127.0.0.1:4000',
    '127.0.0.1': '127.0.0.1:19222',
    'localhost:4000': 'localhost:4000',
    'LOCALHOST:4000': 'localhost:4000',
    localhost: 'localhost:19222',
    '[::1]:4000': '[::1]:4000',
    '[::1]': '[::1]:19222',
    'ws://127.0.0.1:4000': '127.0.0.1:4000',
    'ws://127.0.0.1:4000/extension': '127.0.0.1:4000',
    'http://127.0.0.1:4000/': '127.0.0.1:4000',
    'http://localhost': 'localhost:19222',
    'http://[::1]:4000/json/version?token=x': '[::1]:4000',
    '127.1:4000': '127.0.0.1:4000',
  };
  for (const [written, address] of Object.entries(readings)) {
    assert.deepEqual(checkAddress(written), { address }, written);
  }
});

test("a port that is a scheme's own is still the port that was written", () => {
  for (const [written, address] of Object.entries({
    80: '127.0.0.1:80',
    'ws://localhost:80': 'localhost:80',
    443: '127.0.0.1:443',
  })) {
    assert.deepEqual(checkAddress(written), { address }, written);
  }
});

test('every address that is not this machine is refused', () => {
  const foreign = [
    'example.org:19222',
    '192.168.1.10:19222',
    '10.0.0.1',
    '0.0.0.0:19222',
    '127.0.0.2:19222',
    '128.0.0.1',
    '[::]:19222',
    '[fe80::1]:19222',
    '127.0.0.1.example.org:19222',
    'localhost.example.org',
    'ws://example.org',
    'http://example.org/127.0.0.1:19222',
  ];
  for (const written of foreign) {
    assert.match(checkAddress(written).error, /this machine/, written);
  }
});

test('a name or a password in the address is refused', () => {
  for (const written of [
    'user:pass@127.0.0.1:19222',
    'user@localhost',
    'ws://:pass@127.0.0.1',
    '127.0.0.1@example.org',
    '127.0.0.1:19222@example.org',
  ]) {
    assert.match(checkAddress(written).error, /this machine/, written);
  }
});

test('what is no address is refused', () => {
  const garbage = [
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
  for (const written of garbage) {
    assert.match(checkAddress(written).error, /not an address/, written);
  }
});

test('nothing written asks for an address', () => {
  assert.match(checkAddress('').error, /Write an address/);
  assert.match(checkAddress('   ').error, /Write an address/);
});

test('an extension that was just installed is on, and points where its installer said', async () => {
  const { readSettings } = await installed(4321);
  const { address, enabled } = await readSettings();
  assert.deepEqual({ address, enabled }, { address: '127.0.0.1:4321', enabled: true });
});

test('without a readable relay.json the usual port is taken', async () => {
  const { readSettings } = await installed();
  globalThis.fetch = async () => {
    throw new TypeError('Failed to fetch');
  };
  assert.equal((await readSettings()).address, '127.0.0.1:19222');
});

test('an installation keeps one id, also when it is first asked for twice at once', async () => {
  const { browser: fresh, readSettings } = await installed();
  const [first, second] = await Promise.all([readSettings(), readSettings()]);
  assert.match(first.installId, /^[0-9a-f-]{36}$/);
  assert.equal(second.installId, first.installId);
  const nextLife = await startLife(fresh)('settings.js');
  assert.equal((await nextLife.readSettings()).installId, first.installId);
});

test('address and switch outlive the worker', async () => {
  const { browser: fresh, saveAddress, saveEnabled } = await installed();
  await saveAddress('localhost:4000');
  await saveEnabled(false);
  const nextLife = await startLife(fresh)('settings.js');
  const { address, enabled } = await nextLife.readSettings();
  assert.deepEqual({ address, enabled }, { address: 'localhost:4000', enabled: false });
});

test("the installer's own address is not kept, so that a new installation can point elsewhere", async () => {
  const { browser: fresh, readSettings, saveAddress } = await installed();
  await saveAddress('localhost:4000');
  await saveAddress('127.0.0.1:19222');
  assert.equal('address' in fresh.local, false);
  fresh.installedPort = 5555;
  assert.equal((await readSettings()).address, '127.0.0.1:5555');
});
