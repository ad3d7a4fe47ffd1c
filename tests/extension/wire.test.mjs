/**
 * The whole worker against the files in `fixtures/wire/`, which the relay is tested against too: it writes every message
 * to the relay exactly so, and does what every message to it says.
 */

import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { FIXTURES_DIR } from '../harness/processes.mjs';
import { FakeBrowser, turn } from './fake_chrome.mjs';
import { FakeSocket } from './fake_socket.mjs';
import { startConnected, startWorker } from './life.mjs';

const FOLDER = path.join(FIXTURES_DIR, 'wire');
const CHILD = '0F1E2D3C4B5A69788796A5B4C3D2E1F0';
const used = new Set();

async function fixture(name, direction) {
  const read = JSON.parse(await readFile(path.join(FOLDER, `${name}.json`), 'utf8'));
  assert.equal(read.direction, direction);
  used.add(name);
  return read.message;
}

/** Tab 412, which the relay knows, and what else a test puts beside it. */
const browserWith = (...others) =>
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

/** A worker whose relay has listed the tabs. */
async function startListed(browser) {
  const socket = await startConnected(browser);
  socket.receives({ id: 100, method: 'listTabs' });
  await turn();
  socket.frames.length = 0;
  return socket;
}

/** The worker writes this message, as one frame, when `act` happens. */
async function assertWritten(name, socket, act) {
  const message = await fixture(name, 'to-relay');
  await act();
  await turn();
  assert.equal(socket.frames.length, 1);
  assert.deepEqual(JSON.parse(socket.frames[0]), message);
}

/** Gives the worker this call and returns its reply. */
async function obey(name, socket) {
  const message = await fixture(name, 'to-extension');
  socket.receives(message);
  await turn();
  const reply = socket.messages.find(({ id }) => id === message.id);
  assert.ok(reply && !('error' in reply), `${name}: ${JSON.stringify(reply)}`);
  return reply.result;
}

// ---- to the relay ----

test('hello', async () => {
  const browser = new FakeBrowser();
  browser.local.installId = '6f1f3c0e-7a54-4c1e-9d53-0b5a8a6f2d11';
  await startWorker(browser);
  await assertWritten('hello', FakeSocket.last, () => FakeSocket.last.opens());
});

test('cdpEvent of a page', async () => {
  const browser = browserWith();
  const socket = await startListed(browser);
  const params = { frameId: 'A1B2C3D4E5F60718293A4B5C6D7E8F90' };
  await assertWritten('cdpEvent-page', socket, () =>
    browser.chrome.debugger.onEvent.fire({ tabId: 412 }, 'Page.frameStoppedLoading', params),
  );
});

test('cdpEvent of a child, and without parameters', async () => {
  const browser = browserWith();
  const socket = await startListed(browser);
  const source = { tabId: 412, sessionId: CHILD };
  await assertWritten('cdpEvent-child', socket, () =>
    browser.chrome.debugger.onEvent.fire(source, 'Runtime.executionContextsCleared'),
  );
});

test('tabCreated', async () => {
  const browser = browserWith();
  const socket = await startListed(browser);
  const tab = {
    id: 413,
    url: 'https://example.org/news',
    title: 'News',
    status: 'loading',
    windowId: 7,
    targetId: 'B1B2C3D4E5F60718293A4B5C6D7E8F91',
  };
  await assertWritten('tabCreated', socket, () => {
    browser.openTab(tab, 412);
    browser.chrome.webNavigation.onCommitted.fire({ tabId: 413, frameId: 0, url: tab.url });
  });
});

test('tabUpdated', async () => {
  const browser = browserWith();
  const socket = await startListed(browser);
  await assertWritten('tabUpdated', socket, () =>
    browser.changeTab(412, { url: 'https://example.org/next', status: 'loading' }),
  );
});

test('tabNavigated', async () => {
  const browser = browserWith();
  const socket = await startListed(browser);
  const navigation = { tabId: 412, frameId: 0, url: 'https://example.org/#news' };
  await assertWritten('tabNavigated', socket, () =>
    browser.chrome.webNavigation.onReferenceFragmentUpdated.fire(navigation),
  );
});

test('tabRemoved', async () => {
  const browser = browserWith();
  const socket = await startListed(browser);
  await assertWritten('tabRemoved', socket, () => browser.closeTab(412));
});

test('tabReplaced', async () => {
  const browser = browserWith();
  const socket = await startListed(browser);
  browser.tabs.delete(412);
  browser.addTab({
    id: 414,
    url: 'https://example.org/prerendered',
    title: 'Prerendered',
    windowId: 7,
    targetId: 'C1B2C3D4E5F60718293A4B5C6D7E8F92',
  });
  await assertWritten('tabReplaced', socket, () => browser.chrome.tabs.onReplaced.fire(414, 412));
});

