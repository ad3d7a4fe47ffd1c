/**
 * Attaching, detaching and commands. Every test that restarts the worker expects it to keep its
 * attachments.
 */

import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { settle } from './fake_chrome.mjs';
import { browserWithTabs, newWorker } from './worker.mjs';

const CHILD = '0F1E2D3C4B5A69788796A5B4C3D2E1F0';

/** A browser with tabs 1, 2, 3 and 11, and a worker that has just started in it. */
async function start() {
  const browser = browserWithTabs(1, 2, 3, 11);
  return { browser, attachments: await newWorker(browser)('attachments.js') };
}

/** The methods sent to a target, oldest first. */
const sent = (browser, tabId, sessionId) =>
  browser
    .callsTo('debugger.sendCommand')
    .filter(([target]) => target.tabId === tabId && target.sessionId === sessionId)
    .map(([, method]) => method);

// ---- attach and detach ----

test('concurrent attaches attach once', async () => {
  const { browser, attachments } = await start();
  let finish;
  browser.stub('debugger.attach', () => new Promise((resolve) => (finish = resolve)));
  const attaches = [attachments.attach(1), attachments.attach(1)];
  await settle();
  assert.equal(attachments.isAttached(1), false);
  finish();
  await Promise.all(attaches);
  await attachments.attach(1);
  assert.deepEqual(browser.callsTo('debugger.attach'), [[{ tabId: 1 }, '1.3']]);
  assert.equal(attachments.isAttached(1), true);
});

test('a failed attach rejects every waiting call, and the next call retries', async () => {
  const { browser, attachments } = await start();
  browser.stub('debugger.attach', () => {
    throw new Error('Another debugger is already attached to the tab with id: 1.');
  });
  const outcomes = await Promise.allSettled([attachments.attach(1), attachments.attach(1)]);
  assert.deepEqual(
    outcomes.map(({ reason }) => reason?.message),
    Array(2).fill('Another debugger is already attached to the tab with id: 1.'),
  );
  assert.equal(attachments.isAttached(1), false);
  browser.stub('debugger.attach', () => {});
  await attachments.attach(1);
  assert.equal(attachments.isAttached(1), true);
  assert.equal(browser.callsTo('debugger.attach').length, 2);
});

test('detaches only the given tab and returns true', async () => {
  const { browser, attachments } = await start();
  await attachments.attach(1);
  await attachments.attach(2);
  assert.equal(await attachments.detach(1), true);
  assert.deepEqual([...browser.attached], [2]);
  assert.deepEqual(attachments.attachedTabs(), [2]);
});

test('does not detach a tab that it did not attach', async () => {
  const { browser, attachments } = await start();
  browser.attached.add(1);
  assert.equal(await attachments.detach(1), false);
  assert.deepEqual(browser.callsTo('debugger.detach'), []);
});

test('detaching a closed tab succeeds', async () => {
  const { browser, attachments } = await start();
  await attachments.attach(1);
  browser.closeTab(1);
  assert.equal(await attachments.detach(1), true);
  assert.deepEqual(attachments.attachedTabs(), []);
});

test('a debugger that Chrome refuses to detach is detached when the tab has left the page', async () => {
  const { browser, attachments } = await start();
  await attachments.attach(1);
  browser.stub('debugger.detach', () => {
    throw new Error('Cannot access contents of url "view-source:https://example.org/1".');
  });
  await attachments.detach(1);
  assert.deepEqual(attachments.attachedTabs(), [], 'no agent uses it');
  assert.deepEqual(browser.session.attachedTabs, [1], 'but a restarted worker finds it');
  browser.stub('debugger.detach', undefined);
  await attachments.releaseStuck(2);
  assert.deepEqual([...browser.attached], [1]);
  await attachments.releaseStuck(1);
  assert.deepEqual([...browser.attached], []);
  assert.deepEqual(browser.session.attachedTabs, []);
});

