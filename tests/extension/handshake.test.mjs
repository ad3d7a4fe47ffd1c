/** Proofs, and the handshake as the extension sees it. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { Handshake, isProof, prove } from '../../extension/handshake.js';
import {
  busy,
  challenge,
  factsOf,
  newNonce,
  proofOf,
  SECRET,
  welcome,
} from '../harness/handshake.mjs';
import { FIXTURES_DIR } from '../harness/processes.mjs';

const VECTOR = JSON.parse(readFileSync(path.join(FIXTURES_DIR, 'handshake.json'), 'utf8'));
const ADDRESS = '127.0.0.1:19222';
const INSTALL_ID = '6f1f3c0e-7a54-4c1e-9d53-0b5a8a6f2d11';
const IMPOSTOR = { outcome: { state: 'impostor' } };

const newHandshake = (more = {}) =>
  new Handshake({
    address: ADDRESS,
    secret: SECRET,
    installId: INSTALL_ID,
    takeOver: false,
    ...more,
  });

const receive = (handshake, message) => handshake.onFrame(JSON.stringify(message));

/** A handshake that has sent its `hello`, and what its proofs are about. */
async function greeted(more) {
  const handshake = newHandshake(more);
  const nonce = newNonce();
  const hello = JSON.parse((await receive(handshake, challenge(nonce))).send);
  return { handshake, hello, facts: factsOf(nonce, hello, ADDRESS) };
}

// ---- proofs ----

test('makes and accepts the proofs of the test vector', async () => {
  const { secret, extensionProof, relayProof, ...facts } = VECTOR;
  assert.equal(await prove(secret, 'extension', facts), extensionProof);
  assert.equal(await prove(secret, 'relay', facts), relayProof);
  assert.equal(await isProof(secret, 'extension', facts, extensionProof), true);
  assert.equal(await isProof(secret, 'relay', facts, relayProof), true);
});

test('a proof is good for one role, one pair of nonces, one installation and one address', async () => {
  const { secret, extensionProof, relayProof, ...facts } = VECTOR;
  assert.equal(await isProof(secret, 'relay', facts, extensionProof), false);
  assert.equal(await isProof(newNonce(), 'relay', facts, relayProof), false);
  for (const [name, value] of Object.entries({
    relayNonce: newNonce(),
    extensionNonce: newNonce(),
    installId: crypto.randomUUID(),
    address: '127.0.0.1:19223',
  })) {
    assert.equal(await isProof(secret, 'relay', { ...facts, [name]: value }, relayProof), false);
  }
});

test('rejects what is not a proof at all', async () => {
  const { secret, relayProof, extensionProof: _, ...facts } = VECTOR;
  for (const proof of [
    undefined,
    null,
    7,
    '',
    {},
    [relayProof],
    `${relayProof}=`,
    relayProof.slice(1),
  ]) {
    assert.equal(await isProof(secret, 'relay', facts, proof), false, String(proof));
  }
});

test('makes no proof with an empty or incomplete secret', async () => {
  const { secret: _, extensionProof: _proof, relayProof: _other, ...facts } = VECTOR;
  for (const secret of ['', 'AAAA', SECRET.slice(1)]) {
    await assert.rejects(prove(secret, 'extension', facts), /32 bytes/);
  }
});

// ---- hello ----

test('answers a challenge with a proof and nothing about the browser', async () => {
  const { hello, facts } = await greeted();
  assert.deepEqual(hello, {
    method: 'hello',
    params: {
      protocol: 2,
      installId: INSTALL_ID,
      nonce: facts.extensionNonce,
      proof: proofOf('extension', facts),
      takeOver: false,
    },
  });
  assert.match(facts.extensionNonce, /^[\w-]{43}$/);
});

test('uses a fresh nonce for each connection', async () => {
  const nonces = [];
  for (let i = 0; i < 3; i += 1) {
    nonces.push((await greeted()).facts.extensionNonce);
  }
  assert.equal(new Set(nonces).size, 3);
});

