/** A page whose renderer does not answer: stopped, as a debugger or a machine out of memory may stop it. */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { chromium as playwright } from 'playwright-core';

import { inExtension, openTabs, useChain } from '../harness/chain.mjs';
import { rendererOf, skip } from '../harness/renderers.mjs';

const shared = useChain({
  args: ['--client-mode', 'multi-client', '--command-timeout', '2', '--attach-timeout', '3'],
  pages: {
    '/stopped': '<title>stopped</title>',
    '/other': '<title>other</title>',
    '/never': () => {},
    '/slow': (_, response) =>
      setTimeout(
        () => response.setHeader('content-type', 'text/html').end('<title>slow</title>'),
        5_000,
      ),
  },
});

/** Another site than the rest, so that it has a renderer of its own. */
const stoppedUrl = () => shared.site.url('/stopped').replace('127.0.0.1', 'localhost');
const pageOf = (context, name) => context.pages().find((page) => page.url().endsWith(`/${name}`));

test(
  'a stopped page fails its commands in time, holds up nobody, and works on when it goes on',
  { skip },
  async () => {
    await openTabs(shared.chain, [stoppedUrl(), shared.site.url('/other')]);
    const pid = await rendererOf(shared.chain, '/stopped');
    const browser = await playwright.connectOverCDP(shared.chain.cdpUrl);
    try {
      const context = browser.contexts()[0];
      const [page, other] = [pageOf(context, 'stopped'), pageOf(context, 'other')];
      // Playwright tells the reason only of what is sent as it is.
      const session = await context.newCDPSession(page);
      assert.equal(await page.title(), 'stopped');
      process.kill(pid, 'SIGSTOP');
      const failed = session
        .send('Runtime.evaluate', { expression: '1' })
        .catch((error) => error.message);
      const failedToo = assert.rejects(page.evaluate(() => 1));
      assert.equal(await other.title(), 'other');
      const second = await playwright.connectOverCDP(shared.chain.cdpUrl);
      assert.equal(await pageOf(second.contexts()[0], 'other').title(), 'other');
      await second.close();
      assert.match(await failed, /the page did not respond for 2 seconds/);
      await failedToo;
      process.kill(pid, 'SIGCONT');
      assert.equal(await page.evaluate(() => 1 + 1), 2);
    } finally {
      process.kill(pid, 'SIGCONT');
      await browser.close();
    }
  },
);

test('a stopped page that is told to go elsewhere is not waited for either', { skip }, async () => {
  const pid = await rendererOf(shared.chain, '/stopped');
  const browser = await playwright.connectOverCDP(shared.chain.cdpUrl);
  try {
    const context = browser.contexts()[0];
    const page = pageOf(context, 'stopped');
    assert.equal(await page.title(), 'stopped');
    const session = await context.newCDPSession(page);
    process.kill(pid, 'SIGSTOP');
    // The browser asks the server itself; only the page that is to show the answer is not there.
    const navigated = session.send('Page.navigate', { url: `${stoppedUrl()}?again` });
    await assert.rejects(
      session.send('Runtime.evaluate', { expression: '1' }),
      /the page did not respond for 2 seconds/,
    );
    await navigated;
    process.kill(pid, 'SIGCONT');
    await page.waitForURL('**/stopped?again');
    await page.goto(stoppedUrl());
    assert.equal(await page.title(), 'stopped');
  } finally {
    process.kill(pid, 'SIGCONT');
    await browser.close();
  }
});

test('a server that takes long is waited for', async () => {
  const browser = await playwright.connectOverCDP(shared.chain.cdpUrl);
  try {
    const page = pageOf(browser.contexts()[0], 'other');
    assert.equal(await page.title(), 'other');
    const session = await browser.contexts()[0].newCDPSession(page);
    const { frameId } = await session.send('Page.navigate', { url: shared.site.url('/slow') });
    assert.ok(frameId);
    await page.waitForURL('**/slow');
    assert.equal(await page.title(), 'slow');
    await page.goto(shared.site.url('/other'));
  } finally {
    await browser.close();
  }
});

test('a page that only takes long is waited for', async () => {
  const browser = await playwright.connectOverCDP(shared.chain.cdpUrl);
  try {
    const slow = pageOf(browser.contexts()[0], 'other').evaluate(
      () => new Promise((resolve) => setTimeout(resolve, 5_000, 'at last')),
    );
    assert.equal(await slow, 'at last');
  } finally {
    await browser.close();
  }
});

test(
  'a dormant page that is stopped fails its first command, and wakes when it goes on',
  { skip },
  async () => {
    const pid = await rendererOf(shared.chain, '/stopped');
    process.kill(pid, 'SIGSTOP');
    const browser = await playwright.connectOverCDP(shared.chain.cdpUrl);
    try {
      const page = pageOf(browser.contexts()[0], 'stopped');
      const session = await browser.contexts()[0].newCDPSession(page);
      const failed = session
        .send('Runtime.evaluate', { expression: '1' })
        .catch((error) => error.message);
      const failedToo = assert.rejects(page.evaluate(() => 1));
      assert.equal(await pageOf(browser.contexts()[0], 'other').title(), 'other');
      assert.match(await failed, /the page did not respond for 3 seconds/);
      await failedToo;
      process.kill(pid, 'SIGCONT');
      assert.equal(await page.evaluate(() => 1 + 1), 2);
    } finally {
      process.kill(pid, 'SIGCONT');
      await browser.close();
    }
  },
);

test('a dormant page that is stopped can be left for another', { skip }, async () => {
  const pid = await rendererOf(shared.chain, '/stopped');
  process.kill(pid, 'SIGSTOP');
  const browser = await playwright.connectOverCDP(shared.chain.cdpUrl);
  try {
    const page = pageOf(browser.contexts()[0], 'stopped');
    // Of another site, so that another process shows it.
    await page.goto(shared.site.url('/other?2'));
    assert.equal(await page.title(), 'other');
    await page.evaluate(() => (document.title = 'used'));
    assert.equal(await page.title(), 'used');
  } finally {
    process.kill(pid, 'SIGCONT');
    await browser.close();
  }
});

test('a dormant page whose next document does not come can be left for another', async () => {
  await openTabs(shared.chain, [shared.site.url('/other?left')]);
  const asked = shared.site.asked('/never');
  await inExtension(
    shared.chain,
    async ({ at, to }) => {
      const [tab] = await chrome.tabs.query({ url: at });
      await chrome.tabs.update(tab.id, { url: to });
    },
    { at: shared.site.url('/other?left'), to: shared.site.url('/never') },
  );
  await asked;
  const browser = await playwright.connectOverCDP(shared.chain.cdpUrl);
  try {
    const page = pageOf(browser.contexts()[0], 'other?left');
    await page.goto(shared.site.url('/other?3'));
    assert.equal(await page.title(), 'other');
  } finally {
    await browser.close();
  }
});