test('attaching first detaches a debugger that Chrome had refused to detach', async () => {
  const { browser, attachments } = await start();
  await attachments.attach(1);
  browser.stub('debugger.detach', () => {
    throw new Error('Cannot access contents of url "view-source:https://example.org/1".');
  });
  await attachments.detach(1);
  browser.stub('debugger.detach', undefined);
  await attachments.attach(1);
  assert.equal(attachments.isAttached(1), true);
  assert.equal(browser.callsTo('debugger.detach').length, 2);
});

// ---- restarts ----

test('adopts tabs that are still attached after a restart, without attaching again', async () => {
  const { browser, attachments } = await start();
  await Promise.all([1, 2, 3].map(attachments.attach));
  await attachments.detach(3);
  // While the worker was stopped, the user cancelled debugging of one tab and opened DevTools on
  // two others.
  browser.attached.delete(2);
  browser.attached.add(3).add(11);
  const restarted = await newWorker(browser)('attachments.js');
  assert.deepEqual(restarted.attachedTabs(), []);
  await restarted.adopt();
  assert.deepEqual(restarted.attachedTabs(), [1]);
  const before = browser.callsTo('debugger.attach').length;
  await restarted.attach(1);
  assert.equal(browser.callsTo('debugger.attach').length, before);
});

test('adopts nothing on the first start', async () => {
  const { browser, attachments } = await start();
  browser.attached.add(1);
  await attachments.adopt();
  assert.deepEqual(attachments.attachedTabs(), []);
});

// ---- commands ----

test('sends a command to the tab or to the given child, and returns the result', async () => {
  const { browser, attachments } = await start();
  await attachments.attach(1);
  browser.stub('debugger.sendCommand', (target, method) => ({ target, method }));
  assert.deepEqual(await attachments.sendCommand(1, 'DOM.enable', { a: 1 }), {
    target: { tabId: 1 },
    method: 'DOM.enable',
  });
  await attachments.sendCommand(1, 'DOM.enable', {}, CHILD);
  assert.deepEqual(browser.callsTo('debugger.sendCommand'), [
    [{ tabId: 1 }, 'DOM.enable', { a: 1 }],
    [{ tabId: 1, sessionId: CHILD }, 'DOM.enable', {}],
  ]);
});

test('enabling Runtime twice disables it in between, so that Chrome reports contexts again', async () => {
  const { browser, attachments } = await start();
  await attachments.attach(1);
  await attachments.sendCommand(1, 'Runtime.enable', {});
  assert.deepEqual(sent(browser, 1), ['Runtime.enable']);
  await attachments.sendCommand(1, 'Runtime.enable', {});
  assert.deepEqual(sent(browser, 1), ['Runtime.enable', 'Runtime.disable', 'Runtime.enable']);
});

test('enabling Runtime after a client disabled it only enables it', async () => {
  const { browser, attachments } = await start();
  await attachments.attach(1);
  await attachments.sendCommand(1, 'Runtime.enable', {});
  await attachments.sendCommand(1, 'Runtime.disable', {});
  await attachments.sendCommand(1, 'Runtime.enable', {});
  assert.deepEqual(sent(browser, 1), ['Runtime.enable', 'Runtime.disable', 'Runtime.enable']);
});

test('tracks Runtime separately for a tab, its child and another tab', async () => {
  const { browser, attachments } = await start();
  await attachments.attach(1);
  await attachments.attach(11);
  await attachments.sendCommand(1, 'Runtime.enable', {});
  await attachments.sendCommand(1, 'Runtime.enable', {}, CHILD);
  await attachments.sendCommand(11, 'Runtime.enable', {});
  await attachments.sendCommand(1, 'Runtime.enable', {}, CHILD);
  assert.deepEqual(sent(browser, 1), ['Runtime.enable']);
  assert.deepEqual(sent(browser, 1, CHILD), [
    'Runtime.enable',
    'Runtime.disable',
    'Runtime.enable',
  ]);
  assert.deepEqual(sent(browser, 11), ['Runtime.enable']);
});

