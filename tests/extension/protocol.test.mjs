/** How messages are written and read, apart from what the fixtures show (`wire.test.mjs`). */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  describeError,
  errorReply,
  event,
  joinFrame,
  parseFrame,
  reply,
} from '../../extension/protocol.js';

test('a result of nothing is written as an empty object, because a reply without result says nothing', () => {
  assert.deepEqual(JSON.parse(reply(3, undefined)), { id: 3, result: {} });
  assert.deepEqual(JSON.parse(reply(3, null)), { id: 3, result: {} });
  assert.deepEqual(JSON.parse(reply(3, { a: 1 })), { id: 3, result: { a: 1 } });
});

test('a result that is false or zero is kept', () => {
  assert.deepEqual(JSON.parse(reply(3, 0)), { id: 3, result: 0 });
  assert.deepEqual(JSON.parse(reply(3, false)), { id: 3, result: false });
});

test('an event without parameters has none', () => {
  assert.equal(event('pong'), '{"method":"pong"}');
  assert.equal(event('tabRemoved', { tabId: 1 }), '{"method":"tabRemoved","params":{"tabId":1}}');
});

test('one message is a frame as it is, several are an array', () => {
  assert.equal(joinFrame(['{"a":1}']), '{"a":1}');
  assert.equal(joinFrame(['{"a":1}', '{"b":2}']), '[{"a":1},{"b":2}]');
});

test('a frame of one message and a frame of several are read alike', () => {
  assert.deepEqual(parseFrame('{"method":"ping"}'), [{ method: 'ping' }]);
  assert.deepEqual(parseFrame('[{"method":"ping"},{"id":1,"method":"listTabs"}]'), [
    { method: 'ping' },
    { id: 1, method: 'listTabs' },
  ]);
});

test('what is no message is passed over, and its neighbours are kept', () => {
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

test("an error with Chrome's code keeps code, message and data", () => {
  const coded = { code: -32000, message: 'Cannot find context with specified id', data: 'more' };
  assert.deepEqual(describeError(new Error(JSON.stringify(coded))), coded);
  assert.deepEqual(JSON.parse(errorReply(4, new Error(JSON.stringify(coded)))), {
    id: 4,
    error: coded,
  });
});

test('every other error is its text', () => {
  assert.equal(describeError(new Error('No tab with id: 7.')), 'No tab with id: 7.');
  assert.equal(describeError('thrown as text'), 'thrown as text');
  assert.equal(describeError(undefined), 'undefined');
  for (const text of ['{ not json', '{"code":"7","message":"x"}', '{"code":7}', '{}']) {
    assert.equal(describeError(new Error(text)), text);
  }
});
