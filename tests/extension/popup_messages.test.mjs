/**
 * What the popup receives and what its messages do, in a whole service worker with a fake browser.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeBrowser, FakePort, settle } from './fake_chrome.mjs';
import { FakeSocket } from './fake_socket.mjs';
import { attachTabs, badgeText, browserWithTabs, startConnected, tabDetached } from './worker.mjs';

async function openPopup(browser) {
  const popup = new FakePort();
  browser.chrome.runtime.onConnect.fire(popup);
  await settle();
  return popup;
}

async function send(popup, message) {
  popup.onMessage.fire(message);
  await settle();
}

test('the popup receives the status when it opens and when it changes, until it closes', async () => {
  const browser = browserWithTabs(1, 2);
  const socket = await startConnected(browser);
  const popup = await openPopup(browser);
  const status = { state: 'connected', address: '127.0.0.1:19222', attached: [] };
  assert.deepEqual(popup.posted.at(-1), status);
  await attachTabs(socket, 1);
  assert.deepEqual(popup.posted.at(-1), { ...status, attached: [1] });
  popup.onDisconnect.fire();
  const before = popup.posted.length;
  await attachTabs(socket, 2);
  assert.equal(popup.posted.length, before);
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

test('releaseAllTabs detaches every tab', async () => {
  const browser = browserWithTabs(1, 2, 3);
  const socket = await startConnected(browser);
  await attachTabs(socket, 1, 2);
  const popup = await openPopup(browser);
  await send(popup, { type: 'releaseAllTabs' });
  assert.deepEqual([...browser.attached], []);
  assert.deepEqual(socket.messages, [
    tabDetached(1, 'canceled_by_user'),
    tabDetached(2, 'canceled_by_user'),
  ]);
  assert.equal(popup.posted.at(-1).state, 'connected');
});

test('setAddress saves the address and connects to it', async () => {
  const browser = new FakeBrowser();
  const socket = await startConnected(browser);
  const popup = await openPopup(browser);
  await send(popup, { type: 'setAddress', address: 'localhost:4000' });
  assert.ok(socket.isClosed);
  assert.equal(FakeSocket.last.url, 'ws://localhost:4000/extension');
  assert.equal(browser.local.address, 'localhost:4000');
  assert.deepEqual(popup.posted.at(-1), {
    state: 'connecting',
    address: 'localhost:4000',
    attached: [],
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
  assert.deepEqual(socket.messages, [tabDetached(1, 'canceled_by_user')]);
  assert.ok(socket.isClosed);
  assert.equal(popup.posted.at(-1).state, 'stopped');
  assert.equal(badgeText(browser), 'off');
});

test('turning on connects again', async () => {
  const browser = new FakeBrowser();
  await startConnected(browser);
  const popup = await openPopup(browser);
  await send(popup, { type: 'setEnabled', enabled: false });
  await send(popup, { type: 'setEnabled', enabled: true });
  assert.equal(FakeSocket.all.length, 2);
  FakeSocket.last.accept();
  await settle();
  assert.equal(FakeSocket.last.messages[0].method, 'hello');
  assert.equal(popup.posted.at(-1).state, 'connected');
});