test('tabDetached', async () => {
  const browser = browserWith();
  const socket = await startListed(browser);
  await obey('attachTab', socket);
  socket.frames.length = 0;
  await assertWritten('tabDetached', socket, () =>
    browser.chrome.debugger.onDetach.fire({ tabId: 412 }, 'canceled_by_user'),
  );
});

test('ping, and pong in answer', async () => {
  const socket = await startListed(browserWith());
  const ping = await fixture('ping', 'to-extension');
  await assertWritten('pong', socket, () => socket.receives(ping));
});

test('listTabs and its reply', async () => {
  const browser = browserWith(
    { id: 415, url: '', status: 'unloaded', windowId: 8, targetId: null },
    { id: 416, url: 'chrome://settings/' },
  );
  const socket = await startListed(browser);
  await obey('attachTab', socket);
  socket.frames.length = 0;
  const list = await fixture('listTabs', 'to-extension');
  await assertWritten('reply-listTabs', socket, () => socket.receives(list));
});

test('cdpCommand on a page and its reply', async () => {
  const browser = browserWith();
  const socket = await startListed(browser);
  browser.answer('debugger.sendCommand', () => ({
    result: { type: 'number', value: 2, description: '2' },
  }));
  const command = await fixture('cdpCommand-page', 'to-extension');
  await assertWritten('reply-cdpCommand', socket, () => socket.receives(command));
  assert.deepEqual(browser.callsOf('debugger.sendCommand'), [
    [{ tabId: 412 }, 'Runtime.evaluate', { expression: '1 + 1' }],
  ]);
});

test('attachTab and its empty reply', async () => {
  const browser = browserWith();
  const socket = await startListed(browser);
  const attach = await fixture('attachTab', 'to-extension');
  await assertWritten('reply-empty', socket, () => socket.receives(attach));
  assert.deepEqual([...browser.attached], [412]);
});

test('an error of the extension is plain text', async () => {
  const browser = browserWith();
  const socket = await startListed(browser);
  browser.tabs.delete(412);
  const attach = await fixture('attachTab', 'to-extension');
  await assertWritten('error-text', socket, () => socket.receives(attach));
});

test('an error of Chrome has its code', async () => {
  const browser = browserWith();
  const socket = await startListed(browser);
  browser.answer('debugger.sendCommand', () => {
    throw new Error(`{"code":-32601,"message":"'Browser.getVersion' wasn't found"}`);
  });
  const command = await fixture('cdpCommand-page', 'to-extension');
  await assertWritten('error-coded', socket, () => socket.receives(command));
});

test('a batch of what waits together', async () => {
  const browser = browserWith();
  const socket = await startListed(browser);
  await assertWritten('batch', socket, () => {
    for (const requestId of ['1.2', '1.3']) {
      browser.chrome.debugger.onEvent.fire({ tabId: 412 }, 'Network.loadingFinished', {
        requestId,
      });
    }
    socket.receives({ method: 'ping' });
  });
});

// ---- to the extension ----

test('detachTab', async () => {
  const browser = browserWith();
  const socket = await startListed(browser);
  await obey('attachTab', socket);
  assert.deepEqual(await obey('detachTab', socket), {});
  assert.deepEqual([...browser.attached], []);
});

test('createTab', async () => {
  const browser = browserWith();
  const socket = await startListed(browser);
  const created = await obey('createTab', socket);
  assert.deepEqual(browser.callsOf('tabs.create'), [
    [{ url: 'https://example.org/a?b="c"', active: false }],
  ]);
  assert.deepEqual([...browser.attached], [created.tabId]);
});

test('closeTab', async () => {
  const browser = browserWith();
  const socket = await startListed(browser);
  assert.deepEqual(await obey('closeTab', socket), {});
  assert.deepEqual([...browser.tabs.keys()], []);
});

test('activateTab', async () => {
  const browser = browserWith();
  const socket = await startListed(browser);
  assert.deepEqual(await obey('activateTab', socket), {});
  assert.deepEqual(browser.callsOf('tabs.update'), [[412, { active: true }]]);
  assert.deepEqual(browser.callsOf('windows.update'), [[7, { focused: true }]]);
});

test('cdpCommand on a child', async () => {
  const browser = browserWith();
  const socket = await startListed(browser);
  await obey('cdpCommand-child', socket);
  assert.deepEqual(browser.callsOf('debugger.sendCommand'), [
    [{ tabId: 412, sessionId: CHILD }, 'Page.getFrameTree', {}],
  ]);
});

test('every fixture is checked by a test above', async () => {
  const files = (await readdir(FOLDER)).map((file) => path.parse(file).name);
  assert.deepEqual([...used].sort(), files.sort());
});
