/**
 * Lists your open tabs without touching them, then reads a page in a tab of its own.
 *
 *   node playwright.mjs [address]
 */

import { execFileSync } from 'node:child_process';

import { chromium } from 'playwright-core';

const address = process.argv[2] ?? 'https://example.com';

// The URL contains a secret token, so ask for it each time instead of storing it.
const cdpUrl = execFileSync('tabwire', ['cdp-url'], { encoding: 'utf8' }).trim();
const browser = await chromium.connectOverCDP(cdpUrl);
try {
  // Your profile, with your cookies and logins. There is only this one: browser.newContext() fails.
  const [context] = browser.contexts();

  // Every open tab is a page. Reading its address does not attach Chrome's debugger to it.
  for (const page of context.pages()) {
    console.log(`Open tab: ${page.url()}`);
  }

  // A new page opens in the background, and stays open unless you close it.
  const page = await context.newPage();
  try {
    await page.goto(address);
    console.log(`Title: ${await page.title()}`);
    console.log(`Heading: ${await page.getByRole('heading').first().innerText()}`);
  } finally {
    await page.close();
  }
} finally {
  // This only disconnects. Your browser and your tabs stay open.
  await browser.close();
}
