/** The connection to the relay: states, retries, batching, and ignoring stale sockets. */

import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { RelayLink } from '../../extension/relay_link.js';
import { busy, newNonce, SECRET } from '../harness/handshake.mjs';
import { FakeBrowser, settle } from './fake_chrome.mjs';
import { FakeSocket } from './fake_socket.mjs';
import { acceptSocket, sendChallenge } from './worker.mjs';

const FIRST = '{"method":"browser"}';
let browser;
/** What the last link connects with. */
let credentials;

beforeEach(() => {
  browser = new FakeBrowser();
  FakeSocket.reset();
  globalThis.WebSocket = FakeSocket;
  globalThis.fetch = (url, options) => browser.fetch(url, options);
});

/** A link, its credentials, and a log of its callbacks: each new state, and calls. */
function makeLink() {
  const log = [];
  const own = { address: '127.0.0.1:4000', secret: SECRET, installId: 'x', isLaunched: false };
  credentials = own;
  const link = new RelayLink({
    readCredentials: async () => ({ ...own }),
    firstMessage: () => FIRST,
    onCall: (call) => log.push(call),
    onChange: () => log.push(link.status.state),
  });
  return { link, log, credentials: own };
}

async function startLink() {
  const made = makeLink();
  made.link.start({ ...credentials });
  await settle();
  return made;
}

/** A connected link, without what was sent and logged until then. */
async function startConnected() {
  const made = await startLink();
  await acceptSocket();
  FakeSocket.last.frames.length = 0;
  made.log.length = 0;
  return made;
}

/** Mocks timers and the random jitter. */
function mockTime(t, random = 0.5) {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  t.mock.method(Math, 'random', () => random);
  return t.mock.timers;
}

const probes = () => browser.callsTo('fetch').length;

/** How long the link waits until it retries, in milliseconds. */
async function measureRetry(timers) {
  const before = probes();
  for (let waited = 0; waited < 60_000; waited += 1) {
    // Starting an attempt takes no timer, only microtasks.
    await null;
    await null;
    if (probes() > before) {
      await settle();
      return waited;
    }
    timers.tick(1);
  }
  throw new Error('no retry');
}

async function measureRetries(timers, count) {
  const delays = [];
  while (delays.length < count) {
    delays.push(await measureRetry(timers));
  }
  return delays;
}

// ---- states ----

test('connects and reports each state once', async () => {
  const { link, log } = await startLink();
  assert.equal(FakeSocket.last.url, 'ws://127.0.0.1:4000/extension');
  assert.deepEqual(link.status, { state: 'connecting', address: '127.0.0.1:4000' });
  await acceptSocket();
  assert.deepEqual(link.status, {
    state: 'connected',
    address: '127.0.0.1:4000',
    version: '0.1.0',
    name: 'chrome',
  });
  assert.deepEqual([...new Set(log)], ['connecting', 'connected']);
});

test('sends its first message in a frame of its own, after the proof', async () => {
  const { link } = await startLink();
  link.send('{"method":"too early"}');
  await acceptSocket();
  link.send('{"method":"a"}');
  await settle();
  const [hello, ...frames] = FakeSocket.last.frames;
  assert.match(hello, /"hello"/);
  assert.deepEqual(frames, [FIRST, '{"method":"a"}']);
});

test('keeps showing the last outcome while it retries', async (t) => {
  const timers = mockTime(t);
  browser.listener = 'none';
  const { link, log } = await startLink();
  assert.equal(link.status.state, 'offline');
  log.length = 0;
  await measureRetries(timers, 3);
  assert.deepEqual(log, []);
  browser.listener = 'answers';
  await measureRetry(timers);
  FakeSocket.last.drop(1006);
  await settle();
  assert.deepEqual(log, ['impostor']);
});

