/** The size of pages: set only in those that a client uses, and restored however it leaves. */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import puppeteer from 'puppeteer-core';

import { attachedUrls, pageAt, untilDetached, useChain } from '../harness/chain.mjs';
import { PDF } from '../harness/pdf.mjs';
import { until } from '../harness/processes.mjs';
import { connectRaw, evaluateIn } from '../harness/raw_client.mjs';

const TABS = ['/one', '/two', '/three'];
const shared = useChain({
  args: ['--client-mode', 'multi-client'],
  pages: {
    ...Object.fromEntries(TABS.map((path) => [path, `<title>${path}</title>${path}`])),
    '/paper': (_request, response) =>
      response.setHeader('content-type', 'application/pdf').end(PDF),
  },
  tabs: (site) => [...TABS, '/paper'].map((path) => site.url(path)),
});

/** Connects as a user of Puppeteer would who knows nothing about tabs of other people. */
const connectPuppeteer = () => puppeteer.connect({ browserWSEndpoint: shared.chain.cdpUrl });

const urlsOf = (...paths) => paths.map((path) => shared.site.url(path));

/** What a page considers its size, read through Chromium's own port. */
async function sizeOf(path) {
  const client = await connectRaw(shared.chain.chromium.ownUrl);
  try {
    const session = await client.attach(shared.site.url(path));
    return await evaluateIn(client, session, '`${innerWidth} × ${innerHeight}`');
  } finally {
    await client.close();
  }
}

const untilSize = (path, size) =>
  until(`${path} is ${size}`, async () => (await sizeOf(path)) === size);

test("Puppeteer's default viewport reaches only the page that is used, and goes with it", async () => {
  const before = await sizeOf('/one');
  const browser = await connectPuppeteer();
  const pages = await browser.pages();
  assert.deepEqual(await attachedUrls(shared.chain), []);
  const page = pageAt(pages, '/two');
  const size = () => `${innerWidth} × ${innerHeight}`;
  assert.equal(await page.evaluate(size), '800 × 600');
  await page.setViewport({ width: 500, height: 400 });
  assert.equal(await page.evaluate(size), '500 × 400');
  await pageAt(pages, '/three').setViewport({ width: 300, height: 200 });
  assert.deepEqual(await attachedUrls(shared.chain), urlsOf('/two'));
  assert.equal(await sizeOf('/one'), before);
  assert.equal(await sizeOf('/three'), before);
  assert.equal(await pageAt(pages, '/three').evaluate(size), '300 × 200');
  await browser.disconnect();
  await untilDetached(shared.chain);
  await untilSize('/two', before);
  await untilSize('/three', before);
});

test('the viewport of a client that only connected does not reach a page that another uses', async () => {
  const before = await sizeOf('/one');
  const [idle, working] = [await connectPuppeteer(), await connectRaw(shared.chain.cdpUrl)];
  await idle.pages();
  const session = await working.attach(shared.site.url('/one'));
  const { cssLayoutViewport } = await working.send('Page.getLayoutMetrics', {}, session);
  assert.equal(`${cssLayoutViewport.clientWidth} × ${cssLayoutViewport.clientHeight}`, before);
  await working.close();
  await untilDetached(shared.chain);
  await idle.disconnect();
});

for (const [name, params] of Object.entries({
  'a screenshot': {},
  'a screenshot of the whole page': { captureBeyondViewport: true },
})) {
  test(`a page has its own size again after a client that was taking ${name}`, async () => {
    const before = await sizeOf('/one');
    const client = await connectRaw(shared.chain.cdpUrl);
    const session = await client.attach(shared.site.url('/one'));
    const override = { width: 800, height: 600, deviceScaleFactor: 1, mobile: false };
    await client.send('Runtime.evaluate', { expression: '1' }, session);
    await client.send('Emulation.setDeviceMetricsOverride', override, session);
    client.request('Page.captureScreenshot', params, session);
    client.kill();
    await shared.chain.relay.waitForClients(0);
    await untilDetached(shared.chain);
    await untilSize('/one', before);
  });
}

test('a PDF has its own size again after clients that were taking a screenshot', async () => {
  const before = await sizeOf('/paper');
  // Chrome gets a frame of a PDF without help in about two of three attempts.
  for (let attempt = 0; attempt < 6; attempt += 1) {
    const browser = await connectPuppeteer();
    const page = pageAt(await browser.pages(), '/paper');
    await page.evaluate(() => 1);
    page.screenshot().catch(() => {}); // Nobody waits for it.
    await page.evaluate(() => 1);
    await browser.disconnect();
    await untilDetached(shared.chain);
    await untilSize('/paper', before);
  }
});

test('a PDF in the background can be captured again and again, in its own size', async () => {
  const before = await sizeOf('/paper');
  const client = await connectRaw(shared.chain.cdpUrl);
  const session = await client.attach(shared.site.url('/paper'));
  for (let attempt = 0; attempt < 6; attempt += 1) {
    const { data } = await client.send('Page.captureScreenshot', {}, session);
    const picture = Buffer.from(data, 'base64');
    assert.equal(`${picture.readUInt32BE(16)} × ${picture.readUInt32BE(20)}`, before);
  }
  await client.close();
  await untilDetached(shared.chain);
  await untilSize('/paper', before);
});
