/** Which target is slowed down when the worker falls behind, how much, and how long. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { settle } from './fake_chrome.mjs';
import { browserWithTabs, newWorker } from './worker.mjs';

const CHILD = '0F1E2D3C4B5A69788796A5B4C3D2E1F0';

/** A worker with three attached tabs, and a clock that advances by `lag` whenever Chrome answers a check. */
async function start(t, { browser = browserWithTabs(1, 2, 3), adopts = false } = {}) {
  t.mock.timers.enable({ apis: ['Date', 'setInterval'] });
  const clock = { lag: 0 };
  browser.stub('runtime.getPlatformInfo', () => t.mock.timers.tick(clock.lag));
  const load = newWorker(browser);
  const attachments = await load('attachments.js');
  const { countEvent, reportThrottlingTo, resumeEpisodes } = await load('back_pressure.js');
  const reports = [];
  reportThrottlingTo((method, params) => reports.push([method, params.tabId, params.rate]));
  if (adopts) {
    await attachments.adopt();
    resumeEpisodes();
  } else {
    await Promise.all([1, 2, 3].map(attachments.attach));
  }
  return {
    browser,
    attachments,
    clock,
    reports,
    /** Events arrive, as many as given by tab, and the worker is this far behind. */
    async receive(lag, events, childSessionId) {
      clock.lag = lag;
      for (const [tabId, count] of Object.entries(events)) {
        for (let n = 0; n < count; n += 1) {
          countEvent(Number(tabId), childSessionId);
        }
      }
      await settle();
      clock.lag = 0;
    },
    /** No event arrives. */
    async pass(seconds) {
      for (let n = 0; n < seconds * 4; n += 1) {
        t.mock.timers.tick(250);
        await settle();
      }
    },
  };
}

/** What was sent to Chrome: `[tabId, rate]`, oldest first. */
const rates = (browser) =>
  browser
    .callsTo('debugger.sendCommand')
    .filter(([, method]) => method === 'Emulation.setCPUThrottlingRate')
    .map(([{ tabId }, , { rate }]) => [tabId, rate]);

/** The worker is behind for the second time: the first check only shows when it began. */
async function flood(worker, events = { 1: 500, 2: 100 }, childSessionId = undefined) {
  await worker.receive(300, events, childSessionId);
  await worker.receive(300, events, childSessionId);
}

test('slows down the tab with the most events, and reports it once', async (t) => {
  const worker = await start(t);
  await flood(worker);
  assert.deepEqual(rates(worker.browser), [[1, 8]]);
  await worker.receive(3, { 1: 300 });
  assert.deepEqual(worker.reports, [['tabThrottled', 1, 8]]);
});

test('does not slow down a tab that is fast enough', async (t) => {
  const worker = await start(t);
  for (let n = 0; n < 10; n += 1) {
    await worker.receive(15, { 1: 300 });
  }
  assert.deepEqual(rates(worker.browser), []);
});

test('a short burst is no flood', async (t) => {
  const worker = await start(t);
  for (let n = 0; n < 10; n += 1) {
    await worker.receive(400, { 1: 2_000 });
    await worker.receive(1, { 1: 200 });
  }
  assert.deepEqual(rates(worker.browser), []);
});

test('a short burst long after another is no flood', async (t) => {
  const worker = await start(t);
  for (let n = 0; n < 3; n += 1) {
    await worker.receive(100, { 1: 500 });
    await worker.receive(100, { 1: 500 });
    await worker.pass(300);
  }
  assert.deepEqual(rates(worker.browser), []);
  await flood(worker);
  assert.deepEqual(rates(worker.browser), [[1, 8]]);
});

test('does not blame a tab with few events for a slow computer', async (t) => {
  const worker = await start(t);
  for (let n = 0; n < 10; n += 1) {
    await worker.receive(2_000, { 1: 201 });
  }
  assert.deepEqual(rates(worker.browser), []);
});

test('slows down further while the worker stays behind', async (t) => {
  const worker = await start(t);
  await flood(worker);
  for (let n = 0; n < 6; n += 1) {
    await worker.receive(100, { 1: 500 });
  }
  assert.deepEqual(
    rates(worker.browser),
    [8, 16, 32, 64].map((rate) => [1, rate]),
  );
});

test('a second noisy tab is slowed down when the first no longer is the noisiest', async (t) => {
  const worker = await start(t);
  await flood(worker, { 1: 900, 2: 800 });
  assert.deepEqual(rates(worker.browser), [[1, 8]]);
  await worker.receive(300, { 1: 200, 2: 800 });
  assert.deepEqual(rates(worker.browser), [
    [1, 8],
    [2, 8],
  ]);
  assert.deepEqual(worker.reports, [
    ['tabThrottled', 1, 8],
    ['tabThrottled', 2, 8],
  ]);
});

test('slows down the child target that the events come from', async (t) => {
  const worker = await start(t);
  await flood(worker, { 1: 500 }, CHILD);
  const target = { tabId: 1, sessionId: CHILD };
  assert.deepEqual(worker.browser.callsTo('debugger.sendCommand')[0][0], target);
});

