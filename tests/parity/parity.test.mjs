/**
 * Runs every operation as the first on a dormant tab, on a live tab, and on Chromium's own port,
 * and compares what it returns. Prints a table of the outcomes at the end.
 */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { openTabs } from '../harness/chain.mjs';
import { startChain, startChromium } from '../harness/processes.mjs';
import { operations } from './operations.mjs';
import { openInOwn, run, settled } from './run.mjs';
import { startParitySite } from './site.mjs';

let site;
let chain;
let own;
const table = [];

before(async () => {
  site = await startParitySite();
  chain = await startChain();
  own = await startChromium();
});

after(async () => {
  await chain?.stop();
  await own?.stop();
  site?.stop();
  const width = Math.max(...table.map(([name]) => name.length));
  for (const [name, ...cells] of table) {
    console.log(`${name.padEnd(width)}  ${cells.map((cell) => cell.padEnd(8)).join('')}`);
  }
});

async function runInChain(operation, isLive) {
  try {
    const open = (address) => openTabs(chain, [address]);
    return await run(site, chain.cdpUrl, operation, open, isLive);
  } finally {
    await chain.relay.waitForClients(0);
  }
}

for (const operation of operations) {
  test(operation.name, async () => {
    const outcomes = {
      dormant: await settled(runInChain(operation, false)),
      live: await settled(runInChain(operation, true)),
      own: operation.skipOnOwnPort
        ? { state: 'skipped' }
        : await settled(
            run(site, own.ownUrl, operation, (address) => openInOwn(own, address), false),
          ),
    };
    table.push([operation.name, ...Object.values(outcomes).map(({ state }) => state)]);
    for (const [where, { error }] of Object.entries(outcomes)) {
      assert.equal(error?.message, undefined, where);
    }
    assert.deepEqual(outcomes.dormant.value, outcomes.live.value, 'dormant and live');
    if (!operation.skipOnOwnPort) {
      assert.deepEqual(outcomes.dormant.value, outcomes.own.value, 'dormant and own port');
    }
  });
}
