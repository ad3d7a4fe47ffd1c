/**
 * Malformed messages against a running relay: of a client, of a paired extension, and bytes that are
 * no WebSocket or HTTP at all. Every request is answered once, and a neighbour notices nothing.
 */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { after, before, test } from 'node:test';

import { startFakeExtension } from '../harness/fake_extension.mjs';
import { makeRandom, mutate } from '../harness/mutate.mjs';
import { FIXTURES_DIR, startRelay, until } from '../harness/processes.mjs';
import { connectRaw } from '../harness/raw_client.mjs';
import { times } from './counts.mjs';
import { MAX_SLOWER, compare, startNeighbour } from './neighbour.mjs';
import { reportRow } from './report.mjs';

const MESSAGES = times({ short: 400, full: 10_000 });
const BROKEN = times({ short: 60, full: 1_500 });
/** After so many messages, all of their replies are awaited. */
const ROUND = 50;
/** Above the ids of the requests that are well-formed. */
const FIRST_ID = 1_000;
const OWN_TAB = 412;
const NEIGHBOURS_TAB = 900_719;
const TIMEOUT = { timeout: 1_200_000 };

const readFixtures = (folder) =>
  readdirSync(path.join(FIXTURES_DIR, folder)).map((name) =>
    JSON.parse(readFileSync(path.join(FIXTURES_DIR, folder, name), 'utf8')),
  );

/** What clients send, to the browser and to a page. */
const REQUESTS = [
  ...readFixtures('transcripts').flatMap(({ toPage }) => toPage),
  { method: 'Runtime.evaluate', params: { expression: '1', contextId: 1 } },
  { method: 'Page.navigate', params: { url: 'https://example.org/' } },
  { method: 'Fetch.enable', params: { patterns: [{ urlPattern: '*' }] } },
  { method: 'Fetch.continueRequest', params: { requestId: '1' } },
  { method: 'Target.getTargets', params: { filter: [{ type: 'page', exclude: false }] } },
  { method: 'Target.setDiscoverTargets', params: { discover: true } },
  { method: 'Browser.setDownloadBehavior', params: { behavior: 'allow', downloadPath: '/x' } },
  { method: 'Target.attachToTarget', params: { targetId: 'x', flatten: true } },
];

/** What the extension sends by itself. `pause` stops everyone, as it should. */
const EVENTS = readFixtures('wire')
  .filter(({ direction, message }) => direction === 'to-relay' && message.id === undefined)
  .map(({ message }) => message)
  .filter(({ method }) => !['hello', 'browser', 'pause', 'closePort'].includes(method));

let relay;
let extension;
let neighbour;

before(async () => {
  relay = await startRelay({ args: ['--client-mode', 'multi-client'] });
  extension = await startFakeExtension(relay, [OWN_TAB, NEIGHBOURS_TAB]);
  neighbour = await startNeighbour(relay.cdpUrl, `https://example.org/${NEIGHBOURS_TAB}`);
});

after(async () => {
  extension?.close();
  await relay?.stop();
});

/**
 * What one connection has to reply to.
 * @typedef {object} Requests
 * @property {Map<number, number>} expected How many replies each id must get.
 * @property {Set<number>} unclear Ids of texts that JavaScript and the relay may read differently.
 */

/** Only an object with an integer id is a request. @param {string} text @param {Requests} requests */
function expectReply(text, { expected, unclear }) {
  let message;
  try {
    message = JSON.parse(text);
  } catch {
    return;
  }
  const isObject = message !== null && typeof message === 'object' && !Array.isArray(message);
  if (isObject && Number.isSafeInteger(message.id)) {
    if (hasOneId(text) && !hasLoneSurrogate(text)) {
      addOne(expected, message.id);
    } else {
      [message.id, ...idsIn(text)].forEach((id) => unclear.add(id));
    }
  }
}

