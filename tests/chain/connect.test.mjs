/** Ways to connect a client, and what happens when a part of the chain disconnects or restarts. */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { chromium as playwright } from 'playwright-core';

import { inExtension, onOwnPort, useChain } from '../harness/chain.mjs';
import { endProcess, startRelay, until, untilEqual } from '../harness/processes.mjs';
import { html } from '../harness/site.mjs';

const shared = useChain({
  pages: {
    '/': '<title>Home</title><h1>Hello</h1><iframe srcdoc="<p>inner</p>"></iframe>',
    '/top': html(
      (site) => `<title>Top</title><iframe src="${site.url('/inner', 'localhost')}"></iframe>`,
    ),
    '/inner': '<title>Inner</title><p>inner</p>',
  },
});

const token = () => new URL(shared.chain.cdpUrl).searchParams.get('token');
const httpUrl = () => `http://127.0.0.1:${shared.chain.relay.port}/`;

test('Playwright connects to the HTTP address with the token in the query or in a header', async () => {
  for (const connect of [
    () => playwright.connectOverCDP(`${httpUrl()}?token=${token()}`),
    () => playwright.connectOverCDP(httpUrl(), { headers: { Authorization: `Bearer ${token()}` } }),
  ]) {
    const browser = await connect();
    assert.ok(browser.contexts()[0].pages().length > 0);
    await browser.close();
    await shared.chain.relay.waitForClients(0);
  }
});

test('rejects a client without the token with 401', async () => {
  await assert.rejects(playwright.connectOverCDP(httpUrl()), /401/);
  await assert.rejects(
    playwright.connectOverCDP(`ws://127.0.0.1:${shared.chain.relay.port}/cdp`),
    /401/,
  );
});

test('rejects a second client with 409', () =>
  shared.withPlaywright(async () => {
    await assert.rejects(playwright.connectOverCDP(shared.chain.cdpUrl), /409/);
    const slot = await (await fetch(`${httpUrl()}client-slot`)).json();
    assert.equal(slot.busy, true);
  }));

test('Puppeteer connects, opens a page and uses it', () =>
  shared.withPuppeteer(async (browser) => {
    assert.ok((await browser.pages()).length > 0);
    const page = await browser.newPage();
    await page.goto(shared.site.url('/'));
    assert.equal(await page.title(), 'Home');
    assert.equal(await page.$eval('h1', (heading) => heading.textContent), 'Hello');
    await page.close();
  }));

/** Stops the extension's service worker as Chrome does when it is idle. */
const stopServiceWorker = () =>
  onOwnPort(shared.chain, async (browser) => {
    const root = await browser.newBrowserCDPSession();
    const { targetInfos } = await root.send('Target.getTargets');
    const { targetId } = targetInfos.find(({ type }) => type === 'service_worker');
    await root.send('Target.closeTarget', { targetId });
  });

test('sessions survive a restart of the service worker', () =>
  shared.withPlaywright(async ({ context }) => {
    const page = await context.newPage();
    await page.goto(shared.site.url('/'));
    await stopServiceWorker();
    await shared.chain.relay.waitForExtension(false);
    // It waits until the extension is back. By then, Playwright has given up its context.
    await assert.rejects(
      page.evaluate(() => 1),
      /Execution context was destroyed/,
    );
    assert.equal(await page.evaluate(() => document.title), 'Home');
    assert.equal(await page.frameLocator('iframe').locator('p').textContent(), 'inner');
  }));

test('a page keeps its frames and scripts when the extension reconnects', () =>
  shared.withPlaywright(async ({ context }) => {
    const page = await context.newPage();
    await page.goto(shared.site.url('/top'));
    await page.addInitScript(() => (window.runs = (window.runs ?? 0) + 1));
    assert.equal(await page.frames()[1].evaluate(() => document.title), 'Inner');
    await inExtension(shared.chain, () => {
      const { send } = WebSocket.prototype;
      WebSocket.prototype.send = function closeInstead() {
        WebSocket.prototype.send = send;
        this.close();
      };
    });
    await shared.chain.relay.waitForExtension(false);
    await shared.chain.relay.waitForExtension();
    assert.equal(await page.title(), 'Top');
    await until('the frame is announced again', () => page.frames().length === 2);
    assert.equal(await page.frames()[1].evaluate(() => document.title), 'Inner');
    await page.reload();
    assert.equal(await page.evaluate(() => window.runs), 1);
  }));

test('extension and clients reconnect to a restarted relay', async () => {
  const { child, home, port } = shared.chain.relay;
  await endProcess(child);
  shared.chain.relay = await startRelay({ home, port });
  await shared.chain.relay.waitForExtension();
  await shared.withPlaywright(async ({ context }) => {
    const page = await context.newPage();
    await page.goto(shared.site.url('/'));
    assert.equal(await page.title(), 'Home');
  });
  // The button may lag behind for a moment.
  const badge = () => inExtension(shared.chain, () => chrome.action.getBadgeText({}));
  await untilEqual('the button shows that no tab is in use', badge, 'on');
});

test('commands name the missing browser once it has exited', async () => {
  const browser = await playwright.connectOverCDP(shared.chain.cdpUrl);
  const page = await browser.contexts()[0].newPage();
  await endProcess(shared.chain.chromium.child);
  await shared.chain.relay.waitForExtension(false);
  await assert.rejects(page.goto(shared.site.url('/')), /No browser connected/);
  await browser.close();
});
