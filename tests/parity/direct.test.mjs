/**
 * Runs every operation through a relay that uses Chromium's own port (`--browser-url`), and on that
 * port itself, and compares what it returns.
 */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { startChromium, startRelay } from '../harness/processes.mjs';
import { operations } from './operations.mjs';
import { openInOwn, run, settled } from './run.mjs';
import { startParitySite } from './site.mjs';

let site;
let chromium;
let relay;

before(async () => {
  site = await startParitySite();
  chromium = await startChromium();
  const { port } = new URL(chromium.ownUrl);
  relay = await startRelay({ args: ['--browser-url', `http://127.0.0.1:${port}`] });
});

after(async () => {
  await relay?.stop();
  await chromium?.stop();
  site?.stop();
});

const open = (address) => openInOwn(chromium, address);

for (const operation of operations) {
  test(operation.name, { skip: operation.skipOnOwnPort ?? false }, async () => {
    const own = await settled(run(site, chromium.ownUrl, operation, open, false));
    const direct = await settled(run(site, relay.cdpUrl, operation, open, false));
    await relay.waitForClients(0);
    assert.equal(own.error?.message, undefined, 'own port');
    assert.equal(direct.error?.message, undefined, 'through the relay');
    assert.deepEqual(direct.value, own.value);
  });
}
