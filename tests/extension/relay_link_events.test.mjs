/** When debugger events are sent alone, and when together. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RelayLink } from '../../extension/relay_link.js';
import { SECRET } from '../harness/handshake.mjs';
import { FakeBrowser, settle } from './fake_chrome.mjs';
import { FakeSocket } from './fake_socket.mjs';
import { acceptSocket } from './worker.mjs';

/** A connected link whose socket has sent nothing yet. */
async function startConnected() {
  const browser = new FakeBrowser();
  FakeSocket.reset();
  globalThis.WebSocket = FakeSocket;
  globalThis.fetch = (url, options) => browser.fetch(url, options);
  const credentials = {
    address: '127.0.0.1:4000',
    secret: SECRET,
    installId: 'x',
    isLaunched: false,
  };
  const link = new RelayLink({
    readCredentials: async () => credentials,
    firstMessage: () => '{"method":"browser"}',
    onCall() {},
    onChange() {},
  });
  link.start(credentials);
  await settle();
  await acceptSocket();
  FakeSocket.last.frames.length = 0;
  return link;
}

const numbered = (first, count) =>
  Array.from({ length: count }, (_, n) => JSON.stringify({ method: 'cdpEvent', n: first + n }));

/** Sends each event in a turn of its own, as Chrome reports them. */
async function sendEvents(link, events) {
  for (const event of events) {
    link.sendEvent(event);
    await null;
    await null;
  }
}

/** A clock that the test advances, and a link whose next events are part of a flood. */
async function startFlooded(t) {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let now = 1_000;
  t.mock.method(performance, 'now', () => now);
  const link = await startConnected();
  await sendEvents(link, numbered(0, 64));
  const { frames } = FakeSocket.last;
  assert.equal(frames.length, 64, 'each of the first in a frame of its own');
  frames.length = 0;
  const advance = (ms) => {
    now += ms;
    t.mock.timers.tick(ms);
  };
  return { link, frames, advance };
}

test('sends each event at once as long as there are few', async (t) => {
  const { link, frames, advance } = await startFlooded(t);
  for (const event of numbered(0, 20)) {
    advance(10);
    await sendEvents(link, [event]);
  }
  assert.deepEqual(frames, numbered(0, 20));
});

test('sends the events of a flood together, in order', async (t) => {
  const { link, frames, advance } = await startFlooded(t);
  await sendEvents(link, numbered(0, 30));
  assert.deepEqual(frames, []);
  advance(2);
  assert.deepEqual(frames, [`[${numbered(0, 30).join(',')}]`]);
});

test('a reply waits for no other events, and takes along those before it', async (t) => {
  const { link, frames } = await startFlooded(t);
  await sendEvents(link, numbered(0, 3));
  link.send('{"id":1,"result":{}}');
  await settle();
  assert.deepEqual(frames, [`[${numbered(0, 3).join(',')},{"id":1,"result":{}}]`]);
});

test('does not collect more than a few large events', async (t) => {
  const { link, frames } = await startFlooded(t);
  const large = numbered(0, 5).map((event) => event.replace('"n"', `"${'x'.repeat(100_000)}"`));
  await sendEvents(link, large);
  assert.deepEqual(frames, [`[${large.slice(0, 3).join(',')}]`]);
});

test('forgets collected events with their connection', async (t) => {
  const { link, frames, advance } = await startFlooded(t);
  await sendEvents(link, numbered(0, 3));
  FakeSocket.last.drop();
  advance(2);
  assert.deepEqual(frames, []);
});
