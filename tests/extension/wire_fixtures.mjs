/** The messages in `fixtures/wire/`, and a worker that sends or receives them. */

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { FIXTURES_DIR } from '../harness/processes.mjs';
import { FakeBrowser, settle } from './fake_chrome.mjs';
import { startConnected } from './worker.mjs';

export const FOLDER = path.join(FIXTURES_DIR, 'wire');
/** The names of the fixtures that a test has used. */
export const used = new Set();

export async function fixture(name, direction) {
  const content = JSON.parse(await readFile(path.join(FOLDER, `${name}.json`), 'utf8'));
  assert.equal(content.direction, direction);
  used.add(name);
  return content.message;
}

/** A browser with tab 412, which is the one in the fixtures, and other tabs. */
export const browserWith = (...others) =>
  new FakeBrowser(
    {
      id: 412,
      url: 'https://example.org/',
      title: 'Example',
      windowId: 7,
      targetId: 'A1B2C3D4E5F60718293A4B5C6D7E8F90',
    },
    ...others,
  );

/** A worker with a relay that has listed the tabs. */
export async function startListed(browser) {
  const socket = await startConnected(browser);
  socket.receive({ id: 100, method: 'listTabs' });
  await settle();
  socket.frames.length = 0;
  return socket;
}

/** Checks that `act` makes the worker send this message in one frame. */
export async function assertSends(name, socket, act) {
  const message = await fixture(name, 'to-relay');
  await act();
  await settle();
  assert.equal(socket.frames.length, 1);
  assert.deepEqual(JSON.parse(socket.frames[0]), message);
}

/** Sends this call to the worker and returns the result. */
export async function callWorker(name, socket) {
  const message = await fixture(name, 'to-extension');
  socket.receive(message);
  await settle();
  const reply = socket.messages.find(({ id }) => id === message.id);
  assert.ok(reply && !('error' in reply), `${name}: ${JSON.stringify(reply)}`);
  return reply.result;
}

/** Chrome has a cross-process frame in tab 412. */
export function addFrame(browser) {
  const url = 'https://ads.example/';
  const frame = { type: 'other', id: 'D1B2C3D4E5F60718293A4B5C6D7E8F93', url };
  const page = { type: 'page', tabId: 412, id: browser.targetId(412), url: 'https://example.org/' };
  browser.stub('debugger.getTargets', () => [page, frame]);
  browser.stub('webNavigation.getAllFrames', () => [
    { frameId: 0, parentFrameId: -1, processId: 1, url: page.url },
    { frameId: 5, parentFrameId: 0, processId: 2, url },
  ]);
}

/** Checks that the worker emulates no focus for a screenshot when the relay does not want it. */
export async function assertEmulatesNoFocus() {
  const browser = browserWith();
  const socket = await startListed(browser);
  await callWorker('listTabs-focus', socket);
  await callWorker('attachTab', socket);
  const screenshot = { tabId: 412, method: 'Page.captureScreenshot', params: {} };
  socket.receive({ id: 101, method: 'cdpCommand', params: screenshot });
  await settle();
  const methods = browser.callsTo('debugger.sendCommand').map(([, method]) => method);
  assert.ok(methods.includes('Page.captureScreenshot'));
  assert.ok(!methods.includes('Emulation.setFocusEmulationEnabled'), methods.join());
}

/** Checks what the worker sends, beside events, when a tab floods it with them, and when that is over. */
export async function assertReportsFlood(t) {
  const browser = browserWith();
  const socket = await startListed(browser);
  await callWorker('attachTab', socket);
  socket.frames.length = 0;
  t.mock.timers.enable({ apis: ['Date', 'setInterval'] });
  /** The tab logs this many lines, and the worker is this far behind. */
  const log = async (lines, lagMs) => {
    browser.stub('runtime.getPlatformInfo', () => t.mock.timers.tick(lagMs));
    for (let n = 0; n < lines; n += 1) {
      browser.chrome.debugger.onEvent.fire({ tabId: 412 }, 'Runtime.consoleAPICalled', { n });
    }
    await settle();
  };
  const takeReports = () => {
    const reports = socket.messages.filter(({ method }) => method !== 'cdpEvent');
    socket.frames.length = 0;
    return reports;
  };
  await log(200, 640);
  await log(3_277, 640);
  assert.deepEqual(takeReports(), [await fixture('tabThrottled', 'to-relay')]);
  for (let n = 0; n < 50; n += 1) {
    t.mock.timers.tick(250);
    await log(0, 0);
  }
  assert.deepEqual(takeReports(), [await fixture('tabThrottled-end', 'to-relay')]);
}
