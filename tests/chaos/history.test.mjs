/** The history checker rejects bad histories, and accepts a good one. */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { violationsOf } from './history.mjs';

const SESSION = 'A'.repeat(32);

const received = (message, from = 'client-1') => ({ from, to: 'relay', message });
const sent = (message, to = 'client-1') => ({ from: 'relay', to, message });
const forwarded = (mark) => ({
  from: 'relay',
  to: 'extension',
  message: { id: mark, method: 'cdpCommand', params: { params: { expression: `#${mark}#` } } },
});

const opened = sent({ method: 'Target.attachedToTarget', params: { sessionId: SESSION } });
const closed = sent({ method: 'Target.detachedFromTarget', params: { sessionId: SESSION } });
const request = (id, mark) =>
  received({
    id,
    method: 'Runtime.evaluate',
    params: { expression: `#${mark}#` },
    sessionId: SESSION,
  });
const reply = (id, content = { result: {} }) => sent({ id, ...content, sessionId: SESSION });
const logged = (mark, sessionId = SESSION) =>
  sent({
    method: 'Runtime.consoleAPICalled',
    params: { args: [{ type: 'string', value: `tick #${mark}#` }] },
    sessionId,
  });

/** Two requests at once, answered in another order, and events in between. */
const GOOD = [
  opened,
  request(1, 7),
  request(2, 8),
  forwarded(7),
  forwarded(8),
  logged(1),
  reply(2),
  logged(2),
  reply(1),
  closed,
];
const EXECUTED = [7, 8];

/** The messages of the only client, as it would have recorded them itself. */
function recordOf(entries, changes = {}) {
  const messages = (way) => entries.filter((entry) => way in entry && entry[way] === 'client-1');
  return {
    received: messages('to').map(({ message }) => message),
    sent: messages('from').map(({ message }) => message),
    hasLeft: false,
    ...changes,
  };
}

/** The first entry is replaced by the others. */
const replacing = (entry, ...others) =>
  GOOD.flatMap((existing) => (existing === entry ? others : [existing]));

function assertRejected(pattern, history) {
  const violations = violationsOf({ executed: EXECUTED, ...history });
  assert.ok(
    violations.some((violation) => pattern.test(violation)),
    `${pattern} in ${JSON.stringify(violations)}`,
  );
}

test('accepts a good history', () => {
  const history = { entries: GOOD, clients: [recordOf(GOOD)], executed: EXECUTED };
  assert.deepEqual(violationsOf(history), []);
});

test('accepts an outcome that is unknown, whether the command ran or not', () => {
  const unknown = reply(1, { error: { code: -32000, message: 'its outcome is unknown.' } });
  for (const executed of [[8], EXECUTED]) {
    assert.deepEqual(violationsOf({ entries: replacing(GOOD[8], unknown), executed }), []);
  }
});

test('rejects a second reply', () => {
  assertRejected(/reply to 1, which is not pending/, { entries: [...GOOD, reply(1)] });
});

test('rejects a reply to no request', () => {
  assertRejected(/reply to 99, which is not pending/, { entries: [...GOOD, reply(99)] });
});

test('rejects a missing reply', () => {
  const entries = replacing(GOOD[8]);
  assertRejected(/no reply to 1 \(Runtime.evaluate\)/, { entries, clients: [recordOf(entries)] });
});

test('a client that has left may miss replies', () => {
  const entries = replacing(GOOD[8]);
  const clients = [recordOf(entries, { hasLeft: true })];
  assert.deepEqual(violationsOf({ entries, clients, executed: EXECUTED }), []);
});

test('rejects what a client lacks that has left after its requests were answered', () => {
  const left = { hasLeft: true, isSettled: true };
  const entries = replacing(GOOD[8]);
  const unanswered = [recordOf(entries, left)];
  assertRejected(/no reply to 1 \(Runtime.evaluate\)/, { entries, clients: unanswered });
  const own = recordOf(GOOD, left);
  const withoutEvent = { ...own, received: own.received.toSpliced(3, 1) };
  assertRejected(/did not receive/, { entries: GOOD, clients: [withoutEvent] });
  const withoutEnd = { ...own, received: own.received.slice(0, -1) };
  const clients = [withoutEnd];
  assert.deepEqual(violationsOf({ entries: GOOD, clients, executed: EXECUTED }), []);
});

