/** What the user looks at stays in front, whatever agents click. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeBrowser, settle } from './fake_chrome.mjs';
import { newWorker } from './worker.mjs';

const USER = 7;
const OTHER = 8;
const NO_WINDOW = -1;

/**
 * A browser in which the user looks at tab 1 in the window `USER`. An agent uses tab 2 in the
 * background of the same window, and tab 3, which is visible in the window `OTHER`.
 */
async function start(t) {
  t.mock.timers.enable({ apis: ['Date'], now: 1_000_000 });
  const browser = new FakeBrowser(
    { id: 1, url: 'https://example.org/1', windowId: USER, active: true },
    { id: 2, url: 'https://example.org/2', windowId: USER, active: false },
    { id: 3, url: 'https://example.org/3', windowId: OTHER, active: true },
    { id: 4, url: 'https://example.org/4', windowId: OTHER, active: false },
  );
  browser.windows.set(USER, { focused: true });
  browser.windows.set(OTHER, { focused: false });
  browser.stub('tabs.query', () => [...browser.tabs.values()].filter(({ active }) => active));
  const load = newWorker(browser);
  const { runCommand } = await load('commands.js');
  const { watchTabs } = await load('tab_events.js');
  const { watchFocus } = await load('focus_guard.js');
  watchTabs(() => {});
  watchFocus();
  await runCommand('attachTab', { tabId: 2 });
  await runCommand('attachTab', { tabId: 3 });
  await settle();
  const activate = (tabId, windowId) => browser.chrome.tabs.onActivated.fire({ tabId, windowId });
  const focus = async (windowId) => {
    browser.chrome.windows.onFocusChanged.fire(windowId);
    await settle();
  };
  return {
    browser,
    activate,
    focus,
    /** Chrome shows a tab that the page in `source` opens. */
    open: async ({ id, source, windowId, focuses }) => {
      browser.addTab({ id, windowId, active: true });
      browser.windows.set(windowId, browser.windows.get(windowId) ?? {});
      activate(id, windowId);
      const details = { tabId: id, sourceTabId: source, url: 'https://example.org/' };
      browser.chrome.webNavigation.onCreatedNavigationTarget.fire(details);
      if (focuses) {
        focus(windowId);
      }
      await settle();
    },
    click: (tabId) =>
      runCommand('cdpCommand', {
        tabId,
        method: 'Input.dispatchMouseEvent',
        params: { type: 'mousePressed' },
      }),
    pass: (ms) => t.mock.timers.tick(ms),
    shown: () => browser.callsTo('tabs.update').map(([tabId]) => tabId),
    focused: () => browser.callsTo('windows.update').map(([windowId]) => windowId),
  };
}

test('a tab opened from the background does not replace the visible one', async (t) => {
  const { browser, open, shown, focused } = await start(t);
  await open({ id: 20, source: 2, windowId: USER });
  assert.deepEqual(browser.callsTo('tabs.update'), [[1, { active: true }]]);
  assert.deepEqual(focused(), []);
  assert.deepEqual(shown(), [1]);
});

test('several tabs opened at once do not, either', async (t) => {
  const { browser, open, shown } = await start(t);
  browser.stub('tabs.update', () => new Promise(() => {}));
  await open({ id: 20, source: 2, windowId: USER });
  await open({ id: 21, source: 2, windowId: USER });
  assert.deepEqual(shown(), [1, 1]);
});

test('what the user has chosen in the meantime stays visible', async (t) => {
  const { activate, open, shown } = await start(t);
  await open({ id: 20, source: 2, windowId: USER });
  activate(1, USER);
  activate(20, USER);
  await open({ id: 21, source: 2, windowId: USER });
  assert.deepEqual(shown(), [1, 20]);
});

test('a tab opened by the visible page comes to the front', async (t) => {
  const { activate, open, shown, focused } = await start(t);
  activate(2, USER);
  await open({ id: 20, source: 2, windowId: USER });
  await open({ id: 30, source: 3, windowId: OTHER });
  assert.deepEqual(shown(), []);
  assert.deepEqual(focused(), []);
});

