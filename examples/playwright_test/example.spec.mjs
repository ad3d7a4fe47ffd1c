/**
 * Two tests in your own browser:
 *
 *   npx playwright test
 */

import { expect, test } from './tabwire.mjs';

const address = process.env.EXAMPLE_ADDRESS ?? 'https://example.com';

test('a page has a heading', async ({ page }) => {
  await page.goto(address);
  await expect(page.getByRole('heading').first()).toBeVisible();
});

test('the open tabs are there, and a test has one of its own', async ({ context, page }) => {
  expect(context.pages()).toContain(page);
  expect(context.pages().length).toBeGreaterThan(1);
});
