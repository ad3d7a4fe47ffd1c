/**
 * Where the published protocol carries the id of an execution context. The relay translates exactly these places
 * (`relay/core/src/translate.rs` is tested against the same file), so a newer protocol with one more fails here.
 */

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { createRequire } from 'node:module';
import { test } from 'node:test';

import { FIXTURES_DIR } from '../harness/processes.mjs';

const require = createRequire(import.meta.url);
const domains = ['browser_protocol', 'js_protocol'].flatMap(
  (name) => require(`devtools-protocol/json/${name}.json`).domains,
);
const types = new Map(
  domains.flatMap(({ domain, types: own = [] }) =>
    own.map((type) => [`${domain}.${type.id}`, type]),
  ),
);

/** Strings that name a context; the protocol gives them no type of their own. */
const UNIQUE_ID_NAMES = ['uniqueContextId', 'executionContextUniqueId'];

/** The paths below these properties that hold an id. Types that contain themselves are followed once. */
function* paths(domain, properties = [], prefix = [], seen = []) {
  for (const property of properties) {
    const here = [...prefix, property.type === 'array' ? `${property.name}[]` : property.name];
    const reference = property.$ref ?? property.items?.$ref;
    const full = reference && (reference.includes('.') ? reference : `${domain}.${reference}`);
    if (full === 'Runtime.ExecutionContextId' || UNIQUE_ID_NAMES.includes(property.name)) {
      yield here.join('.');
    } else if (full === 'Runtime.ExecutionContextDescription') {
      yield `${here.join('.')}.id`;
      yield `${here.join('.')}.uniqueId`;
    } else if (full && !seen.includes(full)) {
      yield* paths(full.split('.')[0], types.get(full)?.properties, here, [...seen, full]);
    }
  }
}

function derive() {
  const found = { params: [], results: [], events: [] };
  for (const { domain, commands = [], events = [] } of domains) {
    for (const { name, parameters, returns } of commands) {
      found.params.push(
        ...[...paths(domain, parameters)].map((place) => `${domain}.${name} ${place}`),
      );
      found.results.push(
        ...[...paths(domain, returns)].map((place) => `${domain}.${name} ${place}`),
      );
    }
    for (const { name, parameters } of events) {
      found.events.push(
        ...[...paths(domain, parameters)].map((place) => `${domain}.${name} ${place}`),
      );
    }
  }
  return Object.fromEntries(Object.entries(found).map(([kind, places]) => [kind, places.sort()]));
}

test('the places that carry context ids are those of the published protocol', async () => {
  const known = JSON.parse(await readFile(path.join(FIXTURES_DIR, 'context_ids.json'), 'utf8'));
  assert.deepEqual(derive(), known);
});

if (process.argv.includes('--print')) {
  console.log(JSON.stringify(derive(), null, 1));
}
