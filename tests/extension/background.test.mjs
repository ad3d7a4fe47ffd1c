/** The service worker as a whole, between a fake browser and a fake relay. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeBrowser, FakePort, turn } from './fake_chrome.mjs';
import { FakeSocket } from './fake_socket.mjs';
import { startConnected, startLife, startWorker } from './life.mjs';

const withTabs = (...ids) =>
  new FakeBrowser(...ids.map((id) => ({ id, url: `https://example.org/${id}` })));

/** Sends a call as the relay does, and waits for the turn in which it is answered. */
async function call(socket, id, method, params) {
  socket.receives({ id, method, params });
  await turn();
}

async function attach(socket, ...tabIds) {
  for (const tabId of tabIds) {
    await call(socket, tabId, 'attachTab', { tabId });
  }
  socket.frames.length = 0;
}

/** The person opens the popup. */
async function openPopup(browser) {
  const popup = new FakePort();
  browser.chrome.runtime.onConnect.fire(popup);
  await turn();
  return popup;
}

async function wishFor(popup, message) {
  popup.onMessage.fire(message);
  await turn();
}

const badge = (browser) => browser.callsOf('action.setBadgeText').at(-1)?.[0].text;
const detached = (tabId, reason) => ({ method: 'tabDetached', params: { tabId, reason } });

// ---- life ----

test('every listener is registered before anything is awaited, so that no event that woke the worker is lost', async () => {
  const browser = new FakeBrowser();
  browser.answer('storage.session.get', () => new Promise(() => {}));
  browser.answer('storage.local.get', () => new Promise(() => {}));
  await startLife(browser)('background.js');
  const {
    debugger: { onEvent, onDetach },
    tabs,
    alarms,
    runtime,
    webNavigation,
  } = browser.chrome;
  const events = {
    onEvent,
    onDetach,
    onCreated: tabs.onCreated,
    onUpdated: tabs.onUpdated,
    onRemoved: tabs.onRemoved,
    onReplaced: tabs.onReplaced,
    ...webNavigation,
    onAlarm: alarms.onAlarm,
    onConnect: runtime.onConnect,
    onStartup: runtime.onStartup,
    onInstalled: runtime.onInstalled,
  };
  for (const [name, event] of Object.entries(events)) {
    assert.ok(event.isHeard, name);
  }
});

test('it connects to the installed relay by itself, once', async () => {
  const browser = new FakeBrowser();
  browser.installedPort = 4321;
  await startWorker(browser);
  browser.chrome.runtime.onInstalled.fire({});
  browser.chrome.runtime.onStartup.fire();
  await turn();
  assert.deepEqual(
    FakeSocket.all.map(({ url }) => url),
    ['ws://127.0.0.1:4321/extension'],
  );
});

test('switched off, it stays away from the relay, also after a restart', async () => {
  const browser = new FakeBrowser();
  browser.local.enabled = false;
  await startWorker(browser);
  browser.chrome.runtime.onStartup.fire();
  await turn();
  assert.deepEqual(FakeSocket.all, []);
  assert.equal(badge(browser), 'off');
});

test('an alarm of its own makes it try again', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const browser = new FakeBrowser();
  await startWorker(browser);
  FakeSocket.last.ends();
  const [[name, { periodInMinutes }]] = browser.callsOf('alarms.create');
  assert.equal(periodInMinutes, 0.5);
  browser.chrome.alarms.onAlarm.fire({ name: 'another' });
  await turn();
  assert.equal(FakeSocket.all.length, 1);
  browser.chrome.alarms.onAlarm.fire({ name });
  await turn();
  assert.equal(FakeSocket.all.length, 2);
});

test('attachments of an earlier life are in the list of tabs', async () => {
  const browser = withTabs(1, 2);
  await attach(await startConnected(browser), 2);
  const socket = await startConnected(browser);
  await call(socket, 1, 'listTabs');
  assert.deepEqual(
    socket.messages[0].result.tabs.map(({ tabId, attached }) => [tabId, attached]),
    [
      [1, false],
      [2, true],
    ],
  );
  assert.equal(badge(browser), '1');
});

// ---- the relay ----

test('hello comes first, whatever happens the moment the connection opens', async () => {
  const browser = withTabs(1);
  await startWorker(browser);
  FakeSocket.last.opens();
  browser.chrome.debugger.onEvent.fire({ tabId: 1 }, 'Page.loadEventFired', {});
  browser.chrome.debugger.onDetach.fire({ tabId: 1 }, 'target_closed');
  FakeSocket.last.receives({ method: 'ping' });
  await turn();
  assert.deepEqual(
    FakeSocket.last.messages.map(({ method }) => method),
    ['hello', 'cdpEvent', 'tabDetached', 'pong'],
  );
});

