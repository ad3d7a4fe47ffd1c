/**
 * Cross-process frames of tabs that no client uses: clients find them right after they have connected,
 * without attaching to the tab, and can use them.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import {
  actOnTab,
  attachedUrls,
  inExtension,
  openTabs,
  pageAt,
  untilDetached,
  useChain,
} from '../harness/chain.mjs';
import { until } from '../harness/processes.mjs';
import { framing } from '../harness/site.mjs';

const shared = useChain({
  args: ['--client-mode', 'multi-client'],
  pages: {
    '/one': framing('/inner'),
    '/two': framing('/inner'),
    '/next': framing('/inner?next'),
    '/plain': '<title>Plain</title>',
    '/inner':
      '<title>Inner</title><p id="text">inside</p><button onclick="this.textContent = 1">0</button>',
  },
  tabs: (site) => ['/one', '/two', '/plain'].map((path) => site.url(path)),
});

const framePaths = (page) =>
  page
    .frames()
    .slice(1)
    .map((frame) => new URL(frame.url()).pathname);

const isInner = (frame) => frame.url().includes('/inner');

test('Puppeteer finds a frame of a tab that it has not used, and uses it', () =>
  shared.withPuppeteer(async (browser) => {
    const pages = await browser.pages();
    const [one, two] = [pageAt(pages, '/one'), pageAt(pages, '/two')];
    await one.waitForFrame(isInner);
    await two.waitForFrame(isInner);
    assert.deepEqual(framePaths(pageAt(pages, '/plain')), []);
    assert.deepEqual(await attachedUrls(shared.chain), []);
    const frame = one.frames().find(isInner);
    assert.equal(frame.parentFrame(), one.mainFrame());
    assert.equal(await frame.$eval('#text', (text) => text.textContent), 'inside');
    await frame.click('button');
    assert.equal(await frame.$eval('button', (button) => button.textContent), '1');
    assert.deepEqual(await attachedUrls(shared.chain), [one.url()]);
    assert.deepEqual(framePaths(one), ['/inner']);
    assert.equal(one.frames().find(isInner), frame, 'it is still the same frame');
    assert.equal(await frame.evaluate(() => location.pathname), '/inner');
  }));

test('Playwright finds a frame of a tab that it has not used, and uses it', () =>
  shared.withPlaywright(async ({ context }) => {
    const [one, two] = [pageAt(context, '/one'), pageAt(context, '/two')];
    await until('the frames are there', () => [one, two].every((page) => page.frames().length > 1));
    assert.deepEqual(await attachedUrls(shared.chain), []);
    const frame = one.frames().find(isInner);
    assert.equal(frame.parentFrame(), one.mainFrame());
    assert.equal(await frame.evaluate(() => location.pathname), '/inner');
    assert.equal(await frame.locator('#text').textContent(), 'inside');
    await one.frameLocator('#inner').locator('button').click();
    assert.equal(await frame.textContent('button'), '1');
    assert.deepEqual(framePaths(one), ['/inner']);
    assert.equal(await two.frameLocator('#inner').locator('#text').textContent(), 'inside');
    assert.deepEqual(framePaths(two), ['/inner']);
  }));

test('the frames of a tab that another client used are found again when that has left', () =>
  shared.withClients(async (connect) => {
    const idle = await connect.puppeteer();
    const page = pageAt(await idle.pages(), '/one');
    await page.waitForFrame(isInner);
    const { browser, context } = await connect.playwright();
    assert.equal(await pageAt(context, '/one').evaluate(() => document.title), 'Framing');
    await browser.close();
    await untilDetached(shared.chain);
    const frame = await page.waitForFrame(isInner);
    assert.equal(await frame.$eval('#text', (text) => text.textContent), 'inside');
  }));

test('the frames follow when the user navigates the tab', () =>
  shared.withPuppeteer(async (browser) => {
    const page = pageAt(await browser.pages(), '/two');
    await page.waitForFrame(isInner);
    await actOnTab(shared.chain, shared.site.url('/two'), 'update', {
      url: shared.site.url('/next'),
    });
    const frame = await page.waitForFrame((each) => each.url().endsWith('?next'));
    assert.deepEqual(await attachedUrls(shared.chain), []);
    assert.equal(page.frames().length, 2);
    assert.equal(await frame.$eval('#text', (text) => text.textContent), 'inside');
  }));

test('a frame that the page has removed meanwhile is gone when the tab is used', async () => {
  await openTabs(shared.chain, [shared.site.url('/one?removed')]);
  await shared.withPuppeteer(async (browser) => {
    const page = pageAt(await browser.pages(), '/one?removed');
    await page.waitForFrame(isInner);
    assert.equal(await page.evaluate(() => document.querySelector('#inner').remove() ?? 1), 1);
    await until('the frame is gone', () => page.frames().length === 1);
  });
  assert.ok(await inExtension(shared.chain, async () => (await chrome.tabs.query({})).length > 3));
});
