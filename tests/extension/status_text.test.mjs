/** What the user reads about a status. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeOpenPort, describeStatus } from '../../extension/status_text.js';

const ADDRESS = '127.0.0.1:19222';

const text = (state, more = {}) => {
  const { tone, headline, explanation, advice } = describeStatus({
    state,
    address: ADDRESS,
    attached: [],
    agents: [],
    ...more,
  });
  return { tone, headline, all: `${explanation} ${advice ?? ''}` };
};

test('connected: names the relay, its version, and this browser', () => {
  const { tone, headline, all } = text('connected', { version: '0.1.0', name: 'chrome' });
  assert.deepEqual([tone, headline], ['connected', 'Connected']);
  assert.match(all, /the relay at 127\.0\.0\.1:19222\. Relay version 0\.1\.0\..*“chrome”/);
  assert.doesNotMatch(text('connected', { version: '0.1.0' }).all, /“/);
});

test('an open port: names its end as the user reads the clock, and the port', () => {
  const until = new Date(2026, 10, 18, 14, 32).getTime();
  const clock = new Date(until).toLocaleTimeString([], { hour: 'numeric', minute: '2-digit' });
  assert.match(clock, /32/);
  const shown = describeOpenPort({ port: 9222, until });
  assert.ok(shown.startsWith(`Until ${clock}, any program that you run`), shown);
  assert.match(shown, /port 9222/);
});

test('paused: says that agents are stopped, and how they go on', () => {
  const { tone, headline, all } = text('connected', { version: '0.1.0', isPaused: true });
  assert.deepEqual([tone, headline], ['attention', 'Paused']);
  assert.match(all, /stopped all agents.*Resume/);
  assert.match(text('offline', { isPaused: true }).all, /No relay found.*paused agents.*Resume/);
});

test('connected: counts the tabs in use', () => {
  const used = (...attached) => text('connected', { version: '0.1.0', attached });
  assert.deepEqual([used(1).tone, used(1).headline], ['busy', '1 tab in use']);
  assert.equal(used(1, 2).headline, '2 tabs in use');
});

test('only a program that did not prove to be the relay is a danger', () => {
  const tones = {
    stopped: 'off',
    connecting: 'off',
    offline: 'off',
    notPaired: 'attention',
    rejected: 'attention',
    busy: 'attention',
    replaced: 'attention',
    otherVersion: 'attention',
    impostor: 'danger',
  };
  for (const [state, tone] of Object.entries(tones)) {
    assert.equal(text(state).tone, tone, state);
  }
});

test('impostor: says who listens where, and what to do', () => {
  const { all } = text('impostor');
  assert.match(all, /A program that is not your relay is listening on 127\.0\.0\.1:19222\./);
  assert.match(all, /“tabwire serve”/);
  assert.match(text('impostor', { timedOut: true }).all, /has not proven that it is your relay/);
});

test('rejected: warns if the pairing was accepted before', () => {
  assert.doesNotMatch(text('rejected').all, /may not be your relay/);
  assert.match(text('rejected', { wasAccepted: true }).all, /may not be your relay/);
  assert.equal(text('rejected', { wasAccepted: true }).tone, 'danger');
  assert.match(text('rejected').all, /“tabwire pair”/);
});

test('busy and replaced: name the other browser if it is known', () => {
  assert.match(text('busy', { holder: 'edge' }).all, /connected to “edge”/);
  assert.match(text('busy', { canTakeOver: true }).all, /one browser at a time/);
  assert.match(text('busy', { canTakeOver: false }).all, /for that browser only/);
  assert.match(text('replaced', { holder: 'edge' }).all, /now connected to “edge” instead of this/);
  assert.match(text('replaced').all, /now connected to another browser instead of this/);
});

test('otherVersion: says which side to update', () => {
  assert.match(text('otherVersion', { relayProtocol: 3 }).all, /Update the extension/);
  assert.match(
    text('otherVersion', { relayProtocol: 1 }).all,
    /Update Tabwire, then stop the relay/,
  );
  assert.match(text('otherVersion').all, /cannot work together.*Update Tabwire/);
});

test('never uses the words of engineers', () => {
  const states = ['stopped', 'connecting', 'offline', 'notPaired', 'rejected', 'busy', 'replaced'];
  for (const state of [...states, 'connected', 'otherVersion', 'impostor']) {
    const { headline, all } = text(state, { version: '0.1.0', attached: [1] });
    assert.doesNotMatch(`${headline} ${all}`, /slot|client|dormant|attach|handshake|undefined/i);
  }
});
