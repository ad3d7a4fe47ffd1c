/** The conversation with the relay, in a whole service worker with a fake browser. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeBrowser, settle } from './fake_chrome.mjs';
import { FakeSocket } from './fake_socket.mjs';
import {
  attachTabs,
  badgeText,
  browserWithTabs,
  call,
  newWorker,
  startConnected,
  startWorker,
  tabDetached,
} from './worker.mjs';

const methods = (socket) => socket.messages.map(({ method }) => method);

// ---- hello ----

test('sends hello before any event or reply', async () => {
  const browser = browserWithTabs(1);
  await startWorker(browser);
  FakeSocket.last.accept();
  browser.chrome.debugger.onEvent.fire({ tabId: 1 }, 'Page.loadEventFired', {});
  browser.chrome.debugger.onDetach.fire({ tabId: 1 }, 'target_closed');
  FakeSocket.last.receive({ method: 'ping' });
  await settle();
  assert.deepEqual(methods(FakeSocket.last), ['hello', 'cdpEvent', 'tabDetached', 'pong']);
});

test('sends hello on every connection', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  await startConnected(new FakeBrowser());
  FakeSocket.last.drop();
  t.mock.timers.tick(1000);
  FakeSocket.last.accept();
  await settle();
  assert.equal(FakeSocket.all.length, 2);
  assert.deepEqual(methods(FakeSocket.last), ['hello']);
});

for (const [first, second] of [
  ['attachments', 'hello'],
  ['hello', 'attachments'],
]) {
  test(`connects only once attachments and hello are ready (${first} first)`, async () => {
    const browser = browserWithTabs(1);
    const finish = {};
    const pending = (name) => new Promise((resolve) => (finish[name] = resolve));
    browser.session.attachedTabs = [1];
    browser.stub('debugger.getTargets', () => pending('attachments').then(() => []));
    const load = newWorker(browser);
    globalThis.navigator = {
      userAgent: '',
      userAgentData: { getHighEntropyValues: () => pending('hello') },
    };
    await load('background.js');
    await settle();
    finish[first]();
    await settle();
    assert.deepEqual(FakeSocket.all, []);
    finish[second]();
    await settle();
    assert.equal(FakeSocket.all.length, 1);
  });
}

test('hello identifies a headless browser, and falls back to the reduced version', async () => {
  const browser = new FakeBrowser();
  const load = newWorker(browser);
  globalThis.navigator = { userAgent: 'Mozilla/5.0 HeadlessChrome/156.0.0.0 Safari/537.36' };
  await load('background.js');
  await settle();
  FakeSocket.last.accept();
  await settle();
  assert.equal(FakeSocket.last.messages[0].params.browser, 'HeadlessChrome/156.0.0.0');
});

// ---- calls and events ----

test('replies to every call once, with its id, as soon as it has finished', async () => {
  const browser = browserWithTabs(1);
  const socket = await startConnected(browser);
  let finish;
  browser.stub(
    'debugger.sendCommand',
    () => new Promise((resolve) => (finish = () => resolve({ done: true }))),
  );
  socket.receive([
    { id: 5, method: 'cdpCommand', params: { tabId: 1, method: 'Page.enable' } },
    { id: 6, method: 'noSuchThing' },
  ]);
  await settle();
  finish();
  await settle();
  assert.deepEqual(socket.messages, [
    { id: 6, error: 'Unknown command: noSuchThing' },
    { id: 5, result: { done: true } },
  ]);
});

test('ignores a call without an id, because it could not reply', async () => {
  const browser = browserWithTabs(1);
  const socket = await startConnected(browser);
  socket.receive({ method: 'closeTab', params: { tabId: 1 } });
  await settle();
  assert.deepEqual([...browser.tabs.keys()], [1]);
  assert.deepEqual(socket.frames, []);
});

test('does not forward debugger events without a tab', async () => {
  const browser = browserWithTabs(1);
  const socket = await startConnected(browser);
  browser.chrome.debugger.onEvent.fire({ targetId: 'X' }, 'Page.loadEventFired', {});
  await settle();
  assert.deepEqual(socket.frames, []);
});

// ---- detaching ----

test('Cancel in the infobar of one tab detaches every tab, and each is reported once', async () => {
  const browser = browserWithTabs(1, 2, 3);
  const socket = await startConnected(browser);
  await attachTabs(socket, 1, 2);
  browser.attached.clear();
  browser.chrome.debugger.onDetach.fire({ tabId: 2 }, 'canceled_by_user');
  browser.chrome.debugger.onDetach.fire({ tabId: 1 }, 'canceled_by_user');
  await settle();
  assert.deepEqual(socket.messages, [
    tabDetached(1, 'canceled_by_user'),
    tabDetached(2, 'canceled_by_user'),
  ]);
  await call(socket, 8, 'listTabs');
  assert.ok(socket.messages.at(-1).result.tabs.every(({ attached }) => !attached));
});

test('a tab detached for another reason is the only one reported', async () => {
  const browser = browserWithTabs(1, 2);
  const socket = await startConnected(browser);
  await attachTabs(socket, 1, 2);
  browser.chrome.debugger.onDetach.fire({ tabId: 2 }, 'target_closed');
  await settle();
  assert.deepEqual(socket.messages, [tabDetached(2, 'target_closed')]);
  assert.equal(badgeText(browser), '1');
});

test('detaches every tab ten seconds after losing the relay', async (t) => {
  const browser = browserWithTabs(1, 2);
  const socket = await startConnected(browser);
  await attachTabs(socket, 1, 2);
  t.mock.timers.enable({ apis: ['setTimeout'] });
  socket.drop();
  t.mock.timers.tick(9_999);
  await settle();
  assert.deepEqual([...browser.attached], [1, 2]);
  t.mock.timers.tick(1);
  await settle();
  assert.deepEqual([...browser.attached], []);
});

test('keeps tabs attached if the relay comes back in time', async (t) => {
  const browser = browserWithTabs(1);
  const socket = await startConnected(browser);
  await attachTabs(socket, 1);
  t.mock.timers.enable({ apis: ['setTimeout'] });
  socket.drop();
  t.mock.timers.tick(1_000);
  FakeSocket.last.accept();
  t.mock.timers.tick(60_000);
  await settle();
  assert.deepEqual([...browser.attached], [1]);
});