test('rejects a reply on another session', () => {
  const elsewhere = sent({ id: 1, result: {}, sessionId: 'B'.repeat(32) });
  assertRejected(/reply to 1 on session BBB/, { entries: replacing(GOOD[8], elsewhere) });
});

test('rejects a reply with neither a result nor an error', () => {
  assertRejected(/not either/, { entries: replacing(GOOD[8], reply(1, {})) });
});

test('rejects an event on the session of another client', () => {
  const foreign = { ...logged(3), to: 'client-2' };
  assertRejected(/client-2: Runtime.consoleAPICalled on session/, { entries: [...GOOD, foreign] });
});

test('rejects an event on a session that has ended', () => {
  assertRejected(/which is not open/, { entries: [...GOOD, logged(3)] });
});

test('rejects events in another order, and repeated ones', () => {
  const swapped = GOOD.with(5, logged(2)).with(7, logged(1));
  assertRejected(/received #1# after #2#/, { entries: swapped });
  assertRejected(/received #1# after #1#/, { entries: replacing(GOOD[7], logged(1)) });
});

test('rejects a command that is sent to the browser again', () => {
  const entries = replacing(GOOD[5], forwarded(7));
  assertRejected(/#7# went to the browser twice/, { entries });
});

test('rejects commands of a session in another order', () => {
  const entries = GOOD.with(3, forwarded(8)).with(4, forwarded(7));
  assertRejected(/#7# went to the browser after #8#/, { entries });
});

test('rejects what was executed twice', () => {
  assertRejected(/#8# was executed 2 times/, { entries: GOOD, executed: [7, 8, 8] });
});

test('rejects a success of what was not executed', () => {
  assertRejected(/#8# succeeded and was not executed/, { entries: GOOD, executed: [7] });
});

test('rejects the execution of what was refused', () => {
  const refused = reply(1, { error: { code: -32000, message: 'This command was not sent.' } });
  assertRejected(/#7# was executed although/, { entries: replacing(GOOD[8], refused) });
});

test('rejects a client that received something else than the relay sent', () => {
  const own = recordOf(GOOD);
  const lost = { ...own, received: own.received.toSpliced(1, 1) };
  const added = { ...own, received: [...own.received, { method: 'Page.loadEventFired' }] };
  const swapped = { ...own, received: own.received.toReversed() };
  for (const client of [lost, added, swapped]) {
    assertRejected(/did not receive what the relay sent/, { entries: GOOD, clients: [client] });
  }
});

test('tells a client that left at once from another that received the same at first', () => {
  const elsewhere = GOOD.map(({ from, to, message }) => {
    const rename = (peer) => (peer === 'client-1' ? 'client-0' : peer);
    return { from: rename(from), to: rename(to), message };
  });
  const short = elsewhere.slice(0, 2);
  const clients = [recordOf(GOOD.slice(0, 2), { hasLeft: true }), recordOf(GOOD)];
  const entries = [...short, ...GOOD];
  assert.deepEqual(violationsOf({ entries, clients, executed: EXECUTED }), []);
  const reversed = [...GOOD, ...short];
  assert.deepEqual(violationsOf({ entries: reversed, clients, executed: EXECUTED }), []);
});

test('a client that left at once may be missing in the recording', () => {
  const silent = { received: [], sent: [], hasLeft: true };
  const clients = [silent, recordOf(GOOD)];
  assert.deepEqual(violationsOf({ entries: GOOD, clients, executed: EXECUTED }), []);
});

test('a recording that ends early is compared as far as it goes', () => {
  const clients = [recordOf(GOOD)];
  const entries = GOOD.slice(0, 7);
  assertRejected(/did not receive/, { entries, clients });
  const violations = violationsOf({ entries, clients, executed: EXECUTED, isCut: true });
  assert.deepEqual(violations, []);
});
