/** One attempt to connect: probing, the handshake on a socket, and its time limits. */

import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { dial } from '../../extension/dial.js';
import { busy, challenge, newNonce, SECRET, welcome } from '../harness/handshake.mjs';
import { FakeBrowser, settle } from './fake_chrome.mjs';
import { FakeSocket } from './fake_socket.mjs';
import { sendChallenge } from './worker.mjs';

const ADDRESS = '127.0.0.1:4000';
let browser;

beforeEach(() => {
  browser = new FakeBrowser();
  FakeSocket.reset();
  globalThis.WebSocket = FakeSocket;
  globalThis.fetch = (url, options) => browser.fetch(url, options);
});

/** Starts an attempt. `outcome` is set once it has ended. */
async function startDial(more = {}) {
  const abort = new AbortController();
  const credentials = { address: ADDRESS, secret: SECRET, installId: 'x', takeOver: false };
  const attempt = { abort: () => abort.abort(), outcome: undefined };
  dial({ ...credentials, ...more }, abort.signal).then((outcome) => (attempt.outcome = outcome));
  await settle();
  attempt.socket = FakeSocket.last;
  return attempt;
}

/** An attempt whose `hello` has been sent, and what its proofs are about. */
async function startGreeted() {
  const attempt = await startDial();
  return { ...attempt, attempt, facts: await sendChallenge(attempt.socket) };
}

// ---- before the socket ----

test('probes the address before opening a socket', async () => {
  const { socket } = await startDial();
  assert.deepEqual(browser.callsTo('fetch'), [[`http://${ADDRESS}/`]]);
  assert.equal(socket.url, `ws://${ADDRESS}/extension`);
});

test('opens no socket if nothing is listening', async () => {
  browser.listener = 'none';
  const attempt = await startDial();
  assert.deepEqual(attempt.outcome, { state: 'offline' });
  assert.deepEqual(FakeSocket.all, []);
});

test('opens no socket to a listener that does not answer', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  browser.listener = 'silent';
  const attempt = await startDial();
  t.mock.timers.tick(999);
  await settle();
  assert.equal(attempt.outcome, undefined);
  t.mock.timers.tick(1);
  await settle();
  assert.deepEqual(attempt.outcome, { state: 'impostor', timedOut: true });
  assert.deepEqual(FakeSocket.all, []);
});

test('without a secret, does not even probe', async () => {
  const attempt = await startDial({ secret: '' });
  assert.deepEqual(attempt.outcome, { state: 'notPaired' });
  assert.deepEqual([browser.calls, FakeSocket.all], [[], []]);
});

// ---- the handshake ----

test('sends nothing before the challenge, and only hello before the proof', async () => {
  const { socket, attempt, facts } = await startGreeted();
  assert.equal(socket.frames.length, 1);
  socket.receive(welcome(facts));
  await settle();
  const { state, version, name } = attempt.outcome;
  assert.deepEqual([state, version, name], ['connected', '0.1.0', 'chrome']);
  assert.equal(attempt.outcome.socket, socket);
  assert.equal(socket.frames.length, 1);
  assert.equal(socket.isClosed, false);
});

test('reports a busy relay, even if it closes the connection at once', async () => {
  const { socket, attempt, facts } = await startGreeted();
  socket.receive(busy(facts));
  socket.drop(4409);
  await settle();
  assert.deepEqual(attempt.outcome, { state: 'busy', holder: 'edge', canTakeOver: true });
});

test('reports a relay that closes the connection right after its welcome as gone', async () => {
  const { socket, attempt, facts } = await startGreeted();
  socket.receive(welcome(facts));
  socket.drop(1001);
  await settle();
  assert.deepEqual(attempt.outcome, { state: 'offline' });
});

test('closes the socket if the proof is wrong', async () => {
  const { socket, attempt, facts } = await startGreeted();
  socket.receive(welcome(facts, { secret: newNonce() }));
  await settle();
  assert.deepEqual(attempt.outcome, { state: 'impostor' });
  assert.ok(socket.isClosed);
});

for (const [code, outcome] of [
  [4401, { state: 'rejected' }],
  [4403, { state: 'rejected' }],
  [4406, { state: 'otherVersion' }],
  // Not preceded by a proof.
  [4409, { state: 'impostor' }],
  [4000, { state: 'impostor' }],
  [1000, { state: 'impostor' }],
  [1006, { state: 'impostor' }],
  // The user's own relay may close with these, too.
  [1001, { state: 'impostor', timedOut: true }],
  [1008, { state: 'impostor', timedOut: true }],
  [1013, { state: 'impostor', timedOut: true }],
]) {
  test(`maps close code ${code} to ${outcome.state}`, async () => {
    const { socket, attempt } = await startGreeted();
    socket.drop(code);
    await settle();
    assert.deepEqual(attempt.outcome, outcome);
  });
}

test('a connection that closes while hello is being made sends none', async () => {
  const attempt = await startDial();
  attempt.socket.receive(challenge(newNonce()));
  attempt.socket.drop(1006);
  await settle();
  assert.equal(attempt.outcome.state, 'impostor');
  assert.deepEqual(attempt.socket.frames, []);
});

test('a frame that does not wait for hello is from an impostor', async () => {
  const attempt = await startDial();
  attempt.socket.receive(challenge(newNonce()));
  attempt.socket.receive(challenge(newNonce()));
  await settle();
  assert.deepEqual(attempt.outcome, { state: 'impostor' });
  assert.deepEqual(attempt.socket.frames, []);
});

// ---- limits ----

test('gives up after two seconds, and ignores what comes later', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { socket, attempt, facts } = await startGreeted();
  t.mock.timers.tick(1_999);
  await settle();
  assert.equal(attempt.outcome, undefined);
  t.mock.timers.tick(1);
  await settle();
  assert.deepEqual(attempt.outcome, { state: 'impostor', timedOut: true });
  assert.ok(socket.isClosed);
  socket.receive(welcome(facts));
  await settle();
  assert.deepEqual(attempt.outcome, { state: 'impostor', timedOut: true });
});

test('a welcome that arrives in time but is checked too late does not count', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { socket, attempt, facts } = await startGreeted();
  socket.receive(welcome(facts));
  t.mock.timers.tick(2_000);
  await settle();
  assert.deepEqual(attempt.outcome, { state: 'impostor', timedOut: true });
  assert.ok(socket.isClosed);
});

test('an aborted attempt closes its socket', async () => {
  const attempt = await startDial();
  attempt.abort();
  await settle();
  assert.deepEqual(attempt.outcome, { state: 'stopped' });
  assert.ok(attempt.socket.isClosed);
});

test('an attempt that is aborted while probing opens no socket', async () => {
  browser.listener = 'silent';
  const attempt = await startDial();
  attempt.abort();
  await settle();
  assert.deepEqual(attempt.outcome, { state: 'stopped' });
  assert.deepEqual(FakeSocket.all, []);
});
