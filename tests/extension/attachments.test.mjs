/** The tabs that have our debugger: attached once, remembered, adopted, and let go. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeBrowser, turn } from './fake_chrome.mjs';
import { startLife } from './life.mjs';

const CHILD = '0F1E2D3C4B5A69788796A5B4C3D2E1F0';

/** A browser with tabs 1, 2, 3 and 11, and a worker that has just started in it. */
async function start() {
  const browser = new FakeBrowser(
    ...[1, 2, 3, 11].map((id) => ({ id, url: `https://example.org/${id}` })),
  );
  return { browser, attachments: await startLife(browser)('attachments.js') };
}

/** The methods that a target was sent, oldest first. */
const sent = (browser, tabId, sessionId) =>
  browser
    .callsOf('debugger.sendCommand')
    .filter(([target]) => target.tabId === tabId && target.sessionId === sessionId)
    .map(([, method]) => method);

test('a tab is attached once, however many ask at the same time', async () => {
  const { browser, attachments } = await start();
  let finish;
  browser.answer('debugger.attach', () => new Promise((resolve) => (finish = resolve)));
  const asked = [attachments.attach(1), attachments.attach(1)];
  await turn();
  assert.equal(attachments.isAttached(1), false);
  finish();
  await Promise.all(asked);
  await attachments.attach(1);
  assert.deepEqual(browser.callsOf('debugger.attach'), [[{ tabId: 1 }, '1.3']]);
  assert.equal(attachments.isAttached(1), true);
});

test('an attach that fails tells everyone who waited, and the next one tries again', async () => {
  const { browser, attachments } = await start();
  browser.answer('debugger.attach', () => {
    throw new Error('Another debugger is already attached to the tab with id: 1.');
  });
  const outcomes = await Promise.allSettled([attachments.attach(1), attachments.attach(1)]);
  assert.deepEqual(
    outcomes.map(({ reason }) => reason?.message),
    Array(2).fill('Another debugger is already attached to the tab with id: 1.'),
  );
  assert.equal(attachments.isAttached(1), false);
  browser.answer('debugger.attach', () => {});
  await attachments.attach(1);
  assert.equal(attachments.isAttached(1), true);
  assert.equal(browser.callsOf('debugger.attach').length, 2);
});

test('detach takes the debugger off and says that it was there', async () => {
  const { browser, attachments } = await start();
  await attachments.attach(1);
  await attachments.attach(2);
  assert.equal(await attachments.detach(1), true);
  assert.deepEqual([...browser.attached], [2]);
  assert.deepEqual(attachments.attachedTabs(), [2]);
});

test('detach leaves a tab alone that has not our debugger', async () => {
  const { browser, attachments } = await start();
  browser.attached.add(1);
  assert.equal(await attachments.detach(1), false);
  assert.deepEqual(browser.callsOf('debugger.detach'), []);
});

test('detach does not mind that the tab has gone', async () => {
  const { browser, attachments } = await start();
  await attachments.attach(1);
  browser.closeTab(1);
  assert.equal(await attachments.detach(1), true);
  assert.deepEqual(attachments.attachedTabs(), []);
});

test('the next life of the worker adopts what is still attached, and attaches no second time', async () => {
  const { browser, attachments } = await start();
  await Promise.all([1, 2, 3].map(attachments.attach));
  await attachments.detach(3);
  // While no worker lived, the person cancelled one tab and opened developer tools on two others.
  browser.attached.delete(2);
  browser.attached.add(3).add(11);
  const next = await startLife(browser)('attachments.js');
  assert.deepEqual(next.attachedTabs(), []);
  await next.adopt();
  assert.deepEqual(next.attachedTabs(), [1]);
  const before = browser.callsOf('debugger.attach').length;
  await next.attach(1);
  assert.equal(browser.callsOf('debugger.attach').length, before);
});

test('a first life adopts nothing', async () => {
  const { browser, attachments } = await start();
  browser.attached.add(1);
  await attachments.adopt();
  assert.deepEqual(attachments.attachedTabs(), []);
});

test('a command goes to its tab or to the child it names, and its result comes back', async () => {
  const { browser, attachments } = await start();
  await attachments.attach(1);
  browser.answer('debugger.sendCommand', (target, method) => ({ target, method }));
  assert.deepEqual(await attachments.sendCommand(1, 'DOM.enable', { a: 1 }), {
    target: { tabId: 1 },
    method: 'DOM.enable',
  });
  await attachments.sendCommand(1, 'DOM.enable', {}, CHILD);
  assert.deepEqual(browser.callsOf('debugger.sendCommand'), [
    [{ tabId: 1 }, 'DOM.enable', { a: 1 }],
    [{ tabId: 1, sessionId: CHILD }, 'DOM.enable', {}],
  ]);
});

