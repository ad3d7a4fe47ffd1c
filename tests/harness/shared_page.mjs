/** One page as several clients see it, for tests of clients that share a tab. */

import { pageAt } from './chain.mjs';
import { until } from './processes.mjs';

/**
 * Waits until a client sees the page at this address. `client` is a Playwright `{ context }` or a
 * Puppeteer `{ browser }`.
 */
export const pageOf = ({ context, browser }, url) =>
  until(`the client sees ${url}`, async () => pageAt(await (context ?? browser).pages(), url));

/** Opens a page in the first client, and returns it as each of the clients sees it. */
export async function openShared(url, [owner, ...others]) {
  const page = await owner.context.newPage();
  await page.goto(url);
  return [page, ...(await Promise.all(others.map((other) => pageOf(other, url))))];
}

/** Fetches `/data` in a page and returns the text of the response. */
export const fetchData = (page, query = '') =>
  page.evaluate((path) => fetch(path).then((response) => response.text()), `/data${query}`);

/**
 * Resolves once each page has received every event sent before: a reply follows the events that
 * precede it.
 */
export const settle = (...pages) => Promise.all(pages.map((page) => page.evaluate(() => 1)));
