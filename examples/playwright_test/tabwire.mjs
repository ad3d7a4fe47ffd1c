/**
 * Fixtures for Playwright Test that use your own browser instead of launching one. Import `test` and
 * `expect` from here.
 */

import { execFileSync } from 'node:child_process';

import { test as base, chromium } from '@playwright/test';

export const test = base.extend({
  /** Connected once per worker. Closing it only disconnects. */
  browser: [
    // Playwright reads the names of the fixtures that this one needs: none.
    async ({}, use) => {
      const cdpUrl = execFileSync('tabwire', ['cdp-url'], { encoding: 'utf8' }).trim();
      const browser = await chromium.connectOverCDP(cdpUrl);
      await use(browser);
      await browser.close();
    },
    { scope: 'worker' },
  ],

  /** Your profile, with your cookies and logins. It is the same in every test, and is not closed. */
  context: async ({ browser }, use) => {
    await use(browser.contexts()[0]);
  },

  /** A tab of its own for each test. Your other tabs are in `context.pages()`. */
  page: async ({ context }, use) => {
    const page = await context.newPage();
    await use(page);
    await page.close();
  },
});

export { expect } from '@playwright/test';
