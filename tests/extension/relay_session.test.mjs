/** The conversation with the relay, in a whole service worker with a fake browser. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeBrowser, FakePort, settle } from './fake_chrome.mjs';
import { FakeSocket } from './fake_socket.mjs';
import { newNonce } from '../harness/handshake.mjs';
import {
  acceptSocket,
  attachTabs,
  badgeText,
  browserWithTabs,
  call,
  newWorker,
  sendChallenge,
  startConnected,
  startWorker,
  tabDetached,
} from './worker.mjs';

const methods = (socket) => socket.messages.map(({ method }) => method);

// ---- handshake ----

test('sends nothing and runs nothing before the relay has proven itself', async () => {
  const browser = browserWithTabs(1);
  await startWorker(browser);
  const socket = FakeSocket.last;
  const act = () => {
    browser.chrome.debugger.onEvent.fire({ tabId: 1 }, 'Page.loadEventFired', {});
    browser.chrome.debugger.onDetach.fire({ tabId: 1 }, 'target_closed');
    browser.openTab({ url: 'https://example.org/new' });
  };
  act();
  await settle();
  assert.deepEqual(socket.frames, []);
  await sendChallenge(socket);
  act();
  await settle();
  assert.deepEqual(methods(socket), ['hello']);
});

for (const [name, frame] of Object.entries({
  'a command': { id: 1, method: 'closeTab', params: { tabId: 1 } },
  'a ping': { method: 'ping' },
  'a status': { method: 'status', params: { name: 'mine', clients: [] } },
})) {
  test(`disconnects from a program that sends ${name} instead of a proof`, async () => {
    for (const isGreeted of [false, true]) {
      const browser = browserWithTabs(1);
      await startWorker(browser);
      const socket = FakeSocket.last;
      if (isGreeted) {
        await sendChallenge(socket);
      }
      socket.receive(frame);
      await settle();
      assert.ok(socket.isClosed);
      assert.deepEqual(methods(socket), isGreeted ? ['hello'] : []);
      assert.deepEqual([...browser.tabs.keys()], [1]);
      assert.equal(await badgeText(browser), '!');
    }
  });
}

test('describes the browser before any event or reply', async () => {
  const browser = browserWithTabs(1);
  await startWorker(browser);
  await acceptSocket();
  browser.chrome.debugger.onEvent.fire({ tabId: 1 }, 'Page.loadEventFired', {});
  FakeSocket.last.receive({ method: 'ping' });
  await settle();
  assert.deepEqual(methods(FakeSocket.last), ['hello', 'browser', 'cdpEvent', 'pong']);
});

test('makes a handshake on every connection', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  await startConnected(new FakeBrowser());
  FakeSocket.last.drop();
  t.mock.timers.tick(1000);
  await settle();
  const socket = FakeSocket.last;
  await acceptSocket(socket);
  assert.equal(FakeSocket.all.length, 2);
  assert.deepEqual(methods(socket), ['hello', 'browser']);
});

test('ignores a challenge or a welcome on a connection that has been accepted', async () => {
  const browser = new FakeBrowser();
  const socket = await startConnected(browser);
  socket.receive({ method: 'challenge', params: { protocol: 2, nonce: newNonce() } });
  socket.receive({ method: 'welcome', params: { proof: newNonce(), version: '9.9.9' } });
  await settle();
  assert.deepEqual(socket.frames, []);
  assert.equal(await badgeText(browser), 'on');
});

for (const [first, second] of [
  ['attachments', 'description'],
  ['description', 'attachments'],
]) {
  test(`connects only once attachments and description are ready (${first} first)`, async () => {
    const browser = browserWithTabs(1);
    const finish = {};
    const pending = (name) => new Promise((resolve) => (finish[name] = resolve));
    browser.session.attachedTabs = [1];
    browser.stub('debugger.getTargets', () => pending('attachments').then(() => []));
    const load = newWorker(browser);
    globalThis.navigator = {
      userAgent: '',
      userAgentData: { getHighEntropyValues: () => pending('description') },
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

// ---- what the relay receives about the browser ----

/** The `browser` message of a browser with this `navigator`. */
async function describedAs(navigator) {
  const load = newWorker(new FakeBrowser());
  globalThis.navigator = navigator;
  await load('background.js');
  await settle();
  await acceptSocket();
  return FakeSocket.last.messages[1].params;
}

test('identifies a headless browser, and falls back to the reduced version', async () => {
  const userAgent = 'Mozilla/5.0 HeadlessChrome/156.0.0.0 Safari/537.36';
  const { product, brand } = await describedAs({ userAgent });
  assert.deepEqual([product, brand], ['HeadlessChrome/156.0.0.0', 'browser']);
});

for (const [name, brand] of Object.entries({
  'Google Chrome': 'chrome',
  'Microsoft Edge': 'edge',
  Brave: 'brave',
  Vivaldi: 'vivaldi',
  Opera: 'opera',
  HeadlessChrome: 'chromium',
})) {
  test(`recognizes ${name} as ${brand}`, async () => {
    const brands = ['Not A Brand', 'Chromium', name];
    const fullVersionList = brands.map((each) => ({ brand: each, version: '156.0.8078.79' }));
    const described = await describedAs({
      userAgent: 'Mozilla/5.0 Chrome/156.0.0.0',
      userAgentData: { getHighEntropyValues: async () => ({ fullVersionList }) },
    });
    assert.equal(described.brand, brand);
  });
}

// ---- what the relay says about agents ----

test('keeps the relay’s status until the connection is lost', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const browser = new FakeBrowser();
  const socket = await startConnected(browser);
  const popup = new FakePort();
  browser.chrome.runtime.onConnect.fire(popup);
  const shown = () => {
    const { name, agents } = popup.posted.at(-1);
    return { name, agents };
  };
  const agents = [{ name: 'playwright (node, pid 4711)', tabs: [1] }];
  socket.receive({ method: 'status', params: { name: 'work', clients: agents } });
  await settle();
  assert.deepEqual(shown(), { name: 'work', agents });
  assert.deepEqual(socket.frames, []);
  socket.drop();
  await settle();
  assert.deepEqual(shown(), { name: undefined, agents: [] });
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

test('sends no reply over another connection: a new relay uses the same ids', async (t) => {
  const browser = browserWithTabs(1);
  const socket = await startConnected(browser);
  let finish;
  browser.stub('debugger.sendCommand', () => new Promise((resolve) => (finish = resolve)));
  await call(socket, 5, 'cdpCommand', { tabId: 1, method: 'Page.enable' });
  t.mock.timers.enable({ apis: ['setTimeout'] });
  socket.drop();
  t.mock.timers.tick(1_000);
  await settle();
  await acceptSocket();
  finish({});
  await settle();
  assert.notEqual(FakeSocket.last, socket);
  assert.deepEqual(methods(FakeSocket.last), ['hello', 'browser']);
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

test('Cancel in the infobar of one tab pauses agents first, and reports each tab once', async () => {
  const browser = browserWithTabs(1, 2, 3);
  const socket = await startConnected(browser);
  await attachTabs(socket, 1, 2);
  browser.attached.clear();
  browser.chrome.debugger.onDetach.fire({ tabId: 2 }, 'canceled_by_user');
  browser.chrome.debugger.onDetach.fire({ tabId: 1 }, 'canceled_by_user');
  await settle();
  assert.deepEqual(socket.messages, [
    { method: 'pause' },
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
  assert.equal(await badgeText(browser), '1');
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
  await settle();
  await acceptSocket();
  t.mock.timers.tick(60_000);
  await settle();
  assert.deepEqual([...browser.attached], [1]);
});
