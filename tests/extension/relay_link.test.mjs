/** The one socket to the relay: its patience, its frames, and who may speak. */

import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { RelayLink } from '../../extension/relay_link.js';
import { turn } from './fake_chrome.mjs';
import { FakeSocket } from './fake_socket.mjs';

beforeEach(() => {
  FakeSocket.reset();
  globalThis.WebSocket = FakeSocket;
});

/** A link, and what it has told: `open`, each new state, and calls. */
function makeLink() {
  const told = [];
  const link = new RelayLink({
    open: () => told.push('open'),
    call: (call) => told.push(call),
    change: () => told.push(link.state),
  });
  return { link, told };
}

/** Timers that only the test moves, and no chance in how long they wait. */
function holdTime(t, random = 0.5) {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  t.mock.method(Math, 'random', () => random);
  return t.mock.timers;
}

/** How long the link waits after its socket has ended, before it tries again. */
function waitAfterEnd(timers) {
  const before = FakeSocket.all.length;
  FakeSocket.last.ends();
  let waited = 0;
  while (FakeSocket.all.length === before) {
    timers.tick(1);
    waited += 1;
    assert.ok(waited < 60_000, 'it never tries again');
  }
  return waited;
}

test('it connects to the address it is given, and tells each state once', () => {
  const { link, told } = makeLink();
  assert.equal(link.state, 'stopped');
  link.start('127.0.0.1:4000');
  assert.equal(FakeSocket.last.url, 'ws://127.0.0.1:4000/extension');
  FakeSocket.last.opens();
  assert.deepEqual(told, ['connecting', 'connected', 'open']);
  assert.equal(link.address, '127.0.0.1:4000');
});

test('its patience doubles with each failure and stops growing at ten seconds', (t) => {
  const timers = holdTime(t);
  makeLink().link.start('127.0.0.1:4000');
  const waits = Array.from({ length: 8 }, () => waitAfterEnd(timers));
  assert.deepEqual(waits, [250, 500, 1000, 2000, 4000, 8000, 10_000, 10_000]);
});

test('a wait is up to a quarter shorter or longer, so that many browsers do not come at once', (t) => {
  const timers = holdTime(t, 0);
  makeLink().link.start('127.0.0.1:4000');
  assert.equal(waitAfterEnd(timers), 188);
  Math.random.mock.mockImplementation(() => 1);
  assert.equal(waitAfterEnd(timers), 625);
});

test('a connection that opened makes it impatient again', (t) => {
  const timers = holdTime(t);
  makeLink().link.start('127.0.0.1:4000');
  waitAfterEnd(timers);
  waitAfterEnd(timers);
  FakeSocket.last.opens();
  assert.equal(waitAfterEnd(timers), 250);
});

test('another address makes it impatient again', (t) => {
  const timers = holdTime(t);
  const { link } = makeLink();
  link.start('127.0.0.1:4000');
  waitAfterEnd(timers);
  waitAfterEnd(timers);
  link.start('127.0.0.1:5000');
  assert.equal(waitAfterEnd(timers), 250);
});

test('started again while it waits, it tries at once and only once', (t) => {
  const timers = holdTime(t);
  const { link } = makeLink();
  link.start('127.0.0.1:4000');
  FakeSocket.last.ends();
  link.start('127.0.0.1:4000');
  assert.equal(FakeSocket.all.length, 2);
  timers.tick(60_000);
  assert.equal(FakeSocket.all.length, 2);
});

test('started again while it connects or is connected, it does nothing', () => {
  const { link } = makeLink();
  link.start('127.0.0.1:4000');
  link.start('127.0.0.1:4000');
  FakeSocket.last.opens();
  link.start('127.0.0.1:4000');
  assert.equal(FakeSocket.all.length, 1);
});

test('stopped, it closes its socket and never tries again', (t) => {
  const timers = holdTime(t);
  const { link } = makeLink();
  link.start('127.0.0.1:4000');
  FakeSocket.last.opens();
  link.stop();
  assert.ok(FakeSocket.last.isClosed);
  FakeSocket.last.ends();
  timers.tick(60_000);
  assert.equal(FakeSocket.all.length, 1);
  assert.equal(link.state, 'stopped');
});

test('stopped while it waits, it never tries again', (t) => {
  const timers = holdTime(t);
  const { link } = makeLink();
  link.start('127.0.0.1:4000');
  FakeSocket.last.ends();
  link.stop();
  timers.tick(60_000);
  assert.equal(FakeSocket.all.length, 1);
});

test('messages of one turn share a frame, in their order', async () => {
  const { link } = makeLink();
  link.start('127.0.0.1:4000');
  FakeSocket.last.opens();
  link.send('{"method":"a"}');
  link.send('{"method":"b"}');
  link.send('{"method":"c"}');
  assert.deepEqual(FakeSocket.last.frames, []);
  await turn();
  link.send('{"method":"d"}');
  await turn();
  assert.deepEqual(FakeSocket.last.frames, [
    '[{"method":"a"},{"method":"b"},{"method":"c"}]',
    '{"method":"d"}',
  ]);
});

test('what is sent without a connection is dropped, not kept for the next one', async (t) => {
  const timers = holdTime(t);
  const { link } = makeLink();
  link.send('{"method":"stopped"}');
  link.start('127.0.0.1:4000');
  link.send('{"method":"connecting"}');
  const [first] = FakeSocket.all;
  first.opens();
  link.send('{"method":"too late"}');
  first.ends();
  link.send('{"method":"offline"}');
  await turn();
  timers.tick(250);
  FakeSocket.last.opens();
  link.send('{"method":"now"}');
  await turn();
  assert.deepEqual([first.frames, FakeSocket.last.frames], [[], ['{"method":"now"}']]);
});

test('every call of a frame is passed on, and what is no call is not', () => {
  const { link, told } = makeLink();
  link.start('127.0.0.1:4000');
  FakeSocket.last.opens();
  told.length = 0;
  FakeSocket.last.receives({ id: 1, method: 'listTabs' });
  FakeSocket.last.receives([
    { method: 'ping' },
    { id: 2, method: 'attachTab', params: { tabId: 1 } },
  ]);
  FakeSocket.last.receives('nonsense');
  assert.deepEqual(told, [
    { id: 1, method: 'listTabs' },
    { method: 'ping' },
    { id: 2, method: 'attachTab', params: { tabId: 1 } },
  ]);
});

test('a socket that was replaced has no say any more', async (t) => {
  const timers = holdTime(t);
  const { link, told } = makeLink();
  link.start('127.0.0.1:4000');
  const old = FakeSocket.last;
  link.start('127.0.0.1:5000');
  const present = FakeSocket.last;
  assert.ok(old.isClosed);
  present.opens();
  told.length = 0;
  old.opens();
  old.receives({ id: 1, method: 'closeTab', params: { tabId: 1 } });
  old.ends();
  timers.tick(60_000);
  link.send('{"method":"a"}');
  await turn();
  assert.deepEqual(told, []);
  assert.equal(link.state, 'connected');
  assert.deepEqual([old.frames, present.frames], [[], ['{"method":"a"}']]);
  assert.equal(FakeSocket.all.length, 2);
});