/** A number such as `1e3`, or a second key with the same name, is an id to JavaScript only. */
const hasOneId = (text) =>
  (text.match(/"id"/g)?.length ?? 0) === 1 && /"id"\s*:\s*-?\d+\s*[,}]/.test(text);

/** Half of a character is JSON to JavaScript only. */
const hasLoneSurrogate = (text) => /\\ud[89a-f]/i.test(text);

const idsIn = (text) => [...text.matchAll(/"id"\s*:\s*(-?\d+)/g)].map(([, id]) => Number(id));

/** @param {Map<number, number>} counts @param {number} id */
const addOne = (counts, id) => counts.set(id, (counts.get(id) ?? 0) + 1);

/** How many replies each id has. */
function countReplies(messages) {
  /** @type {Map<number, number>} */
  const counts = new Map();
  for (const { id } of messages) {
    if (Number.isSafeInteger(id)) {
      addOne(counts, id);
    }
  }
  return counts;
}

/**
 * Lets `send` send its requests on a connection of its own. Fails unless each of them was answered once.
 * @returns How many there were.
 */
async function attack(send) {
  const client = await connectRaw(relay.cdpUrl);
  const session = await client.attach(`https://example.org/${OWN_TAB}`);
  client.messages.length = 0;
  client.sent.length = 0;
  /** @type {Requests} */
  const requests = { expected: new Map(), unclear: new Set() };
  await send(client, session, requests);
  // A second reply to anything before this has arrived with its reply.
  await client.send('Target.getTargets');
  client.kill();
  const { expected, unclear } = requests;
  client.sent.forEach(({ id }) => addOne(expected, id));
  const counts = countReplies(client.messages);
  for (const id of unclear) {
    expected.delete(id);
    counts.delete(id);
  }
  for (const id of new Set([...expected.keys(), ...counts.keys()])) {
    assert.equal(counts.get(id) ?? 0, expected.get(id) ?? 0, `replies to ${id}`);
  }
  return sum(expected);
}

/** @param {Map<number, number>} counts */
const sum = (counts) => [...counts.values()].reduce((total, count) => total + count, 0);

/** Sends one round of mutated requests and waits until each is answered. */
async function sendRound(client, session, random, requests, firstId) {
  for (let n = 0; n < ROUND; n += 1) {
    const { method, params } = REQUESTS[random(REQUESTS.length)];
    const sessionId = random(4) === 0 ? undefined : session;
    const text = mutate(random, { id: firstId + n, method, params, sessionId });
    // A client may close its own connection.
    if (!text.includes('Browser.close')) {
      expectReply(text, requests);
      client.raw(text);
    }
  }
  await until(`${sum(requests.expected)} requests are answered`, () => {
    const counts = countReplies(client.messages);
    return [...requests.expected].every(([id, count]) => (counts.get(id) ?? 0) >= count);
  });
}

test(`${MESSAGES} malformed messages of a client`, TIMEOUT, async () => {
  const idle = await neighbour.check();
  const random = makeRandom(2);
  const requests = await attack(async (client, session, requests) => {
    for (let sent = 0; sent < MESSAGES; sent += ROUND) {
      await sendRound(client, session, random, requests, FIRST_ID + sent);
      if ((await client.send('Target.getTargets')).targetInfos.length === 0) {
        throw new Error('the tabs are gone');
      }
    }
  });
  assert.equal(relay.child.exitCode, null, 'the relay is running');
  const neighbours = compare(idle, await neighbour.check());
  reportRow({
    fault: `${MESSAGES} malformed messages of a client`,
    asked: 'every request answered once; a neighbour’s evaluate ≤ 3×',
    measured: `${requests} requests, each answered once; ${neighbours.text}`,
    met: neighbours.slower <= MAX_SLOWER,
  });
});