test('every connection is greeted', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  await startConnected(new FakeBrowser());
  FakeSocket.last.ends();
  t.mock.timers.tick(1000);
  FakeSocket.last.opens();
  await turn();
  assert.equal(FakeSocket.all.length, 2);
  assert.deepEqual(
    FakeSocket.last.messages.map(({ method }) => method),
    ['hello'],
  );
});

for (const [first, second] of [
  ['attachments', 'greeting'],
  ['greeting', 'attachments'],
]) {
  test(`it connects only when it knows its attachments and its greeting, whichever comes first: ${first}`, async () => {
    const browser = withTabs(1);
    const comes = {};
    const wait = (what) => new Promise((resolve) => (comes[what] = resolve));
    browser.session.attachedTabs = [1];
    browser.answer('debugger.getTargets', () => wait('attachments').then(() => []));
    const load = startLife(browser);
    globalThis.navigator = {
      userAgent: '',
      userAgentData: { getHighEntropyValues: () => wait('greeting') },
    };
    await load('background.js');
    await turn();
    comes[first]();
    await turn();
    assert.deepEqual(FakeSocket.all, []);
    comes[second]();
    await turn();
    assert.equal(FakeSocket.all.length, 1);
  });
}

test('hello names a headless browser as such, and does without the full version where there is none', async () => {
  const browser = new FakeBrowser();
  const load = startLife(browser);
  globalThis.navigator = { userAgent: 'Mozilla/5.0 HeadlessChrome/156.0.0.0 Safari/537.36' };
  await load('background.js');
  await turn();
  FakeSocket.last.opens();
  await turn();
  assert.equal(FakeSocket.last.messages[0].params.browser, 'HeadlessChrome/156.0.0.0');
});

test('every call gets one reply, under its own id and in the order of the outcomes', async () => {
  const browser = withTabs(1);
  const socket = await startConnected(browser);
  let finish;
  browser.answer(
    'debugger.sendCommand',
    () => new Promise((resolve) => (finish = () => resolve({ done: true }))),
  );
  socket.receives([
    { id: 5, method: 'cdpCommand', params: { tabId: 1, method: 'Page.enable' } },
    { id: 6, method: 'noSuchThing' },
  ]);
  await turn();
  finish();
  await turn();
  assert.deepEqual(socket.messages, [
    { id: 6, error: 'Unknown command: noSuchThing' },
    { id: 5, result: { done: true } },
  ]);
});

test('a call without an id is not obeyed, because nobody could hear of its outcome', async () => {
  const browser = withTabs(1);
  const socket = await startConnected(browser);
  socket.receives({ method: 'closeTab', params: { tabId: 1 } });
  await turn();
  assert.deepEqual([...browser.tabs.keys()], [1]);
  assert.deepEqual(socket.frames, []);
});

test('events of a debugger that is on no tab are not passed on', async () => {
  const browser = withTabs(1);
  const socket = await startConnected(browser);
  browser.chrome.debugger.onEvent.fire({ targetId: 'X' }, 'Page.loadEventFired', {});
  await turn();
  assert.deepEqual(socket.frames, []);
});

test('the button counts the tabs in use as soon as they are', async () => {
  const browser = withTabs(1, 2);
  const socket = await startConnected(browser);
  assert.equal(badge(browser), 'on');
  await attach(socket, 1);
  assert.equal(badge(browser), '1');
  await attach(socket, 2);
  assert.equal(badge(browser), '2');
  await call(socket, 9, 'detachTab', { tabId: 1 });
  assert.equal(badge(browser), '1');
  browser.chrome.debugger.onDetach.fire({ tabId: 2 }, 'target_closed');
  assert.equal(badge(browser), 'on');
});

// ---- the person takes tabs back ----

test("the infobar's Cancel on one tab takes every tab back, and each is told once", async () => {
  const browser = withTabs(1, 2, 3);
  const socket = await startConnected(browser);
  await attach(socket, 1, 2);
  browser.attached.clear();
  browser.chrome.debugger.onDetach.fire({ tabId: 2 }, 'canceled_by_user');
  browser.chrome.debugger.onDetach.fire({ tabId: 1 }, 'canceled_by_user');
  await turn();
  assert.deepEqual(socket.messages, [
    detached(1, 'canceled_by_user'),
    detached(2, 'canceled_by_user'),
  ]);
  await call(socket, 8, 'listTabs');
  assert.ok(socket.messages.at(-1).result.tabs.every(({ attached }) => !attached));
});

