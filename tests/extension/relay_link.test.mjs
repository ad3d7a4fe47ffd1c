/** The socket to the relay: reconnecting, batching, and ignoring stale sockets. */

import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { RelayLink } from '../../extension/relay_link.js';
import { settle } from './fake_chrome.mjs';
import { FakeSocket } from './fake_socket.mjs';

beforeEach(() => {
  FakeSocket.reset();
  globalThis.WebSocket = FakeSocket;
});

/** A link and a log of its callbacks: `open`, each new state, and calls. */
function makeLink() {
  const log = [];
  const link = new RelayLink({
    onOpen: () => log.push('open'),
    onCall: (call) => log.push(call),
    onChange: () => log.push(link.state),
  });
  return { link, log };
}

/** Mocks timers and the random jitter. */
function mockTime(t, random = 0.5) {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  t.mock.method(Math, 'random', () => random);
  return t.mock.timers;
}

/** Drops the connection and returns the delay in milliseconds until the link retries. */
function dropAndMeasureRetry(timers) {
  const before = FakeSocket.all.length;
  FakeSocket.last.drop();
  let waited = 0;
  while (FakeSocket.all.length === before) {
    timers.tick(1);
    waited += 1;
    assert.ok(waited < 60_000, 'no retry');
  }
  return waited;
}

test('connects to the given address and reports each state once', () => {
  const { link, log } = makeLink();
  assert.equal(link.state, 'stopped');
  link.start('127.0.0.1:4000');
  assert.equal(FakeSocket.last.url, 'ws://127.0.0.1:4000/extension');
  FakeSocket.last.accept();
  assert.deepEqual(log, ['connecting', 'connected', 'open']);
  assert.equal(link.address, '127.0.0.1:4000');
});

test('doubles the retry delay with each failure, up to ten seconds', (t) => {
  const timers = mockTime(t);
  makeLink().link.start('127.0.0.1:4000');
  const delays = Array.from({ length: 8 }, () => dropAndMeasureRetry(timers));
  assert.deepEqual(delays, [250, 500, 1000, 2000, 4000, 8000, 10_000, 10_000]);
});

test('varies the retry delay by up to a quarter', (t) => {
  const timers = mockTime(t, 0);
  makeLink().link.start('127.0.0.1:4000');
  assert.equal(dropAndMeasureRetry(timers), 188);
  Math.random.mock.mockImplementation(() => 1);
  assert.equal(dropAndMeasureRetry(timers), 625);
});

test('resets the retry delay after a successful connection', (t) => {
  const timers = mockTime(t);
  makeLink().link.start('127.0.0.1:4000');
  dropAndMeasureRetry(timers);
  dropAndMeasureRetry(timers);
  FakeSocket.last.accept();
  assert.equal(dropAndMeasureRetry(timers), 250);
});

test('resets the retry delay for a new address', (t) => {
  const timers = mockTime(t);
  const { link } = makeLink();
  link.start('127.0.0.1:4000');
  dropAndMeasureRetry(timers);
  dropAndMeasureRetry(timers);
  link.start('127.0.0.1:5000');
  assert.equal(dropAndMeasureRetry(timers), 250);
});

test('start during a retry delay connects immediately, and only once', (t) => {
  const timers = mockTime(t);
  const { link } = makeLink();
  link.start('127.0.0.1:4000');
  FakeSocket.last.drop();
  link.start('127.0.0.1:4000');
  assert.equal(FakeSocket.all.length, 2);
  timers.tick(60_000);
  assert.equal(FakeSocket.all.length, 2);
});

test('start does nothing while connecting or connected', () => {
  const { link } = makeLink();
  link.start('127.0.0.1:4000');
  link.start('127.0.0.1:4000');
  FakeSocket.last.accept();
  link.start('127.0.0.1:4000');
  assert.equal(FakeSocket.all.length, 1);
});

test('stop closes the socket and ends retries', (t) => {
  const timers = mockTime(t);
  const { link } = makeLink();
  link.start('127.0.0.1:4000');
  FakeSocket.last.accept();
  link.stop();
  assert.ok(FakeSocket.last.isClosed);
  FakeSocket.last.drop();
  timers.tick(60_000);
  assert.equal(FakeSocket.all.length, 1);
  assert.equal(link.state, 'stopped');
});

test('stop during a retry delay ends retries', (t) => {
  const timers = mockTime(t);
  const { link } = makeLink();
  link.start('127.0.0.1:4000');
  FakeSocket.last.drop();
  link.stop();
  timers.tick(60_000);
  assert.equal(FakeSocket.all.length, 1);
});

test('batches messages of one turn into a frame, in order', async () => {
  const { link } = makeLink();
  link.start('127.0.0.1:4000');
  FakeSocket.last.accept();
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
  const { link } = makeLink();
  link.send('{"method":"stopped"}');
  link.start('127.0.0.1:4000');
  link.send('{"method":"connecting"}');
  const [first] = FakeSocket.all;
  first.accept();
  link.send('{"method":"too late"}');
  first.drop();
  link.send('{"method":"offline"}');
  await settle();
  timers.tick(250);
  FakeSocket.last.accept();
  link.send('{"method":"now"}');
  await settle();
  assert.deepEqual([first.frames, FakeSocket.last.frames], [[], ['{"method":"now"}']]);
});

test('delivers every call in a frame and skips invalid ones', () => {
  const { link, log } = makeLink();
  link.start('127.0.0.1:4000');
  FakeSocket.last.accept();
  log.length = 0;
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
  const { link, log } = makeLink();
  link.start('127.0.0.1:4000');
  const old = FakeSocket.last;
  link.start('127.0.0.1:5000');
  const current = FakeSocket.last;
  assert.ok(old.isClosed);
  current.accept();
  log.length = 0;
  old.accept();
  old.receive({ id: 1, method: 'closeTab', params: { tabId: 1 } });
  old.drop();
  timers.tick(60_000);
  link.send('{"method":"a"}');
  await settle();
  assert.deepEqual(log, []);
  assert.equal(link.state, 'connected');
  assert.deepEqual([old.frames, current.frames], [[], ['{"method":"a"}']]);
  assert.equal(FakeSocket.all.length, 2);
});