test(`${MESSAGES} malformed messages of the extension`, TIMEOUT, async () => {
  const random = makeRandom(3);
  const idle = await neighbour.check();
  // Replies to the commands of the other client are malformed too.
  extension.answer = (call) => {
    const isOwn = call.params?.tabId === OWN_TAB && call.method === 'cdpCommand';
    const reply = isOwn && mutate(random, { id: call.id, result: { result: { value: 1 } } });
    // Text that is not JSON ends the connection.
    return reply && isJson(reply) && namesOnlyItself(reply, call.id) ? reply : undefined;
  };
  const requests = await attack(async (client, session) => {
    for (let sent = 0; sent < MESSAGES; sent += ROUND) {
      for (let n = 0; n < ROUND; n += 1) {
        const text = mutate(random, EVENTS[random(EVENTS.length)]);
        if (isJson(text) && !/pause|closePort|"id"/.test(text)) {
          extension.send(text);
        }
      }
      await client.request('Runtime.evaluate', { expression: '1' }, session);
      await neighbour.check();
    }
  });
  extension.answer = () => undefined;
  assert.equal(extension.closings, 0, 'the extension stays connected');
  assert.equal(relay.child.exitCode, null, 'the relay is running');
  const neighbours = compare(idle, await neighbour.check());
  reportRow({
    fault: `${MESSAGES} malformed messages of an extension`,
    asked: 'every request answered once; a neighbour’s evaluate ≤ 3×',
    measured: `${requests} requests, each answered once; ${neighbours.text}`,
    met: neighbours.slower <= MAX_SLOWER,
  });
});

function isJson(text) {
  try {
    JSON.parse(text);
    return !hasLoneSurrogate(text);
  } catch {
    return false;
  }
}

/** Whether a reply names no other call, which the neighbour may be waiting for. */
const namesOnlyItself = (text, id) => {
  const ids = [...text.matchAll(/"id":([^,}]*)/g)].map(([, found]) => found);
  return ids.length > 0 && ids.every((found) => found === String(id));
};

/** Bytes that the relay may get on a new connection. */
function makeBytes(random) {
  const { pathname, search } = new URL(relay.cdpUrl);
  const paths = ['/', pathname + search, '/extension', '/json/list', '//', '/cdp', '*', '/\u0000'];
  const upgrade = [
    `GET ${paths[random(paths.length)]} HTTP/1.1`,
    `Host: 127.0.0.1:${relay.port}`,
    'Connection: Upgrade',
    'Upgrade: websocket',
    'Sec-WebSocket-Version: 13',
    'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
    '\r\n',
  ].join('\r\n');
  const head = Buffer.from(upgrade);
  const frame = Buffer.from(Array.from({ length: 2 + random(60) }, () => random(256)));
  if (random(2) === 0) {
    return Buffer.concat([head, frame]);
  }
  for (let changes = 1 + random(6); changes > 0; changes -= 1) {
    head[random(head.length)] = random(256);
  }
  return head.subarray(0, random(head.length + 1));
}

test(`${BROKEN} connections with broken frames and requests`, TIMEOUT, async () => {
  const random = makeRandom(4);
  const idle = await neighbour.check();
  for (let sent = 0; sent < BROKEN; sent += 1) {
    const socket = net.connect({ port: relay.port, host: '127.0.0.1' });
    socket.on('error', () => {});
    socket.resume();
    await once(socket, 'connect');
    const closed = once(socket, 'close');
    socket.end(makeBytes(random));
    if (sent % 20 === 0) {
      await neighbour.check();
    }
    await Promise.race([closed, until('it is closed', () => socket.destroyed, 20_000)]);
  }
  assert.equal(relay.child.exitCode, null, 'the relay is running');
  const neighbours = compare(idle, await neighbour.check());
  reportRow({
    fault: `${BROKEN} connections with broken frames and requests`,
    asked: 'all of them closed; a neighbour’s evaluate ≤ 3×',
    measured: `${BROKEN} closed; ${neighbours.text}`,
    met: neighbours.slower <= MAX_SLOWER,
  });
  await neighbour.stop();
});
