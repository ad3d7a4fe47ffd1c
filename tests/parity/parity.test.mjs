/**
 * Runs every operation as the first on a dormant tab, on a live tab, and on Chromium's own port,
 * and compares what it returns. Prints a table of the outcomes at the end.
 */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { chromium as playwright } from 'playwright-core';

import { openTabs, pageAt } from '../harness/chain.mjs';
import { startChain, startChromium, until } from '../harness/processes.mjs';
import { operations } from './operations.mjs';
import { startParitySite } from './site.mjs';

/** Playwright's default of 30 seconds would make a broken build take an hour. */
const OPERATION_TIMEOUT_MS = 8_000;
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

/** Makes results of different ports and addresses comparable. */
const normalize = (value) =>
  JSON.parse(
    JSON.stringify(value ?? null)
      .replaceAll(String(site.port), 'PORT')
      .replaceAll('&live', ''),
  );

/** Runs an operation on a page that a new client finds open. `isLive` uses the page before. */
async function run(url, operation, openPage, isLive) {
  const query = `${encodeURIComponent(operation.name)}${isLive ? '&live' : ''}`;
  const address = site.url(`${operation.at ?? '/form'}?${query}`);
  await openPage(address);
  const browser = await playwright.connectOverCDP(url);
  const context = browser.contexts()[0];
  context.setDefaultTimeout(OPERATION_TIMEOUT_MS);
  const page = pageAt(context, address);
  try {
    assert.ok(page, 'the tab is announced');
    if (isLive) {
      await page.evaluate(() => document.title);
    }
    return normalize(await operation.run(page, { context, site }));
  } finally {
    if (page && !page.isClosed()) {
      await page.close();
    }
    await browser.close();
  }
}

/** Opens a tab over HTTP, because a client of the port would leave traces in it. */
async function openInOwn(address) {
  const { port } = new URL(own.ownUrl);
  await fetch(`http://127.0.0.1:${port}/json/new?${encodeURI(address)}`, { method: 'PUT' });
  await until('the tab has loaded', async () => {
    const tabs = await (await fetch(`http://127.0.0.1:${port}/json/list`)).json();
    // Until the document has a title, Chrome shows the address instead.
    const hasTitle = ({ title }) => title && !title.startsWith('127.0.0.1');
    return tabs.some((tab) => tab.url === address && hasTitle(tab));
  });
}

async function runInChain(operation, isLive) {
  try {
    return await run(chain.cdpUrl, operation, (address) => openTabs(chain, [address]), isLive);
  } finally {
    await chain.relay.waitForClients(0);
  }
}

const settled = (attempt) =>
  attempt.then(
    (value) => ({ state: 'ok', value }),
    (error) => ({ state: 'FAILED', error }),
  );

for (const operation of operations) {
  test(operation.name, async () => {
    const outcomes = {
      dormant: await settled(runInChain(operation, false)),
      live: await settled(runInChain(operation, true)),
      own: operation.skipOnOwnPort
        ? { state: 'skipped' }
        : await settled(run(own.ownUrl, operation, openInOwn, false)),
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
