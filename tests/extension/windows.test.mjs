/** Windows: where they are, moving them, and opening new ones. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeBrowser } from './fake_chrome.mjs';
import { newWorker } from './worker.mjs';

const PLACE = { left: 1, top: 2, width: 300, height: 400 };

async function start(state = 'normal') {
  const browser = new FakeBrowser({ id: 1, url: 'https://example.org/', windowId: 7 });
  browser.windows.set(7, { ...PLACE, state, focused: true });
  const load = newWorker(browser);
  const { runCommand } = await load('commands.js');
  const { watchTabs } = await load('tab_events.js');
  watchTabs(() => {});
  const run = (method, params, tabId) =>
    runCommand('browserCommand', { method: `Browser.${method}`, params, tabId });
  return { browser, run, runCommand };
}

const coded = (code, message) => (error) => {
  assert.deepEqual(JSON.parse(error.message), { code, message });
  return true;
};

test('reports the window of a tab without touching the tab', async () => {
  const { browser, run } = await start('maximized');
  const bounds = { ...PLACE, windowState: 'maximized' };
  assert.deepEqual(await run('getWindowForTarget', {}, 1), { windowId: 7, bounds });
  assert.deepEqual(await run('getWindowBounds', { windowId: 7 }), { bounds });
  assert.deepEqual([...browser.attached], []);
  assert.deepEqual(browser.callsTo('windows.update'), []);
});

test('an unknown window is an error, in the words of Chrome', async () => {
  const { run } = await start();
  const isNotFound = coded(-32000, 'Browser window not found');
  await assert.rejects(run('getWindowBounds', { windowId: 8 }), isNotFound);
  await assert.rejects(run('setWindowBounds', { windowId: 8, bounds: {} }), isNotFound);
});

test("the user's current window has no id of its own", async () => {
  const { browser, run } = await start();
  // As Chrome does it, whose `chrome.windows` takes this number for the current window.
  browser.windows.set(-2, browser.windows.get(7));
  const isNotFound = coded(-32000, 'Browser window not found');
  const bounds = { windowState: 'minimized' };
  await assert.rejects(run('getWindowBounds', { windowId: -2 }), isNotFound);
  await assert.rejects(run('setWindowBounds', { windowId: -2, bounds }), isNotFound);
  assert.deepEqual(browser.callsTo('windows.update'), []);
});

test('moves, resizes and changes the state', async () => {
  const { browser, run } = await start();
  await run('setWindowBounds', { windowId: 7, bounds: { width: 500 } });
  await run('setWindowBounds', { windowId: 7, bounds: { windowState: 'minimized' } });
  assert.deepEqual(browser.callsTo('windows.update'), [
    [7, { width: 500 }],
    [7, { state: 'minimized' }],
  ]);
});

test('rejects changes of state that Chrome rejects', async () => {
  for (const [from, to, message] of [
    [
      'minimized',
      'fullscreen',
      'To make minimized window fullscreen, restore it to normal state first.',
    ],
    ...['minimized', 'fullscreen'].map((state) => [
      state,
      'maximized',
      'To maximize a minimized or fullscreen window, restore it to normal state first.',
    ]),
  ]) {
    const { browser, run } = await start(from);
    const params = { windowId: 7, bounds: { windowState: to } };
    await assert.rejects(run('setWindowBounds', params), coded(-32000, message));
    assert.deepEqual(browser.callsTo('windows.update'), []);
  }
});

test('a new window takes the focus only if the client asks for it', async () => {
  const { browser, runCommand } = await start();
  await runCommand('createTab', { newWindow: true });
  await runCommand('createTab', { newWindow: true, active: true });
  assert.deepEqual(
    browser.callsTo('windows.create').map(([{ focused }]) => focused),
    [false, true],
  );
});

test('a new window gets its state after it was created, without the focus', async () => {
  const { browser, runCommand } = await start();
  const window = { ...PLACE, windowState: 'maximized' };
  await runCommand('createTab', { newWindow: true, window });
  assert.deepEqual(browser.callsTo('windows.create'), [[{ url: 'about:blank', focused: false }]]);
  assert.deepEqual(browser.callsTo('windows.update'), [[2, { state: 'maximized' }]]);
});
