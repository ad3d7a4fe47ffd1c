/** The extension's popup as the user sees it, opened in a tab through Chromium's own port. */

import { chromium as playwright } from 'playwright-core';

import { EXTENSION_ID, until } from './processes.mjs';

/** @param {{ ownUrl: string }} chromium */
export async function openPopup(chromium) {
  const user = await playwright.connectOverCDP(chromium.ownUrl);
  const page = await user.contexts()[0].newPage();
  await page.goto(`chrome-extension://${EXTENSION_ID}/popup.html`);
  const textOf = (id) => page.locator(`#${id}`).textContent();
  const waitFor = async (id, isWanted, wanted) => {
    let shown;
    const isShown = async () => isWanted((shown = await textOf(id)));
    await until(`the popup shows “${wanted}”`, isShown).catch((error) => {
      throw new Error(`${error.message}; it shows “${shown}”`);
    });
  };
  return {
    page,
    headline: (text) => waitFor('headline', (shown) => shown === text, text),
    explanation: (text) => waitFor('explanation', (shown) => shown.includes(text), text),
    /** What the user does to connect to another relay. */
    async useRelay(port) {
      await page.getByLabel('Relay', { exact: true }).fill(String(port));
      await page.getByRole('button', { name: 'Save' }).click();
    },
    offersThisBrowser: () =>
      page.getByRole('button', { name: 'Use this browser instead' }).isVisible(),
    useThisBrowser: () => page.getByRole('button', { name: 'Use this browser instead' }).click(),
    async close() {
      await page.close();
      await user.close();
    },
  };
}