test('speeds up step by step, ends the episode after a while at full speed, and reports that', async (t) => {
  const worker = await start(t);
  await flood(worker);
  for (let n = 0; n < 50; n += 1) {
    await worker.receive(4, { 1: 300 });
    await worker.pass(0.25);
  }
  assert.deepEqual(
    rates(worker.browser),
    [8, 4, 2, 1].map((rate) => [1, rate]),
  );
  await worker.pass(11);
  assert.deepEqual(worker.reports.at(-1), ['tabThrottled', 1, 1]);
  assert.equal(worker.reports.length, 2);
});

test('a tab that has become quiet is at full speed at once', async (t) => {
  const worker = await start(t);
  await flood(worker);
  await worker.pass(1.5);
  assert.deepEqual(rates(worker.browser), [
    [1, 8],
    [1, 1],
  ]);
  await worker.pass(11);
  assert.deepEqual(worker.reports, [
    ['tabThrottled', 1, 8],
    ['tabThrottled', 1, 1],
  ]);
});

test('does not speed up a tab that would send too much, but tries it ever more rarely', async (t) => {
  const worker = await start(t);
  await flood(worker);
  const waits = [];
  for (let trial = 0; trial < 6; trial += 1) {
    const before = rates(worker.browser).length;
    let quarters = 0;
    while (rates(worker.browser).length === before) {
      await worker.receive(1, { 1: 600 });
      await worker.pass(0.25);
      quarters += 1;
    }
    waits.push(Math.round(quarters / 40) * 10);
    await worker.receive(100, { 1: 500 });
    await worker.pass(0.25);
  }
  assert.deepEqual(waits, [60, 120, 240, 480, 600, 600]);
  assert.deepEqual(
    rates(worker.browser).slice(0, 4),
    [8, 4, 8, 4].map((rate) => [1, rate]),
  );
});

test('slows down no other target for one that cannot be slowed down', async (t) => {
  const worker = await start(t);
  worker.browser.stub('debugger.sendCommand', ({ tabId }) => {
    if (tabId === 1) throw new Error('{"code":-32000,"message":"Only for pages"}');
  });
  await flood(worker, { 1: 900, 2: 500 }, CHILD);
  await worker.receive(300, { 1: 900, 2: 500 }, CHILD);
  assert.deepEqual(rates(worker.browser), [[1, 8]]);
  await worker.receive(300, { 1: 500, 2: 900 }, CHILD);
  assert.deepEqual(rates(worker.browser), [
    [1, 8],
    [2, 8],
  ]);
  assert.deepEqual(worker.reports, [['tabThrottled', 2, 8]]);
});

test('keeps a worker busy, for which Chrome has no throttling, until it is quiet', async (t) => {
  const worker = await start(t);
  t.mock.timers.reset();
  t.mock.timers.enable({ apis: ['Date', 'setInterval', 'setTimeout'] });
  worker.browser.stub('debugger.sendCommand', (_target, method) => {
    if (method === 'Emulation.setCPUThrottlingRate') {
      throw new Error(
        '{"code":-32000,"message":"Operation is only supported for page, not worker"}',
      );
    }
  });
  const held = () =>
    worker.browser
      .callsTo('debugger.sendCommand')
      .filter(([, method]) => method === 'Runtime.evaluate');
  await flood(worker, { 1: 500 }, CHILD);
  assert.deepEqual(worker.reports, [['tabThrottled', 1, 8]]);
  t.mock.timers.tick(0);
  const [target, , { timeout }] = held()[0];
  assert.deepEqual([target, timeout], [{ tabId: 1, sessionId: CHILD }, 70]);
  for (let n = 0; n < 10; n += 1) {
    t.mock.timers.tick(80);
    await settle();
  }
  assert.ok(held().length >= 10, String(held().length));
  await worker.pass(2);
  const before = held().length;
  await worker.pass(11);
  assert.deepEqual(worker.reports.at(-1), ['tabThrottled', 1, 1]);
  assert.equal(held().length, before);
});

test('a tab that is detached or attached again is not slowed down any more', async (t) => {
  const worker = await start(t);
  await flood(worker);
  await worker.attachments.detach(1);
  await worker.attachments.attach(1);
  await worker.pass(0.5);
  assert.deepEqual(rates(worker.browser), [[1, 8]]);
  assert.deepEqual(worker.reports.at(-1), ['tabThrottled', 1, 1]);
});

test('a restarted worker ends what it had begun', async (t) => {
  const { browser, ...worker } = await start(t);
  await flood(worker);
  t.mock.timers.reset();
  const restarted = await start(t, { browser, adopts: true });
  await restarted.pass(12);
  assert.deepEqual(rates(browser), [
    [1, 8],
    [1, 1],
  ]);
  assert.deepEqual(restarted.reports, [['tabThrottled', 1, 1]]);
});
