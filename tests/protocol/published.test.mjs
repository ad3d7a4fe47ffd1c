/**
 * What the relay serves at `/json/protocol` is the published protocol that the tests know.
 */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';

import { published } from './published.mjs';

test('the served protocol is the published one, without its descriptions', () => {
  const file = new URL('../../relay/src/http/protocol.json', import.meta.url);
  const served = readFileSync(file, 'utf8').trim();
  assert.ok(served === published, 'Run published.mjs again, as its header says.');
  const page = JSON.parse(served).domains.find(({ domain }) => domain === 'Page');
  const navigate = page.commands.find(({ name }) => name === 'navigate');
  assert.equal(navigate.parameters[0].name, 'url');
});