test('reads the credentials again for each attempt', async (t) => {
  const timers = mockTime(t);
  const { link, credentials } = makeLink();
  credentials.secret = '';
  link.start({ ...credentials });
  await settle();
  assert.equal(link.status.state, 'notPaired');
  credentials.secret = SECRET;
  credentials.address = '127.0.0.1:5000';
  await measureRetry(timers);
  await acceptSocket();
  assert.deepEqual([link.status.state, link.status.address], ['connected', '127.0.0.1:5000']);
});

test('a browser that is replaced learns by whom when it asks again', async (t) => {
  const timers = mockTime(t);
  const { link, log } = await startConnected();
  FakeSocket.last.drop(4409);
  assert.deepEqual(link.status, { state: 'replaced', address: '127.0.0.1:4000' });
  await measureRetry(timers);
  const facts = await sendChallenge(FakeSocket.last);
  FakeSocket.last.receive(busy(facts));
  await settle();
  assert.deepEqual(link.status, {
    state: 'replaced',
    holder: 'edge',
    canTakeOver: true,
    address: '127.0.0.1:4000',
  });
  assert.deepEqual(log, ['replaced', 'replaced']);
});

test('asks to take over once, not again when it retries', async (t) => {
  const timers = mockTime(t);
  const { link } = await startLink();
  const takeOvers = [];
  for (const act of [
    () => {},
    () => link.restart({ ...credentials }, { takeOver: true }),
    () => measureRetry(timers),
  ]) {
    await act();
    await settle();
    await sendChallenge(FakeSocket.last);
    takeOvers.push(JSON.parse(FakeSocket.last.frames[0]).params.takeOver);
    FakeSocket.last.drop(4401);
    await settle();
  }
  assert.deepEqual(takeOvers, [false, true, false]);
});

test('a take-over that finds no relay is not repeated', async (t) => {
  const timers = mockTime(t);
  browser.listener = 'none';
  const { link } = await startLink();
  link.restart({ ...credentials }, { takeOver: true });
  await settle();
  browser.listener = 'answers';
  await measureRetry(timers);
  await sendChallenge(FakeSocket.last);
  assert.equal(JSON.parse(FakeSocket.last.frames[0]).params.takeOver, false);
});

// ---- retries ----

test('doubles the retry delay with each failure, up to three seconds', async (t) => {
  const timers = mockTime(t);
  browser.listener = 'none';
  await startLink();
  assert.deepEqual(await measureRetries(timers, 6), [250, 500, 1000, 2000, 3000, 3000]);
});

test('retries at least every two seconds while the user is watching', async (t) => {
  const timers = mockTime(t, 1);
  browser.listener = 'none';
  const { link } = await startLink();
  link.isWatched = true;
  await measureRetries(timers, 4);
  assert.deepEqual(await measureRetries(timers, 2), [2000, 2000]);
});

test('varies the retry delay by up to a quarter', async (t) => {
  const timers = mockTime(t, 0);
  browser.listener = 'none';
  await startLink();
  assert.equal(await measureRetry(timers), 188);
  Math.random.mock.mockImplementation(() => 1);
  await measureRetry(timers);
  assert.equal(await measureRetry(timers), 1250);
});

test('resets the retry delay after a successful connection', async (t) => {
  const timers = mockTime(t);
  browser.listener = 'none';
  await startLink();
  await measureRetries(timers, 3);
  browser.listener = 'answers';
  await measureRetry(timers);
  await acceptSocket();
  FakeSocket.last.drop();
  assert.equal(await measureRetry(timers), 250);
});

test('a program that opens connections and proves nothing does not reset the delay', async (t) => {
  const timers = mockTime(t);
  await startLink();
  const delays = [];
  for (let i = 0; i < 4; i += 1) {
    await sendChallenge(FakeSocket.last, newNonce());
    FakeSocket.last.drop();
    await settle();
    delays.push(await measureRetry(timers));
  }
  assert.deepEqual(delays, [250, 500, 1000, 2000]);
});

