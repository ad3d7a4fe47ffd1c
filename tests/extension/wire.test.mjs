/**
 * The whole worker against the messages in `fixtures/wire/`, which the relay's tests check too: it
 * sends each message to the relay exactly as recorded, and acts on each message from the relay.
 */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { FIXTURES_DIR } from '../harness/processes.mjs';
import { FakeBrowser, FakePort, settle } from './fake_chrome.mjs';
import { FakeSocket } from './fake_socket.mjs';
import {
  addFrame,
  assertEmulatesNoFocus,
  assertReportsFlood,
  assertSends,
  browserWith,
  callWorker,
  fixture,
  FOLDER,
  startListed,
  used,
} from './wire_fixtures.mjs';
import { openPopup, startConnected, startWorker } from './worker.mjs';

const CHILD = '0F1E2D3C4B5A69788796A5B4C3D2E1F0';
/** The secret, nonces and proofs of the handshake in the fixtures. */
const HANDSHAKE = JSON.parse(readFileSync(path.join(FIXTURES_DIR, 'handshake.json'), 'utf8'));

// ---- to the relay ----

/** A worker that is paired as in the fixtures and uses the nonce in them. */
async function startInFixture(t) {
  const browser = browserWith();
  browser.local.installId = HANDSHAKE.installId;
  browser.pairingFile.secret = HANDSHAKE.secret;
  t.mock.method(crypto, 'getRandomValues', (bytes) => {
    bytes.set(Buffer.from(HANDSHAKE.extensionNonce, 'base64url'));
    return bytes;
  });
  await startWorker(browser);
  const watcher = new FakePort();
  browser.chrome.runtime.onConnect.fire(watcher);
  return { browser, socket: FakeSocket.last, status: () => watcher.posted.at(-1) };
}

test('hello in reply to challenge', async (t) => {
  const { socket } = await startInFixture(t);
  const challenge = await fixture('challenge', 'to-extension');
  await assertSends('hello', socket, () => socket.receive(challenge));
});

test('browser in reply to welcome', async (t) => {
  const { socket, status } = await startInFixture(t);
  socket.receive(await fixture('challenge', 'to-extension'));
  await settle();
  socket.frames.length = 0;
  const welcome = await fixture('welcome', 'to-extension');
  await assertSends('browser', socket, () => socket.receive(welcome));
  const { state, version, name } = status();
  assert.deepEqual(
    { state, version, name },
    { state: 'connected', version: '0.1.0', name: 'chrome' },
  );
});

test('busy', async (t) => {
  const { socket, status } = await startInFixture(t);
  socket.receive(await fixture('challenge', 'to-extension'));
  await settle();
  socket.receive(await fixture('busy', 'to-extension'));
  await settle();
  const { state, holder } = status();
  assert.deepEqual({ state, holder }, { state: 'busy', holder: 'edge' });
});

test('status', async (t) => {
  const { socket, status } = await startInFixture(t);
  socket.receive(await fixture('challenge', 'to-extension'));
  await settle();
  socket.receive(await fixture('welcome', 'to-extension'));
  await settle();
  socket.receive(await fixture('status', 'to-extension'));
  assert.deepEqual(status().agents, [
    { name: 'playwright (node, pid 4711)', tabs: [412, 415] },
    { name: 'claude (pid 4822)', tabs: [] },
  ]);
  assert.equal(status().openPort, undefined);
  socket.receive(await fixture('status-openPort', 'to-extension'));
  assert.deepEqual(status().openPort, { port: 9222, until: 1_795_012_320_000 });
});

test('cdpEvent of a page', async () => {
  const browser = browserWith();
  const socket = await startListed(browser);
  const params = { frameId: 'A1B2C3D4E5F60718293A4B5C6D7E8F90' };
  await assertSends('cdpEvent-page', socket, () =>
    browser.chrome.debugger.onEvent.fire({ tabId: 412 }, 'Page.frameStoppedLoading', params),
  );
});

