/**
 * The tables of `docs/coverage.md` are true: every method is sent to a page through the relay, and
 * answered or refused as they say. What they do not refuse exists wherever it exists on Chromium's
 * own port.
 */

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { test } from 'node:test';

import { attachedUrls, openTabs, untilDetached, useChain } from '../harness/chain.mjs';
import { ROOT } from '../harness/processes.mjs';
import { connectRaw } from '../harness/raw_client.mjs';

const require = createRequire(import.meta.url);
const domains = ['browser_protocol', 'js_protocol'].flatMap(
  (name) => require(`devtools-protocol/json/${name}.json`).domains,
);

/** What would end the page, stop its scripts, or end the session it is sent in. */
const NOT_SENT = [
  'Browser.close',
  'Debugger.pause',
  'Page.close',
  'Page.crash',
  'Page.waitForDebugger',
  'Runtime.terminateExecution',
  'Target.detachFromTarget',
];

const shared = useChain();

/**
 * What the first table says about each method: `forwarded`, `deferred`, `emulated`, `synthesized`
 * or `refused`.
 */
async function readTable() {
  const text = await readFile(path.join(ROOT, 'docs/coverage.md'), 'utf8');
  const rows = text.matchAll(/^\| `(\w+)` \| (\d+) \| (\w+).*? \| (.*) \|$/gm);
  const treatments = new Map();
  for (const [, domain, count, usual, exceptions] of rows) {
    const { commands } = domains.find((published) => published.domain === domain);
    assert.equal(commands.length, Number(count), domain);
    commands.forEach(({ name }) => treatments.set(`${domain}.${name}`, usual));
    for (const [, treatment, names] of exceptions.matchAll(
      /(\w+)(?: \([^)]*\))?: ((?:`\w+`,? ?)+)/g,
    )) {
      for (const [, name] of names.matchAll(/`(\w+)`/g)) {
        assert.ok(treatments.has(`${domain}.${name}`), name);
        treatments.set(`${domain}.${name}`, treatment);
      }
    }
  }
  return treatments;
}

/** Every method, with parameters of the wrong type, so that Chrome carries out hardly any. */
const allCommands = domains.flatMap(({ domain, commands }) =>
  commands.map(({ name, parameters = [] }) => ({
    method: `${domain}.${name}`,
    params: Object.fromEntries(
      parameters.map(({ name: of, type }) => [of, type === 'array' ? 1 : []]),
    ),
  })),
);

/** Sends commands to the page at this address, and returns the error of each. */
async function sendAll(cdpUrl, url, commands) {
  const client = await connectRaw(cdpUrl);
  try {
    const session = await client.attach(url);
    await client.send('Runtime.evaluate', { expression: '1' }, session);
    const errors = new Map();
    for (const { method, params } of commands) {
      const { error } = await client.request(method, params, session);
      errors.set(method, error?.message ?? '');
    }
    return errors;
  } finally {
    await client.close();
  }
}

const isMissing = (message) => /wasn't found|Not allowed/.test(message);

test('the tables of the documentation have every method and are true', async () => {
  const table = await readTable();
  assert.deepEqual(
    [...table.keys()].sort(),
    allCommands.map(({ method }) => method).sort(),
    'every method is listed',
  );
  const urls = ['about:blank#relay', 'about:blank#own'];
  await openTabs(shared.chain, urls);
  const sent = allCommands.filter(({ method }) => !NOT_SENT.includes(method));
  const relayed = await sendAll(shared.chain.cdpUrl, urls[0], sent);
  // Of the refused domains, some would stop the extension or hang the page.
  const granted = sent.filter(({ method }) => table.get(method) !== 'refused');
  const own = await sendAll(shared.chain.chromium.ownUrl, urls[1], granted);
  for (const { method } of sent) {
    const error = relayed.get(method);
    if (table.get(method) === 'refused') {
      assert.ok(error.includes(method), `${method} is refused: ${error}`);
      assert.match(error, /wasn't found|Use |Send /, method);
    } else if (!isMissing(own.get(method))) {
      assert.ok(!isMissing(error), `${method} is ${table.get(method)}: ${error}`);
    }
  }
});

test('refused and deferred methods attach no debugger', async () => {
  await untilDetached(shared.chain);
  const table = await readTable();
  const client = await connectRaw(shared.chain.cdpUrl);
  const session = await client.attach('about:blank#relay');
  const isSent = ({ method, params }) =>
    table.get(method) === 'refused' ||
    // Invalid parameters would be Chrome's to reject.
    (table.get(method) === 'deferred' && Object.keys(params).length === 0);
  const sent = allCommands.filter(isSent);
  assert.ok(sent.length > 200, String(sent.length));
  for (const { method, params } of sent) {
    await client.request(method, params, session);
  }
  assert.deepEqual(await attachedUrls(shared.chain), []);
  await client.close();
});
