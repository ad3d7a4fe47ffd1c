/** Ways to connect, and what happens when a part of the chain goes away. */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { chromium as playwright } from 'playwright-core';
import puppeteer from 'puppeteer-core';

import { inExtension, useChain } from '../harness/chain.mjs';
import { endProcess, startRelay, until } from '../harness/processes.mjs';

const shared = useChain({
  pages: {
    '/': '<title>Home</title><h1>Hello</h1><iframe srcdoc="<p>inner</p>"></iframe>',
    '/top':
      '<title>Top</title><script>document.write(`<iframe src="http://localhost:${location.port}/inner"></iframe>`)</script>',
    '/inner': '<title>Inner</title><p>inner</p>',
  },
});

const token = () => new URL(shared.chain.cdpUrl).searchParams.get('token');
const http = () => `http://127.0.0.1:${shared.chain.relay.port}/`;

test('Playwright connects to the http address with the token in the query, or in a header', async () => {
  for (const connect of [
    () => playwright.connectOverCDP(`${http()}?token=${token()}`),
    () => playwright.connectOverCDP(http(), { headers: { Authorization: `Bearer ${token()}` } }),
  ]) {
    const browser = await connect();
    assert.ok(browser.contexts()[0].pages().length > 0);
    await browser.close();
    await until('the slot is free', async () => (await shared.chain.relay.status()).clients === 0);
  }
});

test('without the token nobody gets in', async () => {
  await assert.rejects(playwright.connectOverCDP(http()), /401/);
  await assert.rejects(
    playwright.connectOverCDP(`ws://127.0.0.1:${shared.chain.relay.port}/cdp`),
    /401/,
  );
});

test('a second client is told that the slot is taken', () =>
  shared.withPlaywright(async () => {
    await assert.rejects(playwright.connectOverCDP(shared.chain.cdpUrl), /409/);
    const slot = await (await fetch(`${http()}client-slot`)).json();
    assert.equal(slot.busy, true);
  }));

test('Puppeteer connects, makes a page and uses it', async () => {
  const browser = await puppeteer.connect({
    browserWSEndpoint: shared.chain.cdpUrl,
    defaultViewport: null,
  });
  try {
    assert.ok((await browser.pages()).length > 0);
    const page = await browser.newPage();
    await page.goto(shared.site.url('/'));
    assert.equal(await page.title(), 'Home');
    assert.equal(await page.$eval('h1', (heading) => heading.textContent), 'Hello');
    await page.close();
  } finally {
    await browser.disconnect();
    await until('the slot is free', async () => (await shared.chain.relay.status()).clients === 0);
  }
});

test('a service worker that ends takes no session with it', () =>
  shared.withPlaywright(async ({ context }) => {
    const page = await context.newPage();
    await page.goto(shared.site.url('/'));
    const session = await fetch(
      `http://127.0.0.1:${new URL(shared.chain.chromium.ownUrl).port}/json/list`,
    );
    const worker = (await session.json()).find((target) => target.type === 'service_worker');
    await endServiceWorker(worker.webSocketDebuggerUrl);
    await until(
      'the extension is gone',
      async () => !(await shared.chain.relay.status()).extension,
    );
    await assert.rejects(page.evaluate(() => 1));
    await until(
      'the extension is back',
      async () => (await shared.chain.relay.status()).extension,
      45_000,
    );
    assert.equal(await page.evaluate(() => document.title), 'Home');
    assert.equal(await page.frameLocator('iframe').locator('p').textContent(), 'inner');
  }));

/** Ends the extension's worker as Chrome does when it is idle. */
async function endServiceWorker(url) {
  const browser = await playwright.connectOverCDP(shared.chain.chromium.ownUrl);
  const root = await browser.newBrowserCDPSession();
  await root.send('Target.closeTarget', { targetId: url.split('/').pop() });
  await browser.close();
}

test('a link that is lost for a moment costs a page neither its frames nor its scripts', () =>
  shared.withPlaywright(async ({ context }) => {
    const page = await context.newPage();
    await page.goto(shared.site.url('/top'));
    await page.addInitScript(() => (window.runs = (window.runs ?? 0) + 1));
    assert.equal(await page.frames()[1].evaluate(() => document.title), 'Inner');
    await inExtension(shared.chain, () => {
      const { send } = WebSocket.prototype;
      WebSocket.prototype.send = function lose() {
        WebSocket.prototype.send = send;
        this.close();
      };
    });
    await until('the link is lost', async () => !(await shared.chain.relay.status()).extension);
    await until('the link is back', async () => (await shared.chain.relay.status()).extension);
    assert.equal(await page.title(), 'Top');
    await until('the frame is there', () => page.frames().length === 2);
    assert.equal(await page.frames()[1].evaluate(() => document.title), 'Inner');
    await page.reload();
    assert.equal(await page.evaluate(() => window.runs), 1);
  }));

test('the extension finds a relay that was started again, and a client connects as before', async () => {
  const { relay } = shared.chain;
  await endProcess(relay.child);
  const again = await startRelay({ home: relay.home, port: relay.port });
  shared.chain.relay = Object.assign(relay, { child: again.child, log: again.log });
  await until('the extension is back', async () => (await relay.status()).extension, 45_000);
  await shared.withPlaywright(async ({ context }) => {
    const page = await context.newPage();
    await page.goto(shared.site.url('/'));
    assert.equal(await page.title(), 'Home');
  });
  assert.equal(await inExtension(shared.chain, () => chrome.action.getBadgeText({})), 'on');
});

test('when the browser goes, a client is told at once', async () => {
  const browser = await playwright.connectOverCDP(shared.chain.cdpUrl);
  const page = await browser.contexts()[0].newPage();
  await endProcess(shared.chain.chromium.child);
  await until(
    'the relay knows',
    async () => (await shared.chain.relay.status()).extension === false,
  );
  await assert.rejects(page.goto(shared.site.url('/')), /No browser connected/);
  await browser.close();
});