test('start during a retry delay connects immediately, and only once', async (t) => {
  const timers = mockTime(t);
  browser.listener = 'none';
  const { link } = await startLink();
  browser.listener = 'answers';
  link.start({ ...credentials });
  link.start({ ...credentials });
  await settle();
  assert.equal(FakeSocket.all.length, 1);
  await acceptSocket();
  timers.tick(60_000);
  await settle();
  assert.equal(FakeSocket.all.length, 1);
});

test('start does nothing while connecting or connected', async () => {
  const { link } = await startLink();
  link.start({ ...credentials });
  await settle();
  await acceptSocket();
  link.start({ ...credentials });
  await settle();
  assert.equal(FakeSocket.all.length, 1);
});

test('stop closes the socket and ends retries', async (t) => {
  const timers = mockTime(t);
  const { link } = await startConnected();
  link.stop();
  assert.ok(FakeSocket.last.isClosed);
  FakeSocket.last.drop();
  timers.tick(60_000);
  await settle();
  assert.equal(FakeSocket.all.length, 1);
  assert.equal(link.status.state, 'stopped');
});

test('stop during an attempt or a retry delay ends retries', async (t) => {
  const timers = mockTime(t);
  const { link } = await startLink();
  link.stop();
  assert.ok(FakeSocket.last.isClosed);
  browser.listener = 'none';
  link.start({ ...credentials });
  await settle();
  link.stop();
  timers.tick(60_000);
  await settle();
  assert.equal(FakeSocket.all.length, 1);
  assert.equal(link.status.state, 'stopped');
});

// ---- messages ----

test('batches messages of one turn into a frame, in order', async () => {
  const { link } = await startConnected();
  link.send('{"method":"a"}');
  link.send('{"method":"b"}');
  link.send('{"method":"c"}');
  assert.deepEqual(FakeSocket.last.frames, []);
  await settle();
  link.send('{"method":"d"}');
  await settle();
  assert.deepEqual(FakeSocket.last.frames, [
    '[{"method":"a"},{"method":"b"},{"method":"c"}]',
    '{"method":"d"}',
  ]);
});

test('drops messages while not connected', async (t) => {
  const timers = mockTime(t);
  const { link } = await startConnected();
  const first = FakeSocket.last;
  link.send('{"method":"too late"}');
  first.drop();
  link.send('{"method":"offline"}');
  await settle();
  await measureRetry(timers);
  link.send('{"method":"unproven"}');
  await acceptSocket();
  link.send('{"method":"now"}');
  await settle();
  assert.deepEqual(first.frames, []);
  assert.deepEqual(FakeSocket.last.frames.slice(1), [FIRST, '{"method":"now"}']);
});

test('delivers every call in a frame and skips invalid ones', async () => {
  const { log } = await startConnected();
  FakeSocket.last.receive({ id: 1, method: 'listTabs' });
  FakeSocket.last.receive([
    { method: 'ping' },
    { id: 2, method: 'attachTab', params: { tabId: 1 } },
  ]);
  FakeSocket.last.receive('nonsense');
  assert.deepEqual(log, [
    { id: 1, method: 'listTabs' },
    { method: 'ping' },
    { id: 2, method: 'attachTab', params: { tabId: 1 } },
  ]);
});

test('ignores a socket that was replaced', async (t) => {
  const timers = mockTime(t);
  const { link, log } = await startConnected();
  const old = FakeSocket.last;
  link.restart({ ...credentials });
  await settle();
  await acceptSocket();
  const current = FakeSocket.last;
  assert.ok(old.isClosed);
  log.length = 0;
  current.frames.length = 0;
  old.receive({ id: 1, method: 'closeTab', params: { tabId: 1 } });
  old.drop();
  timers.tick(60_000);
  link.send('{"method":"a"}');
  await settle();
  assert.deepEqual(log, []);
  assert.equal(link.status.state, 'connected');
  assert.deepEqual([old.frames, current.frames], [[], ['{"method":"a"}']]);
  assert.equal(FakeSocket.all.length, 2);
});
