/**
 * Finds every field of the published protocol that carries an execution context's id. The relay
 * translates exactly the fields listed in `fixtures/context_ids.json`, and its core is tested
 * against the same file, so a newer protocol with another such field fails here. Run this file with
 * `--print` to write the list anew.
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

/** Strings that identify a context. The protocol has no type for them. */
const UNIQUE_ID_NAMES = ['uniqueContextId', 'executionContextUniqueId'];

/** The paths under these properties that hold a context id. Recursive types are followed once. */
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

/** `Domain.method path` of every context id in these commands or events. */
const fieldsOf = (kind, properties) =>
  domains
    .flatMap(({ domain, [kind]: methods = [] }) =>
      methods.flatMap((method) =>
        [...paths(domain, method[properties])].map((field) => `${domain}.${method.name} ${field}`),
      ),
    )
    .sort();

const derive = () => ({
  params: fieldsOf('commands', 'parameters'),
  results: fieldsOf('commands', 'returns'),
  events: fieldsOf('events', 'parameters'),
});

test('the listed context id fields are those of the published protocol', async () => {
  const file = path.join(FIXTURES_DIR, 'context_ids.json');
  assert.deepEqual(derive(), JSON.parse(await readFile(file, 'utf8')));
});

if (process.argv.includes('--print')) {
  console.log(JSON.stringify(derive(), null, 1));
}
