/** Frames in background tabs: drawn while a command waits for them, and no longer. */

import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { FramePump } from '../../extension/frames.js';
import { settle } from './fake_chrome.mjs';
import { browserWithTabs, newWorker } from './worker.mjs';

/** A worker attached to tab 1. The test controls the clock and replies to commands. */
async function start(context) {
  const browser = browserWithTabs(1);
  const attachments = await newWorker(browser)('attachments.js');
  attachments.watchDebugger({ onEvent() {}, onDetached() {} });
  await attachments.attach(1);
  const pending = [];
  const sent = () => browser.callsTo('debugger.sendCommand').map(([, method]) => method);
  const screencast = /^Page\.(start|stop)Screencast$/;
  browser.stub('debugger.sendCommand', (_, method) =>
    screencast.test(method) ? {} : new Promise((resolve) => pending.push(() => resolve({}))),
  );
  mock.timers.enable({ apis: ['setTimeout'] });
  context.after(() => mock.timers.reset());
  return {
    send: (method) => {
      attachments.sendCommand(1, method, {});
    },
    /** Replies to the oldest command. */
    async reply() {
      pending.shift()();
      await settle();
    },
    tick: (ms) => mock.timers.tick(ms),
    detach: () => browser.chrome.debugger.onDetach.fire({ tabId: 1 }, 'target_closed'),
    setFocusEmulation: attachments.setFocusEmulation,
    sent,
    screencasts: () => sent().filter((method) => screencast.test(method)),
  };
}

test('runs no screencast for a command with a quick reply', async (context) => {
  const tab = await start(context);
  tab.send('Runtime.callFunctionOn');
  tab.tick(20);
  await tab.reply();
  tab.tick(5_000);
  assert.deepEqual(tab.screencasts(), []);
});

test('runs a screencast while a slow command has no reply, and a moment longer', async (context) => {
  const tab = await start(context);
  tab.send('Runtime.callFunctionOn');
  tab.send('Input.dispatchMouseEvent');
  tab.tick(30);
  assert.deepEqual(tab.screencasts(), ['Page.startScreencast']);
  await tab.reply();
  tab.tick(5_000);
  assert.deepEqual(tab.screencasts(), ['Page.startScreencast'], 'the other command is in flight');
  await tab.reply();
  assert.deepEqual(tab.screencasts(), ['Page.startScreencast']);
  tab.tick(5_000);
  assert.deepEqual(tab.screencasts(), ['Page.startScreencast', 'Page.stopScreencast']);
});

test('runs a screencast immediately for a screenshot, and none for a navigation', async (context) => {
  const tab = await start(context);
  tab.send('Page.navigate');
  tab.tick(5_000);
  assert.deepEqual(tab.screencasts(), []);
  tab.send('Page.captureScreenshot');
  assert.deepEqual(tab.screencasts(), ['Page.startScreencast']);
});

for (const isAllowed of [true, false]) {
  test(`${isAllowed ? 'turns on' : 'leaves out'} focus emulation for a screenshot, as the relay wants`, async (context) => {
    const tab = await start(context);
    tab.setFocusEmulation(isAllowed);
    tab.send('Page.captureScreenshot');
    assert.deepEqual(tab.screencasts(), ['Page.startScreencast']);
    assert.equal(tab.sent().includes('Emulation.setFocusEmulationEnabled'), isAllowed);
  });
}

test("uses a client's screencast, and starts its own when the client stops", async (context) => {
  const tab = await start(context);
  tab.send('Page.startScreencast');
  tab.send('Runtime.evaluate');
  tab.tick(30);
  assert.deepEqual(tab.screencasts(), ['Page.startScreencast'], "the client's own");
  tab.send('Page.stopScreencast');
  assert.deepEqual(tab.screencasts(), [
    'Page.startScreencast',
    'Page.stopScreencast',
    'Page.startScreencast',
  ]);
  await tab.reply();
  tab.tick(5_000);
  assert.deepEqual(tab.screencasts().slice(3), ['Page.stopScreencast']);
});

test("a client's screencast replaces one that runs, which Chrome would refuse otherwise", async (context) => {
  const tab = await start(context);
  tab.send('Runtime.evaluate');
  tab.tick(30);
  const replaced = ['Page.stopScreencast', 'Page.startScreencast'];
  tab.send('Page.startScreencast');
  assert.deepEqual(tab.screencasts(), ['Page.startScreencast', ...replaced]);
  tab.send('Page.startScreencast');
  assert.deepEqual(tab.screencasts(), ['Page.startScreencast', ...replaced, ...replaced]);
  await tab.reply();
  tab.tick(5_000);
  assert.equal(tab.screencasts().at(-1), 'Page.startScreencast', "the client's own goes on");
});

test('sends nothing to a tab after it is detached', async (context) => {
  const tab = await start(context);
  tab.send('Runtime.evaluate');
  tab.tick(30);
  tab.detach();
  await tab.reply();
  tab.tick(5_000);
  assert.deepEqual(tab.screencasts(), ['Page.startScreencast']);
});

test('a size that a client sets right after the slow screenshot of a PDF stays', async (context) => {
  mock.timers.enable({ apis: ['setTimeout'] });
  context.after(() => mock.timers.reset());
  for (const [doesSetSize, clears] of [
    [false, 1],
    [true, 0],
  ]) {
    const sent = [];
    let onMeasured;
    let onTaken;
    const measured = new Promise((resolve) => (onMeasured = resolve));
    const screenshot = new Promise((resolve) => (onTaken = resolve));
    const send = async (method) => {
      sent.push(method);
      await (method === 'Page.getLayoutMetrics' && measured);
    };
    const pump = new FramePump(send, {
      viewSize: async () => ({ width: 800, height: 600 }),
      isPdf: () => true,
      mayFocus: () => false,
    });
    pump.onCommand('Page.captureScreenshot', {}, screenshot);
    mock.timers.tick(1_000);
    await settle();
    assert.ok(sent.includes('Emulation.setDeviceMetricsOverride'), 'a frame is forced');
    onTaken();
    await settle();
    assert.equal(sent.at(-1), 'Page.getLayoutMetrics');
    if (doesSetSize) {
      pump.onCommand('Emulation.setDeviceMetricsOverride', { width: 400 }, Promise.resolve());
    }
    onMeasured();
    await settle();
    const cleared = sent.filter((method) => method === 'Emulation.clearDeviceMetricsOverride');
    assert.equal(cleared.length, clears);
    pump.stop();
  }
});
