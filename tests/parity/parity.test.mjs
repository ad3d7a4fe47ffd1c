/** Every operation, as the first on a dormant tab, on a live tab, and on Chromium's own port: with the same outcome. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { chromium as playwright } from 'playwright-core';

import { openTabs } from '../harness/chain.mjs';
import { startChain, startChromium, until } from '../harness/processes.mjs';
import { operations } from './operations.mjs';
import { startParitySite } from './site.mjs';

const WITHIN_MS = 8_000;
let site;
let chain;
let own;
const table = [];

before(async () => {
  site = await startParitySite();
  chain = await startChain();
  own = await startChromium({});
});

after(async () => {
  await chain?.stop();
  await own?.stop();
  site?.stop();
  const width = Math.max(...table.map(([name]) => name.length));
  for (const row of table) {
    console.log(
      `${row[0].padEnd(width)}  ${row
        .slice(1)
        .map((cell) => cell.padEnd(8))
        .join('')}`,
    );
  }
});

/** Runs an operation on a page that a fresh client finds open. */
async function run(url, operation, openPage, makeLive) {
  const address = site.url(
    `${operation.at ?? '/form'}?${encodeURIComponent(operation.name)}${makeLive ? '&live' : ''}`,
  );
  await openPage(address);
  const browser = await playwright.connectOverCDP(url);
  const context = browser.contexts()[0];
  context.setDefaultTimeout(WITHIN_MS);
  const page = context.pages().find((known) => known.url() === address);
  try {
    assert.ok(page, 'the tab is a page');
    if (makeLive) {
      await page.evaluate(() => document.title);
    }
    const value = await operation.run(page, { context, site });
    return JSON.parse(
      JSON.stringify(value ?? null)
        .replaceAll(String(site.port), 'PORT')
        .replaceAll('&live', ''),
    );
  } finally {
    if (page && !page.isClosed()) {
      await page.close();
    }
    await browser.close();
  }
}

const freeSlot = () =>
  until('the slot is free', async () => (await chain.relay.status()).clients === 0);
/** Opens a tab without a client that would leave traces in it. */
const openInOwn = async (address) => {
  const port = new URL(own.ownUrl).port;
  await fetch(`http://127.0.0.1:${port}/json/new?${encodeURI(address)}`, { method: 'PUT' });
  await until('it has loaded', async () => {
    const tabs = await (await fetch(`http://127.0.0.1:${port}/json/list`)).json();
    return tabs.some(
      (tab) => tab.url === address && tab.title && !tab.title.startsWith('127.0.0.1'),
    );
  });
};

for (const operation of operations) {
  test(operation.name, async () => {
    const openInChain = (address) => openTabs(chain, [address]);
    const ways = {
      dormant: () => run(chain.cdpUrl, operation, openInChain, false).finally(freeSlot),
      live: () => run(chain.cdpUrl, operation, openInChain, true).finally(freeSlot),
      own: () => run(own.ownUrl, operation, openInOwn, false),
    };
    const outcomes = {};
    for (const [way, attempt] of Object.entries(ways)) {
      outcomes[way] =
        way === 'own' && operation.knownOnOwnPort
          ? { skipped: true }
          : await attempt().then(
              (value) => ({ value }),
              (error) => ({ error }),
            );
    }
    const word = ({ error, skipped }) => (skipped ? 'known' : error ? 'FAILS' : 'ok');
    table.push([operation.name, ...Object.values(outcomes).map(word)]);
    for (const [way, { error }] of Object.entries(outcomes)) {
      assert.equal(error?.message, undefined, way);
    }
    assert.deepEqual(outcomes.dormant.value, outcomes.live.value, 'dormant and live');
    if (!outcomes.own.skipped) {
      assert.deepEqual(outcomes.dormant.value, outcomes.own.value, 'dormant and own port');
    }
  });
}
