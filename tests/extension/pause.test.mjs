/** The user stops all agents, and lets them go on. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '../harness/processes.mjs';
import { FakeBrowser, settle } from './fake_chrome.mjs';
import { FakeSocket } from './fake_socket.mjs';
import {
  acceptSocket,
  attachTabs,
  badgeText,
  browserWithTabs,
  call,
  openPopup,
  startConnected,
  startWorker,
} from './worker.mjs';

const STOPPED = 'The person stopped this. Ask them before you go on.';

async function send(popup, type) {
  popup.onMessage.fire({ type });
  await settle();
}

test('pausing notifies the relay, then detaches every tab, and shows it', async () => {
  const browser = browserWithTabs(1, 2);
  const socket = await startConnected(browser);
  await attachTabs(socket, 1, 2);
  const popup = await openPopup(browser);
  browser.stub('debugger.detach', ({ tabId }) => {
    assert.deepEqual(socket.messages, [{ method: 'pause' }]);
    browser.attached.delete(tabId);
  });
  await send(popup, 'pause');
  assert.deepEqual(socket.messages, [{ method: 'pause' }]);
  assert.deepEqual([...browser.attached], []);
  assert.equal(popup.posted.at(-1).isPaused, true);
  assert.equal(await badgeText(browser), 'II');
  await send(popup, 'pause');
  assert.equal(socket.messages.length, 1, 'the relay knows it already');
});

test('while paused, everything that does something in the browser fails, and nothing else', async () => {
  const browser = browserWithTabs(1);
  const socket = await startConnected(browser);
  await attachTabs(socket, 1);
  await send(await openPopup(browser), 'pause');
  browser.calls.length = 0;
  const acting = {
    attachTab: { tabId: 1 },
    createTab: { url: 'https://example.org/' },
    closeTab: { tabId: 1 },
    activateTab: { tabId: 1 },
    cdpCommand: { tabId: 1, method: 'Page.reload' },
    browserCommand: { method: 'Storage.getCookies' },
  };
  for (const [method, params] of Object.entries(acting)) {
    await call(socket, 9, method, params);
    assert.deepEqual(socket.messages.at(-1), { id: 9, error: STOPPED }, method);
  }
  assert.deepEqual(browser.calls, []);
  for (const method of ['listTabs', 'detachTab', 'watchDownloads', 'setPermissions']) {
    await call(socket, 9, method, { tabId: 1, enabled: false, rules: [] });
    assert.equal('error' in socket.messages.at(-1), false, method);
  }
});

test('while paused, permissions are taken back but not granted', async () => {
  const browser = browserWithTabs(1);
  const socket = await startConnected(browser);
  const rule = (host) => ({ type: 'camera', pattern: `https://${host}/*`, setting: 'allow' });
  const [first, second, third] = ['a.com', 'b.com', 'c.com'].map(rule);
  await call(socket, 8, 'setPermissions', { rules: [first, second] });
  await send(await openPopup(browser), 'pause');
  await call(socket, 9, 'setPermissions', { rules: [first, second, third] });
  assert.deepEqual(socket.messages.at(-1), { id: 9, error: STOPPED });
  const hosts = () => browser.contentSettings.map(([, pattern]) => pattern).sort();
  assert.deepEqual(hosts(), ['https://a.com/*', 'https://b.com/*']);
  await call(socket, 10, 'setPermissions', { rules: [second] });
  assert.equal('error' in socket.messages.at(-1), false);
  assert.deepEqual(hosts(), ['https://b.com/*']);
});

for (const [method, params, remaining] of [
  ['attachTab', { tabId: 1 }, [1]],
  ['createTab', { url: 'https://example.org/' }, [1]],
]) {
  test(`${method} that is in flight leaves no debugger and no tab behind`, async () => {
    const browser = browserWithTabs(1);
    const socket = await startConnected(browser);
    let finish;
    browser.stub('debugger.attach', async ({ tabId }) => {
      await new Promise((resolve) => (finish = resolve));
      browser.attached.add(tabId);
    });
    const popup = await openPopup(browser);
    await call(socket, 9, method, params);
    await send(popup, 'pause');
    finish();
    await settle();
    assert.deepEqual([...browser.attached], []);
    assert.deepEqual([...browser.tabs.keys()], remaining);
    assert.deepEqual(socket.messages.at(-1), { id: 9, error: STOPPED });
  });
}

test('a tab that is created but not yet reported when the user pauses is closed again', async () => {
  const browser = browserWithTabs(1);
  const socket = await startConnected(browser);
  const popup = await openPopup(browser);
  let finish;
  browser.stub('debugger.getTargets', async () => {
    await new Promise((resolve) => (finish = resolve));
    return [];
  });
  await call(socket, 9, 'createTab', { url: 'https://example.org/', attach: false });
  await send(popup, 'pause');
  finish();
  await settle();
  assert.deepEqual([...browser.tabs.keys()], [1]);
  assert.deepEqual(socket.messages.at(-1), { id: 9, error: STOPPED });
});

test('resuming attaches nothing by itself, and the relay can attach again', async () => {
  const browser = browserWithTabs(1);
  const socket = await startConnected(browser);
  await attachTabs(socket, 1);
  const popup = await openPopup(browser);
  await send(popup, 'pause');
  await send(popup, 'resume');
  assert.deepEqual(socket.messages, [{ method: 'pause' }, { method: 'resume' }]);
  assert.deepEqual([...browser.attached], []);
  assert.equal(popup.posted.at(-1).isPaused, false);
  await attachTabs(socket, 1);
  assert.deepEqual([...browser.attached], [1]);
});

test('a pause outlives the service worker and the browser', async () => {
  const browser = browserWithTabs(1);
  await startConnected(browser);
  await send(await openPopup(browser), 'pause');
  for (const restart of [() => {}, () => (browser.session = {})]) {
    restart();
    const socket = await startConnected(browser);
    await call(socket, 1, 'listTabs');
    assert.equal(socket.messages.at(-1).result.paused, true);
    await call(socket, 2, 'attachTab', { tabId: 1 });
    assert.equal(socket.messages.at(-1).error, STOPPED);
  }
  await send(await openPopup(browser), 'resume');
  const socket = await startConnected(browser);
  await call(socket, 1, 'listTabs');
  assert.equal('paused' in socket.messages.at(-1).result, false);
});

test('Cancel that starts the service worker pauses agents before a relay is connected', async () => {
  const browser = new FakeBrowser({ id: 1, url: 'https://example.org/' });
  browser.attached.add(1);
  browser.session.attachedTabs = [1];
  let read;
  const stored = new Promise((resolve) => (read = resolve));
  browser.stub('storage.local.get', async () => {
    await stored;
    return {};
  });
  await startWorker(browser);
  browser.attached.clear();
  browser.chrome.debugger.onDetach.fire({ tabId: 1 }, 'canceled_by_user');
  read();
  await settle();
  await acceptSocket();
  await call(FakeSocket.last, 1, 'listTabs');
  assert.equal(FakeSocket.last.messages.at(-1).result.paused, true);
});

test('the relay learns of a Cancel before the errors of the commands in flight', async () => {
  const browser = browserWithTabs(1);
  const socket = await startConnected(browser);
  await attachTabs(socket, 1);
  let fail;
  browser.stub('debugger.sendCommand', () => new Promise((_, reject) => (fail = reject)));
  await call(socket, 9, 'cdpCommand', { tabId: 1, method: 'Runtime.evaluate' });
  fail(new Error('Detached while handling command.'));
  await settle();
  browser.chrome.debugger.onDetach.fire({ tabId: 1 }, 'canceled_by_user');
  await until('the error is sent', async () => socket.messages.some(({ id }) => id === 9));
  const isBefore = (message) => message.method === 'pause' || message.id === 9;
  assert.deepEqual(
    socket.messages.filter(isBefore).map(({ method, id }) => method ?? id),
    ['pause', 9],
  );
});

test('the user can pause without a relay', async () => {
  const browser = browserWithTabs(1);
  browser.listener = 'none';
  await startWorker(browser);
  const popup = await openPopup(browser);
  await send(popup, 'pause');
  assert.equal(popup.posted.at(-1).isPaused, true);
  assert.equal(browser.local.paused, true);
});
