/**
 * Counts your open tabs without touching them, then collects the links of a page in a tab of its
 * own.
 *
 *   node puppeteer.mjs [address]
 */

import { execFileSync } from 'node:child_process';

import puppeteer from 'puppeteer-core';

const address = process.argv[2] ?? 'https://example.com';

// The URL contains a secret token, so ask for it each time instead of storing it.
const browserWSEndpoint = execFileSync('tabwire', ['cdp-url'], { encoding: 'utf8' }).trim();
// Without `defaultViewport: null`, Puppeteer resizes every page that it uses.
const browser = await puppeteer.connect({ browserWSEndpoint, defaultViewport: null });
try {
  console.log(`Open tabs: ${(await browser.pages()).length}`);

  // A new page opens in the background, and stays open unless you close it.
  const page = await browser.newPage();
  try {
    await page.goto(address);
    console.log(`Title: ${await page.title()}`);
    const links = await page.$$eval('a[href]', (anchors) => anchors.map((anchor) => anchor.href));
    links.forEach((link) => console.log(`Link: ${link}`));
  } finally {
    await page.close();
  }
} finally {
  // Use disconnect(), not close(): it makes clear that the browser stays open.
  await browser.disconnect();
}
