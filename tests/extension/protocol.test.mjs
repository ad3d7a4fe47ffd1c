/** Encoding and decoding of messages, beyond the fixtures that `wire.test.mjs` checks. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  describeError,
  errorReply,
  event,
  joinFrame,
  parseFrame,
  parseStatus,
  reply,
} from '../../extension/protocol.js';

test('writes an empty object for a missing result', () => {
  assert.deepEqual(JSON.parse(reply(3, undefined)), { id: 3, result: {} });
  assert.deepEqual(JSON.parse(reply(3, null)), { id: 3, result: {} });
  assert.deepEqual(JSON.parse(reply(3, { a: 1 })), { id: 3, result: { a: 1 } });
});

test('keeps a result of false or zero', () => {
  assert.deepEqual(JSON.parse(reply(3, 0)), { id: 3, result: 0 });
  assert.deepEqual(JSON.parse(reply(3, false)), { id: 3, result: false });
});

test('omits missing parameters of an event', () => {
  assert.equal(event('pong'), '{"method":"pong"}');
  assert.equal(event('tabRemoved', { tabId: 1 }), '{"method":"tabRemoved","params":{"tabId":1}}');
});

test('writes one message as an object, and several as an array', () => {
  assert.equal(joinFrame(['{"a":1}']), '{"a":1}');
  assert.equal(joinFrame(['{"a":1}', '{"b":2}']), '[{"a":1},{"b":2}]');
});

test('reads a single message and an array', () => {
  assert.deepEqual(parseFrame('{"method":"ping"}'), [{ method: 'ping' }]);
  assert.deepEqual(parseFrame('[{"method":"ping"},{"id":1,"method":"listTabs"}]'), [
    { method: 'ping' },
    { id: 1, method: 'listTabs' },
  ]);
});

test('skips invalid messages and keeps the valid ones', () => {
  for (const text of [
    '',
    'not json',
    'null',
    '7',
    '"ping"',
    '{}',
    '{"method":7}',
    '[]',
    '[null]',
  ]) {
    assert.deepEqual(parseFrame(text), [], text);
  }
  assert.deepEqual(parseFrame('[null,7,{"id":1},{"method":"ping"}]'), [{ method: 'ping' }]);
});

test("keeps code, message and data of Chrome's errors", () => {
  const coded = { code: -32000, message: 'Cannot find context with specified id', data: 'more' };
  assert.deepEqual(describeError(new Error(JSON.stringify(coded))), coded);
  assert.deepEqual(JSON.parse(errorReply(4, new Error(JSON.stringify(coded)))), {
    id: 4,
    error: coded,
  });
});

test('describes any other error by its text', () => {
  assert.equal(describeError(new Error('No tab with id: 7.')), 'No tab with id: 7.');
  assert.equal(describeError('thrown as text'), 'thrown as text');
  assert.equal(describeError(undefined), 'undefined');
  for (const text of ['{ not json', '{"code":"7","message":"x"}', '{"code":7}', '{}']) {
    assert.equal(describeError(new Error(text)), text);
  }
});

test('reads a status and skips what has another shape', () => {
  const agent = { name: 'playwright', tabs: [1, 2] };
  assert.deepEqual(parseStatus({ name: 'chrome', clients: [agent] }), {
    name: 'chrome',
    agents: [agent],
  });
  assert.deepEqual(parseStatus({ clients: [agent] }), { agents: [agent] });
  const odd = [null, 7, {}, { name: 7, tabs: [] }, { name: 'x' }, { name: 'y', tabs: ['1', 2] }];
  assert.deepEqual(parseStatus({ name: 7, clients: odd }), {
    agents: [{ name: 'y', tabs: [2] }],
  });
  for (const params of [undefined, null, 7, {}, { clients: 'x' }]) {
    assert.deepEqual(parseStatus(params), { agents: [] });
  }
  const openPort = { port: 9222, until: 1_795_012_320_000 };
  assert.deepEqual(parseStatus({ openPort: { ...openPort, more: 1 } }), { agents: [], openPort });
  for (const wrong of [null, 7, {}, { port: '9222', until: 1 }, { port: 9222, until: null }]) {
    assert.deepEqual(parseStatus({ openPort: wrong }), { agents: [] });
  }
});
