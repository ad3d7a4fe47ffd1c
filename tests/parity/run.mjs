/** Runs one operation of the parity suite through an address, and makes its result comparable. */

import assert from 'node:assert/strict';

import { chromium as playwright } from 'playwright-core';

import { pageAt } from '../harness/chain.mjs';
import { until } from '../harness/processes.mjs';

/** Playwright's default of 30 seconds would make a broken build take an hour. */
const OPERATION_TIMEOUT_MS = 8_000;

/** Makes results of different ports and addresses comparable. */
const normalize = (site, value) =>
  JSON.parse(
    JSON.stringify(value ?? null)
      .replaceAll(String(site.port), 'PORT')
      .replaceAll('&live', ''),
  );

/** Runs an operation on a page that a new client finds open. `isLive` uses the page before. */
export async function run(site, url, operation, openPage, isLive) {
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
    return normalize(site, await operation.run(page, { context, site }));
  } finally {
    if (page && !page.isClosed()) {
      await page.close();
    }
    await browser.close();
  }
}

/** Opens a tab over HTTP, because a client of the port would leave traces in it. */
export async function openInOwn(chromium, address) {
  const { port } = new URL(chromium.ownUrl);
  await fetch(`http://127.0.0.1:${port}/json/new?${encodeURI(address)}`, { method: 'PUT' });
  await until('the tab has loaded', async () => {
    const tabs = await (await fetch(`http://127.0.0.1:${port}/json/list`)).json();
    // Until the document has a title, Chrome shows the address instead.
    const hasTitle = ({ title }) => title && !title.startsWith('127.0.0.1');
    return tabs.some((tab) => tab.url === address && hasTitle(tab));
  });
}

export const settled = (attempt) =>
  attempt.then(
    (value) => ({ state: 'ok', value }),
    (error) => ({ state: 'FAILED', error }),
  );
