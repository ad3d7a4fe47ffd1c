/**
 * What the popup and the welcome page receive and what their messages do, in a whole service worker
 * with a fake browser.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeBrowser, settle } from './fake_chrome.mjs';
import { FakeSocket } from './fake_socket.mjs';
import { SECRET } from '../harness/handshake.mjs';
import {
  acceptSocket,
  attachTabs,
  badgeText,
  browserWithTabs,
  openPopup,
  sendChallenge,
  startConnected,
  startWorker,
  tabDetached,
} from './worker.mjs';

async function send(popup, message) {
  popup.onMessage.fire(message);
  await settle();
}

test('the popup receives the status when it opens and when it changes, until it closes', async () => {
  const browser = browserWithTabs(1, 2);
  const socket = await startConnected(browser);
  const popup = await openPopup(browser);
  const status = {
    state: 'connected',
    address: '127.0.0.1:19222',
    version: '0.1.0',
    name: 'chrome',
    agents: [],
    attached: [],
    isPaused: false,
  };
  assert.deepEqual(popup.posted.at(-1), status);
  await attachTabs(socket, 1);
  assert.deepEqual(popup.posted.at(-1), { ...status, attached: [1] });
  popup.onDisconnect.fire();
  const before = popup.posted.length;
  await attachTabs(socket, 2);
  assert.equal(popup.posted.length, before);
});

test('closePort asks the relay to close the open port, which it shows until the relay has', async () => {
  const browser = browserWithTabs(1);
  const socket = await startConnected(browser);
  const popup = await openPopup(browser);
  const openPort = { port: 9222, until: 1_795_012_320_000 };
  socket.receive({ method: 'status', params: { name: 'chrome', clients: [], openPort } });
  await settle();
  assert.deepEqual(popup.posted.at(-1).openPort, openPort);
  await send(popup, { type: 'closePort' });
  assert.deepEqual(socket.messages, [{ method: 'closePort' }]);
  assert.deepEqual(popup.posted.at(-1).openPort, openPort);
  socket.receive({ method: 'status', params: { name: 'chrome', clients: [] } });
  await settle();
  assert.equal('openPort' in popup.posted.at(-1), false);
});

test('releaseTab detaches only that tab, and notifies the relay', async () => {
  const browser = browserWithTabs(1, 2);
  const socket = await startConnected(browser);
  await attachTabs(socket, 1, 2);
  const popup = await openPopup(browser);
  await send(popup, { type: 'releaseTab', tabId: 1 });
  assert.deepEqual([...browser.attached], [2]);
  assert.deepEqual(socket.messages, [tabDetached(1, 'canceled_by_user')]);
  assert.deepEqual(popup.posted.at(-1).attached, [2]);
  await send(popup, { type: 'releaseTab', tabId: 1 });
  assert.equal(socket.messages.length, 1);
});

test('setAddress saves the address and connects to it', async () => {
  const browser = new FakeBrowser();
  const socket = await startConnected(browser);
  const popup = await openPopup(browser);
  await send(popup, { type: 'setAddress', address: 'localhost:4000' });
  assert.ok(socket.isClosed);
  assert.equal(FakeSocket.last.url, 'ws://127.0.0.1:4000/extension');
  assert.equal(browser.local.address, '127.0.0.1:4000');
  assert.deepEqual(popup.posted.at(-1), {
    state: 'connecting',
    address: '127.0.0.1:4000',
    agents: [],
    attached: [],
    isPaused: false,
  });
});

test('setAddress rejects an address on another machine', async () => {
  const browser = new FakeBrowser();
  const socket = await startConnected(browser);
  const popup = await openPopup(browser);
  await send(popup, { type: 'setAddress', address: 'example.org:19222' });
  assert.deepEqual(
    [FakeSocket.all.length, socket.isClosed, browser.local.address],
    [1, false, undefined],
  );
});

test('turning off detaches every tab, notifies the relay and disconnects', async () => {
  const browser = browserWithTabs(1);
  const socket = await startConnected(browser);
  await attachTabs(socket, 1);
  const popup = await openPopup(browser);
  await send(popup, { type: 'setEnabled', enabled: false });
  assert.deepEqual([...browser.attached], []);
  assert.deepEqual(socket.messages, [tabDetached(1, 'the person has turned Tabwire off')]);
  assert.ok(socket.isClosed);
  assert.equal(popup.posted.at(-1).state, 'stopped');
  assert.equal(await badgeText(browser), 'off');
});

test('turning on connects again', async () => {
  const browser = new FakeBrowser();
  await startConnected(browser);
  const popup = await openPopup(browser);
  await send(popup, { type: 'setEnabled', enabled: false });
  await send(popup, { type: 'setEnabled', enabled: true });
  assert.equal(FakeSocket.all.length, 2);
  await acceptSocket();
  assert.deepEqual(
    FakeSocket.last.messages.map(({ method }) => method),
    ['hello', 'browser'],
  );
  assert.equal(popup.posted.at(-1).state, 'connected');
});

// ---- pairing and taking over ----

test('setPairingCode saves the code and connects with it', async () => {
  const browser = new FakeBrowser();
  browser.pairingFile.secret = '';
  browser.local.address = '127.0.0.1:4000';
  await startWorker(browser);
  const popup = await openPopup(browser);
  assert.equal(popup.posted.at(-1).state, 'notPaired');
  assert.deepEqual(FakeSocket.all, []);
  await send(popup, { type: 'setPairingCode', code: ` tabwire:5000:${SECRET}\n` });
  assert.equal(FakeSocket.last.url, 'ws://127.0.0.1:5000/extension');
  await acceptSocket();
  assert.equal(popup.posted.at(-1).state, 'connected');
  assert.deepEqual(browser.local.pairing, { port: 5000, secret: SECRET });
});

test('setPairingCode ignores what is not a code', async () => {
  const browser = new FakeBrowser();
  const socket = await startConnected(browser);
  const popup = await openPopup(browser);
  await send(popup, { type: 'setPairingCode', code: 'tabwire:5000:short' });
  assert.deepEqual([socket.isClosed, browser.local.pairing], [false, undefined]);
});

test('takeOver asks for the place of another browser once', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const browser = new FakeBrowser();
  const socket = await startConnected(browser);
  const popup = await openPopup(browser);
  socket.drop(4409);
  await settle();
  assert.equal(popup.posted.at(-1).state, 'replaced');
  await send(popup, { type: 'takeOver' });
  await acceptSocket();
  FakeSocket.last.drop(4409);
  await settle();
  t.mock.timers.tick(1_000);
  await settle();
  await sendChallenge(FakeSocket.last);
  assert.deepEqual(
    FakeSocket.all.slice(1).map(({ messages }) => messages[0].params.takeOver),
    [true, false],
  );
});

test('says whether a pairing that is rejected was accepted before', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const browser = new FakeBrowser();
  for (const wasAccepted of [undefined, true]) {
    await startWorker(browser);
    const popup = await openPopup(browser);
    await sendChallenge(FakeSocket.last);
    FakeSocket.last.drop(4401);
    await settle();
    const { state, ...status } = popup.posted.at(-1);
    assert.deepEqual([state, status.wasAccepted], ['rejected', wasAccepted]);
    t.mock.timers.tick(1_000);
    await settle();
    await acceptSocket();
  }
});

// ---- watching ----

test('opening the popup retries at once', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const browser = new FakeBrowser();
  browser.listener = 'none';
  await startWorker(browser);
  browser.listener = 'answers';
  const popup = await openPopup(browser);
  await acceptSocket();
  assert.equal(popup.posted.at(-1).state, 'connected');
});

test('retries more often until the last page that watches is closed', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  t.mock.method(Math, 'random', () => 1);
  const browser = new FakeBrowser();
  browser.listener = 'none';
  await startWorker(browser);
  const pages = [await openPopup(browser), await openPopup(browser)];
  const probes = () => browser.callsTo('fetch').filter(([url]) => url.startsWith('http:')).length;
  /** Whether there is a retry within two seconds, once the delays no longer grow. */
  const retriesSoon = async () => {
    for (let i = 0; i < 6; i += 1) {
      t.mock.timers.tick(4_000);
      await settle();
    }
    const before = probes();
    t.mock.timers.tick(2_000);
    await settle();
    return probes() > before;
  };
  assert.equal(await retriesSoon(), true);
  pages[0].onDisconnect.fire();
  assert.equal(await retriesSoon(), true);
  pages[1].onDisconnect.fire();
  assert.equal(await retriesSoon(), false);
});