test('a page that no agent uses is left alone', async (t) => {
  const { open, shown, focused } = await start(t);
  await open({ id: 20, source: 4, windowId: USER, focuses: true });
  assert.deepEqual([shown(), focused()], [[], []]);
});

test('a new window from the background does not keep the focus', async (t) => {
  const { browser, open, focused } = await start(t);
  await open({ id: 20, source: 2, windowId: 9, focuses: true });
  assert.deepEqual(browser.callsTo('windows.update'), [[USER, { focused: true }]]);
  await open({ id: 21, source: 3, windowId: 10, focuses: true });
  assert.deepEqual(focused(), [USER, USER]);
});

test('a new window of the visible page keeps the focus', async (t) => {
  const { activate, browser, open, focused } = await start(t);
  activate(2, USER);
  browser.tabs.get(2).active = true;
  await open({ id: 20, source: 2, windowId: 9, focuses: true });
  assert.deepEqual(focused(), []);
});

test('the focus that comes later is taken back once', async (t) => {
  const { open, focus, pass, focused } = await start(t);
  await open({ id: 30, source: 3, windowId: OTHER });
  pass(50);
  await focus(NO_WINDOW);
  await focus(OTHER);
  assert.deepEqual(focused(), [USER]);
  await focus(USER);
  pass(10);
  await focus(OTHER);
  assert.deepEqual(focused(), [USER], 'this was the user');
});

test('a click in another window does not take the focus', async (t) => {
  const { click, focus, pass, focused } = await start(t);
  await click(3);
  await focus(OTHER);
  assert.deepEqual(focused(), [USER]);
  await click(3);
  await settle();
  pass(150);
  await focus(OTHER);
  assert.deepEqual(focused(), [USER], 'the user has gone there');
  await click(3);
  await focus(OTHER);
  assert.deepEqual(focused(), [USER], 'and is there now');
});

test('a click that waits for a dialog does not keep the user from answering it', async (t) => {
  const { browser, click, focus, pass, focused } = await start(t);
  browser.stub('debugger.sendCommand', () => new Promise(() => {}));
  click(3);
  await settle();
  pass(600);
  await focus(OTHER);
  assert.deepEqual(focused(), []);
});

test('nothing is focused while the user is in another program', async (t) => {
  const { open, focus, pass, focused } = await start(t);
  await focus(NO_WINDOW);
  pass(1_000);
  await open({ id: 20, source: 2, windowId: 9, focuses: true });
  assert.deepEqual(focused(), []);
});

test('after a window took the focus from another program, the next one does not keep it', async (t) => {
  const { open, focus, pass, focused } = await start(t);
  await focus(NO_WINDOW);
  pass(1_000);
  await open({ id: 20, source: 2, windowId: 9 });
  await focus(9);
  assert.deepEqual(focused(), [], 'the other program cannot be focused');
  pass(1_000);
  await open({ id: 21, source: 2, windowId: 10 });
  await focus(10);
  assert.deepEqual(focused(), [9]);
});

test('a user who clicks in a window without focus stays there', async (t) => {
  const { open, focus, pass, shown, focused } = await start(t);
  await focus(OTHER);
  pass(20);
  await open({ id: 30, source: 3, windowId: OTHER });
  assert.deepEqual([shown(), focused()], [[], []]);
});

test('a window that the user has minimized is not shown again', async (t) => {
  const { browser, open, focused } = await start(t);
  browser.windows.set(USER, { state: 'minimized' });
  await open({ id: 20, source: 2, windowId: 9, focuses: true });
  assert.deepEqual(focused(), []);
  await open({ id: 21, source: 2, windowId: 10, focuses: true });
  assert.deepEqual(focused(), [9], 'the window in front stays there');
});

test('a window that is closed is forgotten', async (t) => {
  const { browser, activate, open, shown } = await start(t);
  activate(1, USER);
  browser.chrome.windows.onRemoved.fire(USER);
  await open({ id: 20, source: 2, windowId: USER });
  assert.deepEqual(shown(), [], 'what was visible in it is not shown again');
});
