/** Permissions of sites: setting rules, changing as few as possible, and leaving none behind. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeBrowser, settle } from './fake_chrome.mjs';
import { FakeSocket } from './fake_socket.mjs';
import { call, newWorker, startConnected, startWorker } from './worker.mjs';

const rule = (type, host, setting = 'allow') => ({
  type,
  pattern: `https://${host}/*`,
  setting,
});
const asSet = ({ type, pattern, setting }) => [type, pattern, setting];

async function start(browser = new FakeBrowser()) {
  const permissions = await newWorker(browser)('permissions.js');
  const changes = () => {
    const changed = browser.calls.filter(([name]) => name.startsWith('contentSettings.'));
    browser.calls.length = 0;
    return changed.map(([name, { primaryPattern }]) => [name.slice(16), primaryPattern]);
  };
  await permissions.hasPermissions();
  return { browser, changes, ...permissions };
}

test('sets rules, and changes only what differs', async () => {
  const { browser, changes, setPermissions } = await start();
  const first = [rule('location', 'a.com'), rule('camera', 'a.com', 'block')];
  await setPermissions(first);
  assert.deepEqual(browser.contentSettings, first.map(asSet));
  changes();
  await setPermissions([...first, rule('location', 'b.com')]);
  assert.deepEqual(changes(), [['location.set', 'https://b.com/*']]);
  await setPermissions([rule('location', 'a.com', 'ask'), ...first.slice(1)]);
  assert.deepEqual(changes(), [
    ['location.clear', undefined],
    ['location.set', 'https://a.com/*'],
  ]);
  assert.deepEqual(browser.contentSettings, [
    asSet(rule('camera', 'a.com', 'block')),
    asSet(rule('location', 'a.com', 'ask')),
  ]);
});

test('removes all rules, and then has none', async () => {
  const { browser, setPermissions, hasPermissions } = await start();
  assert.equal(await hasPermissions(), false);
  await setPermissions([rule('location', 'a.com'), rule('clipboard', 'b.com')]);
  assert.equal(await hasPermissions(), true);
  await setPermissions([]);
  assert.deepEqual(browser.contentSettings, []);
  assert.equal(await hasPermissions(), false);
});

test('makes one change at a time', async () => {
  const { browser, setPermissions } = await start();
  await Promise.all([
    setPermissions([rule('location', 'a.com')]),
    setPermissions([]),
    setPermissions([rule('location', 'b.com')]),
  ]);
  assert.deepEqual(browser.contentSettings, [asSet(rule('location', 'b.com'))]);
});

test('a rule that Chrome rejects is an error, and the next change starts from nothing', async () => {
  const { browser, changes, setPermissions } = await start();
  await setPermissions([rule('location', 'a.com')]);
  browser.stub('contentSettings.camera.set', () => {
    throw new Error('no such pattern');
  });
  const both = [rule('location', 'a.com'), rule('camera', 'b.com')];
  await assert.rejects(setPermissions(both), /no such pattern/);
  await assert.rejects(setPermissions([{ ...both[0], type: 'cookies' }]), /Unknown content/);
  changes();
  await setPermissions([rule('location', 'a.com')]);
  assert.equal(changes().filter(([name]) => name.endsWith('.clear')).length, 5);
  assert.deepEqual(browser.contentSettings, [asSet(rule('location', 'a.com'))]);
});

test('a restarted worker keeps the rules', async () => {
  const { browser, setPermissions } = await start();
  await setPermissions([rule('location', 'a.com')]);
  await startWorker(browser);
  assert.deepEqual(browser.contentSettings, [asSet(rule('location', 'a.com'))]);
});

test('a restarted browser removes what was left', async () => {
  const { browser, setPermissions } = await start();
  await setPermissions([rule('location', 'a.com')]);
  browser.session = {};
  await startWorker(browser);
  assert.deepEqual(browser.contentSettings, []);
  assert.equal('hasPermissionRules' in browser.local, false);
});

test('without a relay, no rule remains', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const browser = new FakeBrowser();
  const socket = await startConnected(browser);
  await call(socket, 1, 'setPermissions', { rules: [rule('location', 'a.com')] });
  FakeSocket.last.drop();
  t.mock.timers.tick(9_000);
  await settle();
  assert.equal(browser.contentSettings.length, 1, 'the relay may be restarting');
  t.mock.timers.tick(2_000);
  await settle();
  assert.deepEqual(browser.contentSettings, []);
});