test('cdpEvent of a child, without parameters', async () => {
  const browser = browserWith();
  const socket = await startListed(browser);
  const source = { tabId: 412, sessionId: CHILD };
  await assertSends('cdpEvent-child', socket, () =>
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
  await assertSends('tabCreated', socket, () => {
    browser.openTab(tab, 412);
    browser.chrome.webNavigation.onCommitted.fire({ tabId: 413, frameId: 0, url: tab.url });
  });
});

test('tabThrottled, and its end', assertReportsFlood);
test('listTabs without focus emulation', assertEmulatesNoFocus);

test('tabUpdated', async () => {
  const browser = browserWith();
  const socket = await startListed(browser);
  await assertSends('tabUpdated', socket, () =>
    browser.changeTab(412, { url: 'https://example.org/next', status: 'loading' }),
  );
});

test('tabUpdated with frames', async (t) => {
  const browser = browserWith();
  const socket = await startListed(browser);
  addFrame(browser);
  t.mock.timers.enable({ apis: ['setTimeout'] });
  await assertSends('tabUpdated-frames', socket, () => {
    const url = 'https://ads.example/';
    browser.chrome.webNavigation.onCommitted.fire({ tabId: 412, frameId: 5, url });
    t.mock.timers.tick(300);
  });
});

test('tabUpdated-pdf', async () => {
  const browser = browserWith();
  const socket = await startListed(browser);
  const zoomed = { tabId: 412, zoomSettings: { mode: 'manual' } };
  await assertSends('tabUpdated-pdf', socket, () => browser.chrome.tabs.onZoomChange.fire(zoomed));
});

test('tabUpdated-restricted', async () => {
  const browser = browserWith();
  const socket = await startListed(browser);
  await assertSends('tabUpdated-restricted', socket, () =>
    browser.changeTab(412, { url: 'chrome://settings/', status: 'loading' }),
  );
});

test('tabNavigated', async () => {
  const browser = browserWith();
  const socket = await startListed(browser);
  const navigation = { tabId: 412, frameId: 0, url: 'https://example.org/#news' };
  await assertSends('tabNavigated', socket, () =>
    browser.chrome.webNavigation.onReferenceFragmentUpdated.fire(navigation),
  );
});

test('tabRemoved', async () => {
  const browser = browserWith();
  const socket = await startListed(browser);
  await assertSends('tabRemoved', socket, () => browser.closeTab(412));
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
  await assertSends('tabReplaced', socket, () => browser.chrome.tabs.onReplaced.fire(414, 412));
});

test('tabDetached', async () => {
  const browser = browserWith();
  const socket = await startListed(browser);
  await callWorker('attachTab', socket);
  const popup = await openPopup(browser);
  socket.frames.length = 0;
  await assertSends('tabDetached', socket, () =>
    popup.onMessage.fire({ type: 'releaseTab', tabId: 412 }),
  );
});

test('pause and resume from the popup, and a list of tabs during the pause', async () => {
  const browser = new FakeBrowser();
  const socket = await startListed(browser);
  const popup = await openPopup(browser);
  await assertSends('pause', socket, () => popup.onMessage.fire({ type: 'pause' }));
  socket.frames.length = 0;
  const list = await fixture('listTabs', 'to-extension');
  await assertSends('reply-listTabs-paused', socket, () => socket.receive(list));
  socket.frames.length = 0;
  await assertSends('resume', socket, () => popup.onMessage.fire({ type: 'resume' }));
});

test('watchDownloads, downloadCreated, controlDownload and downloadChanged', async () => {
  const browser = browserWith();
  const socket = await startListed(browser);
  assert.deepEqual(await callWorker('watchDownloads', socket), {});
  socket.frames.length = 0;
  const url = 'https://example.org/report';
  const guid = '790c48b4-cee2-4755-b32f-b33ff8ccd4ee';
  const frameId = 'A1B2C3D4E5F60718293A4B5C6D7E8F90';
  let id;
  await assertSends('downloadCreated', socket, () => {
    const begins = { guid, url, frameId, suggestedFilename: 'report.txt' };
    browser.chrome.debugger.onEvent.fire({ tabId: 412 }, 'Page.downloadWillBegin', begins);
    id = browser.downloads.start(url);
  });
  assert.deepEqual(await callWorker('controlDownload', socket), {});
  socket.frames.length = 0;
  await assertSends('downloadChanged', socket, () => browser.downloads.complete(id));
});

test('pong in reply to ping', async () => {
  const socket = await startListed(browserWith());
  const ping = await fixture('ping', 'to-extension');
  await assertSends('pong', socket, () => socket.receive(ping));
});

test('closePort from the popup', async () => {
  const browser = browserWith();
  const socket = await startListed(browser);
  const popup = await openPopup(browser);
  await assertSends('closePort', socket, () => popup.onMessage.fire({ type: 'closePort' }));
});

test('listTabs and its reply', async () => {
  const browser = browserWith(
    { id: 415, url: '', status: 'unloaded', windowId: 8, targetId: null },
    { id: 416, url: 'chrome://settings/' },
  );
  const socket = await startListed(browser);
  await callWorker('attachTab', socket);
  socket.frames.length = 0;
  addFrame(browser);
  const list = await fixture('listTabs', 'to-extension');
  await assertSends('reply-listTabs', socket, () => socket.receive(list));
});

test('cdpCommand on a page and its reply', async () => {
  const browser = browserWith();
  const socket = await startListed(browser);
  browser.stub('debugger.sendCommand', () => ({
    result: { type: 'number', value: 2, description: '2' },
  }));
  const command = await fixture('cdpCommand-page', 'to-extension');
  await assertSends('reply-cdpCommand', socket, () => socket.receive(command));
  assert.deepEqual(browser.callsTo('debugger.sendCommand'), [
    [{ tabId: 412 }, 'Runtime.evaluate', { expression: '1 + 1' }],
  ]);
});

test('listTabs while there are rules for permissions, and setPermissions', async () => {
  const browser = new FakeBrowser();
  const socket = await startConnected(browser);
  await callWorker('setPermissions', socket);
  assert.deepEqual(browser.contentSettings, [['location', 'https://example.org/*', 'allow']]);
  socket.frames.length = 0;
  const list = await fixture('listTabs', 'to-extension');
  await assertSends('reply-listTabs-permissions', socket, () => socket.receive(list));
});

test('browserCommand and its reply', async () => {
  const browser = browserWith();
  browser.windows.set(7, { left: 10, top: 20, width: 780, height: 580, state: 'normal' });
  const socket = await startListed(browser);
  const command = await fixture('browserCommand', 'to-extension');
  await assertSends('reply-browserCommand', socket, () => socket.receive(command));
  assert.deepEqual([...browser.attached], []);
});

test('attachTab and its empty reply', async () => {
  const browser = browserWith();
  const socket = await startListed(browser);
  const attach = await fixture('attachTab', 'to-extension');
  await assertSends('reply-empty', socket, () => socket.receive(attach));
  assert.deepEqual([...browser.attached], [412]);
});

test('an error of the extension as plain text', async () => {
  const browser = browserWith();
  const socket = await startListed(browser);
  browser.tabs.delete(412);
  const attach = await fixture('attachTab', 'to-extension');
  await assertSends('error-text', socket, () => socket.receive(attach));
});

test('an error of Chrome with its code', async () => {
  const browser = browserWith();
  const socket = await startListed(browser);
  browser.stub('debugger.sendCommand', () => {
    throw new Error(`{"code":-32601,"message":"'Browser.getVersion' wasn't found"}`);
  });
  const command = await fixture('cdpCommand-page', 'to-extension');
  await assertSends('error-coded', socket, () => socket.receive(command));
});

test('a batch of messages sent in the same turn', async () => {
  const browser = browserWith();
  const socket = await startListed(browser);
  await assertSends('batch', socket, () => {
    for (const requestId of ['1.2', '1.3']) {
      browser.chrome.debugger.onEvent.fire({ tabId: 412 }, 'Network.loadingFinished', {
        requestId,
      });
    }
    socket.receive({ method: 'ping' });
  });
});

// ---- to the extension ----

test('detachTab', async () => {
  const browser = browserWith();
  const socket = await startListed(browser);
  await callWorker('attachTab', socket);
  assert.deepEqual(await callWorker('detachTab', socket), {});
  assert.deepEqual([...browser.attached], []);
});

test('createTab', async () => {
  const browser = browserWith();
  const socket = await startListed(browser);
  const created = await callWorker('createTab', socket);
  assert.deepEqual(browser.callsTo('tabs.create'), [
    [{ url: 'https://example.org/a?b="c"', active: false }],
  ]);
  assert.deepEqual([...browser.attached], [created.tabId]);
});

test('createTab in a new window', async () => {
  const browser = browserWith();
  const socket = await startListed(browser);
  await callWorker('createTab-window', socket);
  assert.deepEqual(browser.callsTo('windows.create'), [
    [{ url: 'about:blank', focused: false, left: 33, top: 44, width: 640, height: 480 }],
  ]);
});

test('createTab for an agent with a tab group', async () => {
  const browser = browserWith();
  browser.windows.set(1, { type: 'normal' });
  const socket = await startListed(browser);
  await callWorker('createTab-group', socket);
  assert.equal([...browser.groups.values()][0].title, 'claude-code');
});

test('closeTab', async () => {
  const browser = browserWith();
  const socket = await startListed(browser);
  assert.deepEqual(await callWorker('closeTab', socket), {});
  assert.deepEqual([...browser.tabs.keys()], []);
});

test('activateTab', async () => {
  const browser = browserWith();
  const socket = await startListed(browser);
  assert.deepEqual(await callWorker('activateTab', socket), {});
  assert.deepEqual(browser.callsTo('tabs.update'), [[412, { active: true }]]);
  assert.deepEqual(browser.callsTo('windows.update'), [[7, { focused: true }]]);
});

test('cdpCommand on a child', async () => {
  const browser = browserWith();
  const socket = await startListed(browser);
  await callWorker('cdpCommand-child', socket);
  assert.deepEqual(browser.callsTo('debugger.sendCommand'), [
    [{ tabId: 412, sessionId: CHILD }, 'Page.getFrameTree', {}],
  ]);
});

test('every fixture is checked by a test above', async () => {
  const files = (await readdir(FOLDER)).map((file) => path.parse(file).name);
  assert.deepEqual([...used].sort(), files.sort());
});
