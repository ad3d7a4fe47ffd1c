/** The rates of targets: those of clients, and how much the extension slows targets down. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { browserWithTabs, newWorker } from './worker.mjs';

const CHILD = '0F1E2D3C4B5A69788796A5B4C3D2E1F0';

async function start() {
  const browser = browserWithTabs(1, 2);
  return { browser, attachments: await newWorker(browser)('attachments.js') };
}

const setRate = (attachments, tabId, rate, child) =>
  attachments.sendCommand(tabId, 'Emulation.setCPUThrottlingRate', { rate }, child);

/** The rates that Chrome has received for a target, oldest first. */
const rates = (browser, tabId, sessionId) =>
  browser
    .callsTo('debugger.sendCommand')
    .filter(([target]) => target.tabId === tabId && target.sessionId === sessionId)
    .map(([, , { rate }]) => rate);

test("slows a target down in addition to a client's rate, which applies again afterwards", async () => {
  const { browser, attachments } = await start();
  await attachments.attach(1);
  await setRate(attachments, 1, 4);
  await attachments.slowDown({ tabId: 1 }, 8);
  await setRate(attachments, 1, 2);
  await attachments.slowDown({ tabId: 1 }, 1);
  assert.deepEqual(rates(browser, 1).slice(0, 4), [4, 32, 16, 2]);
  assert.equal(rates(browser, 1).at(-1), 2);
  await setRate(attachments, 1, 1);
  assert.equal(rates(browser, 1).at(-1), 1);
});

test('a client that leaves does not end the slowdown', async () => {
  const { browser, attachments } = await start();
  await attachments.attach(1);
  await setRate(attachments, 1, 4);
  await attachments.slowDown({ tabId: 1 }, 8);
  // The relay undoes the client's rate.
  await setRate(attachments, 1, 1);
  assert.deepEqual(rates(browser, 1), [4, 32, 8]);
});

test('leaves it to Chrome to refuse an invalid rate', async () => {
  const { browser, attachments } = await start();
  await attachments.attach(1);
  for (const rate of [0, '2', undefined]) {
    await setRate(attachments, 1, rate);
  }
  assert.deepEqual(rates(browser, 1), [0, '2', undefined]);
  await attachments.slowDown({ tabId: 1 }, 8);
  assert.equal(rates(browser, 1).at(-1), 8);
});

test('slows down one target of a tab, and no other tab', async () => {
  const { browser, attachments } = await start();
  await attachments.attach(1);
  await attachments.attach(2);
  await attachments.slowDown({ tabId: 1, childSessionId: CHILD }, 8);
  assert.deepEqual(rates(browser, 1, CHILD), [8]);
  assert.deepEqual([rates(browser, 1), rates(browser, 2)], [[], []]);
  assert.deepEqual(attachments.slowedTargets(), [[{ tabId: 1, childSessionId: CHILD }, 8]]);
  await attachments.slowDown({ tabId: 1, childSessionId: CHILD }, 1);
  assert.deepEqual(attachments.slowedTargets(), []);
});

test('repeats the rates of tabs that may share the process of one at full speed again', async () => {
  const { browser, attachments } = await start();
  await attachments.attach(1);
  await attachments.attach(2);
  await setRate(attachments, 2, 4);
  await attachments.slowDown({ tabId: 1 }, 8);
  await attachments.slowDown({ tabId: 1 }, 1);
  assert.deepEqual(
    [rates(browser, 1), rates(browser, 2)],
    [
      [8, 1],
      [4, 4],
    ],
  );
});

test('a detached tab starts at full speed, and nothing slows down one that is not attached', async () => {
  const { browser, attachments } = await start();
  await attachments.attach(1);
  await attachments.slowDown({ tabId: 1 }, 8);
  await attachments.detach(1);
  assert.deepEqual(attachments.slowedTargets(), []);
  browser.calls.length = 0;
  await attachments.slowDown({ tabId: 1 }, 16);
  assert.deepEqual(browser.callsTo('debugger.sendCommand'), []);
  await attachments.attach(1);
  await setRate(attachments, 1, 2);
  assert.deepEqual(rates(browser, 1), [2]);
});

test('remembers rates after a restart, its own and those of clients', async () => {
  const { browser, attachments } = await start();
  await attachments.attach(1);
  await setRate(attachments, 1, 4);
  await attachments.slowDown({ tabId: 1 }, 8);
  const restarted = await newWorker(browser)('attachments.js');
  await restarted.adopt();
  assert.deepEqual(restarted.slowedTargets(), [[{ tabId: 1, childSessionId: undefined }, 8]]);
  await restarted.slowDown({ tabId: 1 }, 1);
  assert.deepEqual(rates(browser, 1).slice(0, 3), [4, 32, 4]);
});

test('a rate that Chrome refuses changes nothing', async () => {
  const { browser, attachments } = await start();
  await attachments.attach(1);
  await setRate(attachments, 1, 2);
  browser.stub('debugger.sendCommand', () => {
    throw new Error('{"code":-32000,"message":"Internal error"}');
  });
  const child = { tabId: 1, childSessionId: CHILD };
  await assert.rejects(attachments.slowDown(child, 8), /Internal error/);
  await assert.rejects(attachments.slowDown({ tabId: 1 }, 8), /Internal error/);
  await assert.rejects(setRate(attachments, 1, 3), /Internal error/);
  assert.deepEqual(attachments.slowedTargets(), []);
  const restarted = await newWorker(browser)('attachments.js');
  await restarted.adopt();
  assert.deepEqual(restarted.slowedTargets(), []);
});

test('the higher rate of a tab that may share the process is repeated after each lower one', async () => {
  const { browser, attachments } = await start();
  await attachments.attach(1);
  await attachments.attach(2);
  await setRate(attachments, 2, 4);
  for (const rate of [8, 4, 2, 1]) {
    await attachments.slowDown({ tabId: 1 }, rate);
  }
  const sent = browser
    .callsTo('debugger.sendCommand')
    .map(([{ tabId }, , { rate }]) => [tabId, rate]);
  assert.deepEqual(sent, [
    [2, 4],
    [1, 8],
    [1, 4],
    [1, 2],
    [2, 4],
    [1, 1],
    [2, 4],
  ]);
});

test('forgets a child target whose session has ended, also after a restart', async () => {
  const { browser, attachments } = await start();
  attachments.watchDebugger({ onEvent() {}, onDetached() {} });
  await attachments.attach(1);
  await attachments.slowDown({ tabId: 1, childSessionId: CHILD }, 8);
  await setRate(attachments, 1, 2);
  browser.chrome.debugger.onEvent.fire({ tabId: 1 }, 'Target.detachedFromTarget', {
    sessionId: CHILD,
    targetId: 'T',
  });
  assert.deepEqual(attachments.slowedTargets(), []);
  const restarted = await newWorker(browser)('attachments.js');
  await restarted.adopt();
  assert.deepEqual(restarted.slowedTargets(), []);
  await restarted.slowDown({ tabId: 1 }, 8);
  assert.equal(rates(browser, 1).at(-1), 16, 'the page keeps its rate');
});
