/** Frames for tabs that nobody looks at: drawn while something waits for them, and not for longer. */

import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { FakeBrowser } from './fake_chrome.mjs';
import { startLife } from './life.mjs';

/** A worker with tab 1, a clock that only the test moves, and commands that are answered only when the test says so. */
async function start(context) {
  const browser = new FakeBrowser({ id: 1, url: 'https://example.org/' });
  const attachments = await startLife(browser)('attachments.js');
  await attachments.attach(1);
  const waiting = [];
  const answeredAtOnce = /^Page\.(start|stop)Screencast$/;
  browser.answer('debugger.sendCommand', (_, method) =>
    answeredAtOnce.test(method) ? {} : new Promise((resolve) => waiting.push(() => resolve({}))),
  );
  mock.timers.enable({ apis: ['setTimeout'] });
  context.after(() => mock.timers.reset());
  return {
    ask: (method) => {
      attachments.sendCommand(1, method, {});
    },
    async answer() {
      waiting.shift()();
      await Promise.resolve()
        .then(() => {})
        .then(() => {})
        .then(() => {});
    },
    pass: (ms) => mock.timers.tick(ms),
    forget: () => attachments.forget(1),
    casts: () =>
      browser
        .callsOf('debugger.sendCommand')
        .map(([, method]) => method)
        .filter((method) => answeredAtOnce.test(method)),
  };
}

test('a command that is answered soon draws nothing', async (context) => {
  const tab = await start(context);
  tab.ask('Runtime.callFunctionOn');
  tab.pass(20);
  await tab.answer();
  tab.pass(5_000);
  assert.deepEqual(tab.casts(), []);
});

test('one that is not has frames until it is answered, and a moment longer', async (context) => {
  const tab = await start(context);
  tab.ask('Runtime.callFunctionOn');
  tab.ask('Input.dispatchMouseEvent');
  tab.pass(30);
  assert.deepEqual(tab.casts(), ['Page.startScreencast']);
  await tab.answer();
  tab.pass(5_000);
  assert.deepEqual(tab.casts(), ['Page.startScreencast'], 'the other one still waits');
  await tab.answer();
  assert.deepEqual(tab.casts(), ['Page.startScreencast']);
  tab.pass(5_000);
  assert.deepEqual(tab.casts(), ['Page.startScreencast', 'Page.stopScreencast']);
});

test('a screenshot has frames at once; what has no use for them never has', async (context) => {
  const tab = await start(context);
  tab.ask('Page.navigate');
  tab.pass(5_000);
  assert.deepEqual(tab.casts(), []);
  tab.ask('Page.captureScreenshot');
  assert.deepEqual(tab.casts(), ['Page.startScreencast']);
});

test("a client's screencast is left alone, and its end does not leave others waiting", async (context) => {
  const tab = await start(context);
  tab.ask('Page.startScreencast');
  tab.ask('Runtime.evaluate');
  tab.pass(30);
  assert.deepEqual(tab.casts(), ['Page.startScreencast'], "the client's own");
  tab.ask('Page.stopScreencast');
  assert.deepEqual(tab.casts(), [
    'Page.startScreencast',
    'Page.stopScreencast',
    'Page.startScreencast',
  ]);
  await tab.answer();
  tab.pass(5_000);
  assert.deepEqual(tab.casts().slice(3), ['Page.stopScreencast']);
});

test('nothing is sent to a tab that has lost the debugger', async (context) => {
  const tab = await start(context);
  tab.ask('Runtime.evaluate');
  tab.pass(30);
  tab.forget();
  await tab.answer();
  tab.pass(5_000);
  assert.deepEqual(tab.casts(), ['Page.startScreencast']);
});