test('asks to take over only if told so', async () => {
  assert.equal((await greeted({ takeOver: true })).hello.params.takeOver, true);
});

test('reports another protocol version without sending anything', async () => {
  for (const relayProtocol of [1, 3]) {
    assert.deepEqual(await receive(newHandshake(), challenge(newNonce(), relayProtocol)), {
      outcome: { state: 'otherVersion', relayProtocol },
    });
  }
});

test('takes anything else but a challenge for an impostor', async () => {
  for (const message of [
    { method: 'challenge' },
    { method: 'challenge', params: {} },
    { method: 'challenge', params: { protocol: '2', nonce: newNonce() } },
    { method: 'challenge', params: { protocol: 2 } },
    { method: 'challenge', params: { protocol: 2, nonce: 7 } },
    { method: 'challenge', params: { protocol: 2, nonce: '' } },
    { method: 'challenge', params: { protocol: 2, nonce: `${newNonce()}\nrelay` } },
    { id: 1, ...challenge(newNonce()) },
    { id: 1, method: 'listTabs' },
    { method: 'ping' },
    { method: 'welcome', params: { proof: newNonce(), version: '0.1.0' } },
    [],
    [challenge(newNonce()), challenge(newNonce())],
    null,
  ]) {
    const step = await receive(newHandshake(), message);
    assert.deepEqual(step, IMPOSTOR, JSON.stringify(message));
  }
  assert.deepEqual(await newHandshake().onFrame('not json'), IMPOSTOR);
});

// ---- the relay's answer ----

test('accepts a welcome with the relay’s proof', async () => {
  const { handshake, facts } = await greeted();
  assert.deepEqual(await receive(handshake, welcome(facts)), {
    outcome: { state: 'connected', version: '0.1.0', name: 'chrome' },
  });
});

test('accepts a welcome without a name', async () => {
  const { handshake, facts } = await greeted();
  const { method, params } = welcome(facts);
  delete params.name;
  assert.deepEqual(await receive(handshake, { method, params }), {
    outcome: { state: 'connected', version: '0.1.0' },
  });
});

test('believes who is connected instead only with the relay’s proof', async () => {
  const { handshake, facts } = await greeted();
  assert.deepEqual(await receive(handshake, busy(facts)), {
    outcome: { state: 'busy', holder: 'edge', canTakeOver: true },
  });
  const second = await greeted();
  const forged = busy(second.facts, { secret: newNonce() });
  assert.deepEqual(await receive(second.handshake, forged), IMPOSTOR);
});

/** Answers that only an impostor sends. */
const FORGERIES = {
  'without a proof': () => ({ method: 'welcome', params: { version: '0.1.0' } }),
  'with a proof of another secret': ({ facts }) => welcome(facts, { secret: newNonce() }),
  'that reflects our own proof': ({ hello }) => ({
    method: 'welcome',
    params: { proof: hello.params.proof, version: '0.1.0' },
  }),
  'with the proof of another connection': async () => welcome((await greeted()).facts),
  'of a relay at another address': ({ facts }) => welcome({ ...facts, address: '127.0.0.1:4000' }),
  'for another installation': ({ facts }) => welcome({ ...facts, installId: crypto.randomUUID() }),
  'that is a call': ({ facts }) => ({ id: 1, ...welcome(facts) }),
  'that is a second challenge': () => challenge(newNonce()),
  'that is a command': () => ({ id: 1, method: 'listTabs' }),
  'with a command beside it': ({ facts }) => [welcome(facts), { id: 1, method: 'listTabs' }],
};

for (const [name, forge] of Object.entries(FORGERIES)) {
  test(`takes an answer ${name} for an impostor's`, async () => {
    const connection = await greeted();
    assert.deepEqual(await receive(connection.handshake, await forge(connection)), IMPOSTOR);
  });
}