test('Runtime that is on is switched off first, so that Chrome tells its contexts again', async () => {
  const { browser, attachments } = await start();
  await attachments.attach(1);
  await attachments.sendCommand(1, 'Runtime.enable', {});
  assert.deepEqual(sent(browser, 1), ['Runtime.enable']);
  await attachments.sendCommand(1, 'Runtime.enable', {});
  assert.deepEqual(sent(browser, 1), ['Runtime.enable', 'Runtime.disable', 'Runtime.enable']);
});

test('Runtime that was switched off is only switched on', async () => {
  const { browser, attachments } = await start();
  await attachments.attach(1);
  await attachments.sendCommand(1, 'Runtime.enable', {});
  await attachments.sendCommand(1, 'Runtime.disable', {});
  await attachments.sendCommand(1, 'Runtime.enable', {});
  assert.deepEqual(sent(browser, 1), ['Runtime.enable', 'Runtime.disable', 'Runtime.enable']);
});

test('Runtime of a tab, of its child and of another tab are three things', async () => {
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

test('the next life still knows where Runtime is on, below a tab too', async () => {
  const { browser, attachments } = await start();
  await Promise.all([1, 2, 3].map(attachments.attach));
  for (const tabId of [1, 2, 3]) {
    await attachments.sendCommand(tabId, 'Runtime.enable', {});
  }
  await attachments.sendCommand(1, 'Runtime.enable', {}, CHILD);
  await attachments.sendCommand(2, 'Runtime.disable', {});
  // The person cancelled this one while no worker lived.
  browser.attached.delete(3);
  const next = await startLife(browser)('attachments.js');
  await next.adopt();
  await next.attach(3);
  browser.calls.length = 0;
  for (const tabId of [1, 2, 3]) {
    await next.sendCommand(tabId, 'Runtime.enable', {});
  }
  await next.sendCommand(1, 'Runtime.enable', {}, CHILD);
  assert.deepEqual(sent(browser, 1), ['Runtime.disable', 'Runtime.enable']);
  assert.deepEqual(sent(browser, 1, CHILD), ['Runtime.disable', 'Runtime.enable']);
  assert.deepEqual([sent(browser, 2), sent(browser, 3)], [['Runtime.enable'], ['Runtime.enable']]);
});

test('a tab that is forgotten takes its children along, and no other tab', async () => {
  const { browser, attachments } = await start();
  await attachments.attach(1);
  await attachments.attach(11);
  for (const tabId of [1, 11]) {
    await attachments.sendCommand(tabId, 'Runtime.enable', {});
    await attachments.sendCommand(tabId, 'Runtime.enable', {}, CHILD);
  }
  assert.equal(attachments.forget(1), true);
  assert.equal(attachments.forget(1), false);
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

test('a page that a client resized has its own size again before the debugger leaves it', async () => {
  const { browser, attachments } = await start();
  await attachments.attach(1);
  let looks = 0;
  browser.answer('debugger.sendCommand', (_, method) =>
    method === 'Page.getLayoutMetrics' ? { width: ++looks < 4 ? 400 : 780 } : {},
  );
  await attachments.sendCommand(1, 'Emulation.setDeviceMetricsOverride', { width: 400 });
  const detached = attachments.detach(1);
  const again = attachments.attach(1);
  await detached;
  assert.equal(looks, 4, 'waits until the page has another size');
  assert.ok(sent(browser, 1).includes('Emulation.clearDeviceMetricsOverride'));
  await again;
  assert.equal(attachments.isAttached(1), true, 'who asked meanwhile has it again afterwards');
  assert.equal(browser.callsOf('debugger.attach').length, 2);
});

test('a page that does not answer keeps the debugger for a moment only', async () => {
  const { browser, attachments } = await start();
  await attachments.attach(1);
  await attachments.sendCommand(1, 'Emulation.setDeviceMetricsOverride', { width: 400 });
  browser.answer('debugger.sendCommand', () => new Promise(() => {}));
  assert.equal(await attachments.detach(1), true);
  assert.deepEqual([...browser.attached], []);
});
