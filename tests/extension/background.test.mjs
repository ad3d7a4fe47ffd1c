/**
 * The whole service worker with a fake browser and a fake relay: how it starts, and what the
 * toolbar button shows.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeBrowser, settle } from './fake_chrome.mjs';
import { FakeSocket } from './fake_socket.mjs';
import {
  attachTabs,
  badgeText,
  BADGE_DELAY_MS,
  browserWithTabs,
  call,
  newWorker,
  startConnected,
  startWorker,
} from './worker.mjs';

test('registers every listener before awaiting anything', async () => {
  const browser = new FakeBrowser();
  browser.stub('storage.session.get', () => new Promise(() => {}));
  browser.stub('storage.local.get', () => new Promise(() => {}));
  await newWorker(browser)('background.js');
  const {
    debugger: { onEvent, onDetach },
    tabs,
    alarms,
    runtime,
    webNavigation: { getAllFrames: _, ...navigation },
  } = browser.chrome;
  const events = {
    onEvent,
    onDetach,
    onCreated: tabs.onCreated,
    onUpdated: tabs.onUpdated,
    onZoomChange: tabs.onZoomChange,
    onRemoved: tabs.onRemoved,
    onReplaced: tabs.onReplaced,
    ...navigation,
    onAlarm: alarms.onAlarm,
    onConnect: runtime.onConnect,
    onStartup: runtime.onStartup,
    onInstalled: runtime.onInstalled,
  };
  for (const [name, event] of Object.entries(events)) {
    assert.ok(event.hasListeners, name);
  }
});

test('looks for a listening relay first, unless the relay has launched the browser', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const probes = (browser) => browser.callsTo('fetch').filter(([url]) => url.startsWith('http:'));
  for (const launched of [false, true]) {
    const browser = new FakeBrowser();
    browser.pairingFile.launched = launched;
    await startWorker(browser);
    assert.equal(probes(browser).length, launched ? 0 : 1);
    assert.equal(FakeSocket.all.length, 1);
    // By the next attempt, that relay may be gone.
    FakeSocket.last.drop();
    await settle();
    t.mock.timers.tick(1_000);
    await settle();
    assert.equal(probes(browser).length, launched ? 1 : 2);
  }
});

test('connects once to the relay it was installed for', async () => {
  const browser = new FakeBrowser();
  browser.pairingFile.port = 4321;
  await startWorker(browser);
  browser.chrome.runtime.onInstalled.fire({});
  browser.chrome.runtime.onStartup.fire();
  await settle();
  assert.deepEqual(
    FakeSocket.all.map(({ url }) => url),
    ['ws://127.0.0.1:4321/extension'],
  );
});

test('does not connect while turned off, even after a restart', async () => {
  const browser = new FakeBrowser();
  browser.local.enabled = false;
  await startWorker(browser);
  browser.chrome.runtime.onStartup.fire();
  await settle();
  assert.deepEqual(FakeSocket.all, []);
  assert.equal(await badgeText(browser), 'off');
});

test('reconnects on its own alarm', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const browser = new FakeBrowser();
  await startConnected(browser);
  FakeSocket.last.drop();
  const [[name, seconds]] = browser.alarms;
  assert.equal(seconds, 30);
  browser.chrome.alarms.onAlarm.fire({ name: 'another' });
  await settle();
  assert.equal(FakeSocket.all.length, 1);
  browser.chrome.alarms.onAlarm.fire({ name });
  await settle();
  assert.equal(FakeSocket.all.length, 2);
});

const statusWith = (...clients) => ({ method: 'status', params: { clients } });

test('an alarm goes off every few seconds while agents are connected or tabs attached', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const browser = browserWithTabs(1);
  const socket = await startConnected(browser);
  const shortest = () => Math.min(...browser.alarms.values());
  // It may be in use: the relay has not reported.
  assert.equal(shortest(), 3);
  t.mock.timers.tick(10_000);
  assert.equal(shortest(), 30);
  socket.receive(statusWith({ name: 'agent', tabs: [] }));
  assert.equal(shortest(), 3);
  await attachTabs(socket, 1);
  socket.receive(statusWith());
  t.mock.timers.tick(10_000);
  assert.equal(shortest(), 3);
  await call(socket, 9, 'detachTab', { tabId: 1 });
  t.mock.timers.tick(9_999);
  assert.equal(shortest(), 3);
  t.mock.timers.tick(1);
  assert.equal(shortest(), 30);
});

test('keeps the alarm if it is in use again soon', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const browser = browserWithTabs(1);
  const socket = await startConnected(browser);
  await attachTabs(socket, 1);
  await call(socket, 9, 'detachTab', { tabId: 1 });
  await attachTabs(socket, 1);
  t.mock.timers.tick(20_000);
  assert.equal(Math.min(...browser.alarms.values()), 3);
});

test('an alarm changes nothing while connected', async () => {
  const browser = new FakeBrowser();
  await startConnected(browser);
  const { length } = browser.calls;
  for (const name of browser.alarms.keys()) {
    browser.chrome.alarms.onAlarm.fire({ name });
  }
  await settle();
  assert.equal(browser.calls.length, length);
});

test('lists tabs attached before a restart as attached', async () => {
  const browser = browserWithTabs(1, 2);
  await attachTabs(await startConnected(browser), 2);
  const socket = await startConnected(browser);
  await call(socket, 1, 'listTabs');
  assert.deepEqual(
    socket.messages[0].result.tabs.map(({ tabId, attached }) => [tabId, attached]),
    [
      [1, false],
      [2, true],
    ],
  );
  assert.equal(await badgeText(browser), '1');
});

test('keeps the number of tabs in use on the button up to date', async () => {
  const browser = browserWithTabs(1, 2);
  const socket = await startConnected(browser);
  assert.equal(await badgeText(browser), 'on');
  await attachTabs(socket, 1);
  assert.equal(await badgeText(browser), '1');
  await attachTabs(socket, 2);
  assert.equal(await badgeText(browser), '2');
  await call(socket, 9, 'detachTab', { tabId: 1 });
  assert.equal(await badgeText(browser), '1');
  browser.chrome.debugger.onDetach.fire({ tabId: 2 }, 'target_closed');
  assert.equal(await badgeText(browser), 'on');
});

test('the icon has colors only while connected', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const browser = new FakeBrowser();
  const socket = await startConnected(browser);
  const icon = () => {
    t.mock.timers.tick(BADGE_DELAY_MS);
    return browser.callsTo('action.setIcon').at(-1)[0].path[16];
  };
  assert.equal(icon(), '/icon-16.png');
  socket.drop();
  await settle();
  assert.equal(icon(), '/icon-grey-16.png');
});

// ---- the welcome page ----

const openedUrls = (browser) => browser.callsTo('tabs.create').map(([{ url }]) => url);

test('opens the welcome page when it is installed, and only then', async () => {
  const browser = new FakeBrowser();
  await startWorker(browser);
  for (const reason of ['update', 'chrome_update', 'install']) {
    assert.deepEqual(openedUrls(browser), []);
    browser.chrome.runtime.onInstalled.fire({ reason });
    await settle();
  }
  assert.deepEqual(openedUrls(browser), ['chrome-extension://tabwire/welcome.html']);
});

test('opens no welcome page if pairing.json says so', async () => {
  const browser = new FakeBrowser();
  browser.pairingFile.welcome = false;
  await startWorker(browser);
  browser.chrome.runtime.onInstalled.fire({ reason: 'install' });
  await settle();
  assert.deepEqual(openedUrls(browser), []);
});