test('a tab that lost the debugger for another reason is the only one that is told', async () => {
  const browser = withTabs(1, 2);
  const socket = await startConnected(browser);
  await attach(socket, 1, 2);
  browser.chrome.debugger.onDetach.fire({ tabId: 2 }, 'target_closed');
  await turn();
  assert.deepEqual(socket.messages, [detached(2, 'target_closed')]);
  assert.equal(badge(browser), '1');
});

// ---- the popup ----

test('the popup is told the state when it opens and whenever it changes, until it closes', async () => {
  const browser = withTabs(1, 2);
  const socket = await startConnected(browser);
  const popup = await openPopup(browser);
  const state = { state: 'connected', address: '127.0.0.1:19222', attached: [] };
  assert.deepEqual(popup.posted.at(-1), state);
  await attach(socket, 1);
  assert.deepEqual(popup.posted.at(-1), { ...state, attached: [1] });
  popup.onDisconnect.fire();
  const before = popup.posted.length;
  await attach(socket, 2);
  assert.equal(popup.posted.length, before);
});

test('Detach in the popup takes exactly that tab, and the relay hears that the person did it', async () => {
  const browser = withTabs(1, 2);
  const socket = await startConnected(browser);
  await attach(socket, 1, 2);
  const popup = await openPopup(browser);
  await wishFor(popup, { wish: 'detach', tabId: 1 });
  assert.deepEqual([...browser.attached], [2]);
  assert.deepEqual(socket.messages, [detached(1, 'canceled_by_user')]);
  assert.deepEqual(popup.posted.at(-1).attached, [2]);
  await wishFor(popup, { wish: 'detach', tabId: 1 });
  assert.equal(socket.messages.length, 1);
});

test('Detach all takes every tab', async () => {
  const browser = withTabs(1, 2, 3);
  const socket = await startConnected(browser);
  await attach(socket, 1, 2);
  const popup = await openPopup(browser);
  await wishFor(popup, { wish: 'detachAll' });
  assert.deepEqual([...browser.attached], []);
  assert.deepEqual(socket.messages, [
    detached(1, 'canceled_by_user'),
    detached(2, 'canceled_by_user'),
  ]);
  assert.equal(popup.posted.at(-1).state, 'connected');
});

test('another address is kept and connected to at once', async () => {
  const browser = new FakeBrowser();
  const socket = await startConnected(browser);
  const popup = await openPopup(browser);
  await wishFor(popup, { wish: 'setAddress', address: 'localhost:4000' });
  assert.ok(socket.isClosed);
  assert.equal(FakeSocket.last.url, 'ws://localhost:4000/extension');
  assert.equal(browser.local.address, 'localhost:4000');
  assert.deepEqual(popup.posted.at(-1), {
    state: 'connecting',
    address: 'localhost:4000',
    attached: [],
  });
});

test('an address that is not on this machine is neither kept nor connected to, whoever sends it', async () => {
  const browser = new FakeBrowser();
  const socket = await startConnected(browser);
  const popup = await openPopup(browser);
  await wishFor(popup, { wish: 'setAddress', address: 'example.org:19222' });
  assert.deepEqual(
    [FakeSocket.all.length, socket.isClosed, browser.local.address],
    [1, false, undefined],
  );
});

test('the switch gives every tab back, tells the relay, and leaves it', async () => {
  const browser = withTabs(1);
  const socket = await startConnected(browser);
  await attach(socket, 1);
  const popup = await openPopup(browser);
  await wishFor(popup, { wish: 'setEnabled', enabled: false });
  assert.deepEqual([...browser.attached], []);
  assert.deepEqual(socket.messages, [detached(1, 'canceled_by_user')]);
  assert.ok(socket.isClosed);
  assert.equal(popup.posted.at(-1).state, 'stopped');
  assert.equal(badge(browser), 'off');
});

test('the switch connects again', async () => {
  const browser = new FakeBrowser();
  await startConnected(browser);
  const popup = await openPopup(browser);
  await wishFor(popup, { wish: 'setEnabled', enabled: false });
  await wishFor(popup, { wish: 'setEnabled', enabled: true });
  assert.equal(FakeSocket.all.length, 2);
  FakeSocket.last.opens();
  await turn();
  assert.equal(FakeSocket.last.messages[0].method, 'hello');
  assert.equal(popup.posted.at(-1).state, 'connected');
});