test('remembers after a restart where Runtime is enabled, in children too', async () => {
  const { browser, attachments } = await start();
  await Promise.all([1, 2, 3].map(attachments.attach));
  for (const tabId of [1, 2, 3]) {
    await attachments.sendCommand(tabId, 'Runtime.enable', {});
  }
  await attachments.sendCommand(1, 'Runtime.enable', {}, CHILD);
  await attachments.sendCommand(2, 'Runtime.disable', {});
  // The user cancelled debugging of this tab while the worker was stopped.
  browser.attached.delete(3);
  const restarted = await newWorker(browser)('attachments.js');
  await restarted.adopt();
  await restarted.attach(3);
  browser.calls.length = 0;
  for (const tabId of [1, 2, 3]) {
    await restarted.sendCommand(tabId, 'Runtime.enable', {});
  }
  await restarted.sendCommand(1, 'Runtime.enable', {}, CHILD);
  assert.deepEqual(sent(browser, 1), ['Runtime.disable', 'Runtime.enable']);
  assert.deepEqual(sent(browser, 1, CHILD), ['Runtime.disable', 'Runtime.enable']);
  assert.deepEqual([sent(browser, 2), sent(browser, 3)], [['Runtime.enable'], ['Runtime.enable']]);
});

// ---- detached by Chrome ----

test('when Chrome detaches a tab, forgets its children too, and no other tab', async () => {
  const { browser, attachments } = await start();
  attachments.watchDebugger({ onEvent() {}, onDetached() {} });
  await attachments.attach(1);
  await attachments.attach(11);
  for (const tabId of [1, 11]) {
    await attachments.sendCommand(tabId, 'Runtime.enable', {});
    await attachments.sendCommand(tabId, 'Runtime.enable', {}, CHILD);
  }
  browser.attached.delete(1);
  browser.chrome.debugger.onDetach.fire({ tabId: 1 }, 'target_closed');
  assert.deepEqual(attachments.attachedTabs(), [11]);
  assert.equal(await attachments.detach(1), false);
  await attachments.attach(1);
  browser.calls.length = 0;
  for (const tabId of [1, 11]) {
    await attachments.sendCommand(tabId, 'Runtime.enable', {});
    await attachments.sendCommand(tabId, 'Runtime.enable', {}, CHILD);
  }
  assert.deepEqual(
    [sent(browser, 1), sent(browser, 1, CHILD)],
    [['Runtime.enable'], ['Runtime.enable']],
  );
  const offAndOn = ['Runtime.disable', 'Runtime.enable'];
  assert.deepEqual([sent(browser, 11), sent(browser, 11, CHILD)], [offAndOn, offAndOn]);
});

test('does not detach a tab that Chrome detaches first', async () => {
  const { browser, attachments } = await start();
  attachments.watchDebugger({ onEvent() {}, onDetached() {} });
  await attachments.attach(1);
  const detached = attachments.detach(1);
  browser.chrome.debugger.onDetach.fire({ tabId: 1 }, 'target_closed');
  await detached;
  assert.deepEqual(browser.callsTo('debugger.detach'), []);
});

// ---- page size ----

test('restores the size of a resized page before detaching; a new attach waits', async () => {
  const { browser, attachments } = await start();
  await attachments.attach(1);
  let reads = 0;
  browser.stub('debugger.sendCommand', (_, method) =>
    method === 'Page.getLayoutMetrics' ? { width: ++reads < 4 ? 400 : 780 } : {},
  );
  await attachments.sendCommand(1, 'Emulation.setDeviceMetricsOverride', { width: 400 });
  const detached = attachments.detach(1);
  const attachedAgain = attachments.attach(1);
  await detached;
  assert.equal(reads, 4, 'waits until the size has changed');
  assert.ok(sent(browser, 1).includes('Emulation.clearDeviceMetricsOverride'));
  await attachedAgain;
  assert.equal(attachments.isAttached(1), true);
  assert.equal(browser.callsTo('debugger.attach').length, 2);
});

