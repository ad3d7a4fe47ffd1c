/**
 * The actions of the soak test. Each returns the actual and the expected value, which it derives
 * from the tab's number.
 */

import { inflateSync } from 'node:zlib';

/** The background color of a tab. @param {number} n */
export const colorOf = (n) => [n % 256, 255 - (n % 256), 128];

/** The color of the first pixel of a PNG, with or without an alpha channel. */
function firstPixel(png) {
  const data = [];
  for (let at = 8; at < png.length; at += png.readUInt32BE(at) + 12) {
    if (png.toString('latin1', at + 4, at + 8) === 'IDAT') {
      data.push(png.subarray(at + 8, at + 8 + png.readUInt32BE(at)));
    }
  }
  // Skips the filter byte. No filter changes the value of the first pixel.
  return [...inflateSync(Buffer.concat(data)).subarray(1, 4)];
}

/** `tab.clicks` is the number its button should show. */
export const ACTIONS = {
  evaluate: async ({ page, n, round }) => [
    await page.evaluate((value) => `${document.title} ${value}`, round),
    `Tab ${n} ${round}`,
  ],
  click: async (tab) => {
    tab.clicks += 1;
    await tab.page.click('button');
    return [await tab.page.textContent('button'), String(tab.clicks)];
  },
  fill: async ({ page, n, round }) => {
    await page.fill('input', `${n} in ${round}`);
    return [await page.inputValue('input'), `${n} in ${round}`];
  },
  goto: async (tab) => {
    tab.clicks = 0;
    const response = await tab.page.goto(`${tab.url}&round=${tab.round}`);
    return [`${response?.status()} ${await tab.page.title()}`, `200 Tab ${tab.n}`];
  },
  screenshot: async ({ page, n }) => [
    firstPixel(await page.screenshot({ clip: { x: 0, y: 0, width: 4, height: 4 } })).join(),
    colorOf(n).join(),
  ],
  newCDPSession: async ({ page, n }) => {
    const session = await page.context().newCDPSession(page);
    const { result } = await session.send('Runtime.evaluate', { expression: 'document.title' });
    await session.detach();
    return [result.value, `Tab ${n}`];
  },
  console: async ({ page, n, round }) => {
    const message = page.waitForEvent('console');
    await page.evaluate((text) => console.log(text), `${n}: ${round}`);
    return [(await message).text(), `${n}: ${round}`];
  },
};