test('detaches after a timeout if the page does not respond', async (context) => {
  const { browser, attachments } = await start();
  await attachments.attach(1);
  await attachments.sendCommand(1, 'Emulation.setDeviceMetricsOverride', { width: 400 });
  browser.stub('debugger.sendCommand', () => new Promise(() => {}));
  mock.timers.enable({ apis: ['setTimeout'] });
  context.after(() => mock.timers.reset());
  const detached = attachments.detach(1);
  await settle();
  assert.deepEqual([...browser.attached], [1]);
  mock.timers.tick(2_000);
  assert.equal(await detached, true);
  assert.deepEqual([...browser.attached], []);
});

// ---- the order of commands ----

const SET_SIZE = 'Emulation.setDeviceMetricsOverride';
const CLEAR_SIZE = 'Emulation.clearDeviceMetricsOverride';
const isOfSize = (method) => [SET_SIZE, CLEAR_SIZE].includes(method);

test('a change of the page’s size is sent at once', async () => {
  const { browser, attachments } = await start();
  await attachments.attach(1);
  attachments.sendCommand(1, CLEAR_SIZE, {});
  attachments.sendCommand(1, SET_SIZE, { width: 400 });
  assert.deepEqual(sent(browser, 1), [CLEAR_SIZE, SET_SIZE]);
});

test('changes of the size wait for a screenshot in their order, and hold up nothing else', async () => {
  const { browser, attachments } = await start();
  await attachments.attach(1);
  let finish;
  browser.stub('debugger.sendCommand', (_target, method) =>
    method === 'Page.captureScreenshot'
      ? new Promise((resolve) => (finish = resolve))
      : { done: method },
  );
  attachments.sendCommand(1, 'Page.captureScreenshot', {});
  const replies = [CLEAR_SIZE, SET_SIZE, CLEAR_SIZE, SET_SIZE].map((method) =>
    attachments.sendCommand(1, method, {}),
  );
  attachments.sendCommand(1, 'Page.reload', {});
  await settle();
  assert.deepEqual(sent(browser, 1).filter(isOfSize), []);
  assert.equal(sent(browser, 1).at(-1), 'Page.reload');
  finish({});
  assert.deepEqual(
    await Promise.all(replies),
    [CLEAR_SIZE, SET_SIZE, CLEAR_SIZE, SET_SIZE].map((done) => ({ done })),
  );
  assert.deepEqual(sent(browser, 1).filter(isOfSize), [CLEAR_SIZE, SET_SIZE, CLEAR_SIZE, SET_SIZE]);
  attachments.sendCommand(1, CLEAR_SIZE, {});
  assert.equal(sent(browser, 1).at(-1), CLEAR_SIZE, 'nothing is left to wait for');
});

test('a screenshot that gets no frame is taken before the size is restored', async (context) => {
  const { browser, attachments } = await start();
  await attachments.attach(1);
  const override = { width: 800, height: 600 };
  let finish;
  let size = override.width;
  browser.stub('debugger.sendCommand', (_target, method, params) => {
    if (method === 'Page.captureScreenshot') {
      return new Promise((resolve) => (finish = resolve));
    }
    if (method === SET_SIZE && params.height !== override.height) {
      finish({}); // The page draws a frame.
    }
    size = method === CLEAR_SIZE ? 780 : size;
    return method === 'Page.getLayoutMetrics' ? { size } : {};
  });
  attachments.sendCommand(1, SET_SIZE, override);
  attachments.sendCommand(1, 'Page.captureScreenshot', {});
  mock.timers.enable({ apis: ['setTimeout'] });
  context.after(() => mock.timers.reset());
  const cleared = attachments.sendCommand(1, CLEAR_SIZE, {});
  const detached = attachments.detach(1);
  await settle();
  assert.deepEqual(sent(browser, 1).filter(isOfSize), [SET_SIZE], 'the screenshot has some time');
  mock.timers.tick(1_000);
  await cleared;
  const sizes = browser
    .callsTo('debugger.sendCommand')
    .filter(([, method]) => isOfSize(method))
    .map(([, method, params]) => (method === SET_SIZE ? params.height : CLEAR_SIZE));
  assert.deepEqual(sizes.slice(0, 4), [600, 601, 600, CLEAR_SIZE]);
  mock.timers.tick(2_000);
  assert.equal(await detached, true);
});
