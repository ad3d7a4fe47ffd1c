/** Tabs that no client has used yet, and what is special about some of them. */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { chromium as playwrightOfLastYear } from 'playwright-core-of-last-year';
import puppeteer from 'puppeteer-core';

import { withBareClient } from '../harness/bare_client.mjs';
import { attachedUrls, openTabs, useChain } from '../harness/chain.mjs';
import { until } from '../harness/processes.mjs';

const NAMES = ['one', 'two', 'three', 'four', 'five', 'six'];
/** Offers /second for prerendering when nothing debugs the page any more, and goes there once it had the time. */
const PRERENDERS = `<title>First</title><script>
  setTimeout(() => {
    const rules = Object.assign(document.createElement('script'), { type: 'speculationrules' });
    rules.textContent = JSON.stringify({ prerender: [{ source: 'list', urls: ['/second'], eagerness: 'immediate' }] });
    document.head.append(rules);
  }, 1000);
  setTimeout(() => location.assign('/second'), 3000);
</script>`;
const shared = useChain({
  pages: {
    ...Object.fromEntries(
      NAMES.map((name) => [
        `/${name}`,
        `<title>${name}</title><button onclick="this.textContent = 'clicked'">press</button>`,
      ]),
    ),
    '/first': PRERENDERS,
    '/second':
      '<title>Second</title><script>const prerendered = document.prerendering</script><a href="/one">on</a>',
  },
});

const urlOf = (name) => shared.site.url(`/${name}`);
const pageOf = (context, name) => context.pages().find((page) => page.url() === urlOf(name));

test('using some of the tabs attaches exactly those', async () => {
  await openTabs(shared.chain, NAMES.map(urlOf));
  await shared.withPlaywright(async ({ context }) => {
    const used = ['two', 'four', 'five'];
    await Promise.all(
      used.map(async (name) => assert.equal(await pageOf(context, name).title(), name)),
    );
    assert.deepEqual((await attachedUrls(shared.chain)).sort(), used.map(urlOf).sort());
  });
});

test('a function exposed in one page attaches that one, and others can have theirs afterwards', () =>
  shared.withPlaywright(async ({ context }) => {
    const [one, two] = [pageOf(context, 'one'), pageOf(context, 'two')];
    await one.exposeFunction('double', (n) => n * 2);
    assert.deepEqual(await attachedUrls(shared.chain), [urlOf('one')]);
    assert.equal(await one.evaluate(() => window.double(21)), 42);
    await two.exposeFunction('triple', (n) => n * 3);
    assert.equal(await two.evaluate(() => window.triple(3)), 9);
    assert.equal(await two.evaluate(() => typeof window.double), 'undefined');
    await two.reload();
    assert.equal(await two.evaluate(() => window.triple(4)), 12);
    assert.deepEqual(
      (await attachedUrls(shared.chain)).sort(),
      [urlOf('one'), urlOf('two')].sort(),
    );
  }));

test('a function exposed in all pages is there in all of them', () =>
  shared.withPlaywright(async ({ context }) => {
    await context.exposeFunction('half', (n) => n / 2);
    assert.equal(await pageOf(context, 'three').evaluate(() => window.half(8)), 4);
  }));

test('a prerendered page that takes the place of a dormant one can be used like any other', () =>
  shared.withPlaywright(async ({ context }) => {
    const opened = context.waitForEvent('page');
    await openTabs(shared.chain, [], { inFront: urlOf('first') });
    const page = await opened;
    await page.waitForURL('**/second');
    assert.equal(await page.evaluate('prerendered'), true, 'Chrome prerendered it');
    assert.equal(await page.title(), 'Second');
    await page.click('a');
    await page.waitForURL('**/one');
    assert.equal((await page.goto(urlOf('two'))).status(), 200);
    assert.equal(await page.title(), 'two');
    await page.close();
  }));

test('a frozen page stays so when a client connects, and thaws when it is used', async () => {
  // Playwright would thaw it by merely connecting to Chromium's own port.
  const person = await puppeteer.connect({
    browserWSEndpoint: shared.chain.chromium.ownUrl,
    defaultViewport: null,
  });
  try {
    const worker = await (
      await person.waitForTarget((target) => target.type() === 'service_worker')
    ).worker();
    const isFrozen = () =>
      worker.evaluate(async (url) => (await chrome.tabs.query({ url }))[0].frozen, urlOf('six'));
    const session = await (
      await person.pages()
    )
      .find((page) => page.url() === urlOf('six'))
      .createCDPSession();
    await session.send('Page.setWebLifecycleState', { state: 'frozen' });
    await until('it is frozen', isFrozen);
    await shared.withPlaywright(async ({ context }) => {
      assert.equal(await isFrozen(), true);
      const page = pageOf(context, 'six');
      assert.equal(
        await page.evaluate(() => new Promise((resolve) => setTimeout(resolve, 10, 'a timer ran'))),
        'a timer ran',
      );
      assert.equal(await isFrozen(), false);
    });
  } finally {
    await person.disconnect();
  }
});

test('what Chrome refuses for its parameters is refused, and not kept for later', async () => {
  await openTabs(shared.chain, [urlOf('six')]);
  await withBareClient(shared.chain, async ({ client }) => {
    const session = await client.attach(urlOf('six'));
    for (const [method, params] of [
      ['Page.addScriptToEvaluateOnNewDocument', {}],
      ['Page.setLifecycleEventsEnabled', { enabled: 'yes' }],
      ['Emulation.setTimezoneOverride', { timezoneId: 5 }],
      ['Runtime.addBinding', {}],
    ]) {
      assert.equal((await client.ask(method, params, session)).error?.code, -32602, method);
    }
  });
});

test('Playwright of last year uses dormant tabs', async () => {
  const browser = await playwrightOfLastYear.connectOverCDP(shared.chain.cdpUrl);
  try {
    const page = pageOf(browser.contexts()[0], 'three');
    assert.equal(await page.title(), 'three');
    await page.click('button');
    assert.equal(await page.textContent('button'), 'clicked');
    assert.equal((await pageOf(browser.contexts()[0], 'four').goto(urlOf('four'))).status(), 200);
    assert.equal((await attachedUrls(shared.chain)).length, 2);
  } finally {
    await browser.close();
  }
});

test('Puppeteer uses dormant tabs', async () => {
  const browser = await puppeteer.connect({
    browserWSEndpoint: shared.chain.cdpUrl,
    defaultViewport: null,
  });
  try {
    const pages = await browser.pages();
    const named = (name) => pages.find((page) => page.url() === urlOf(name));
    assert.equal(await named('one').title(), 'one');
    await named('two').click('button');
    assert.equal(await named('two').$eval('button', (button) => button.textContent), 'clicked');
    assert.equal((await named('five').goto(urlOf('five'))).status(), 200);
    await named('six').exposeFunction('double', (n) => n * 2);
    assert.equal(await named('six').evaluate(() => window.double(4)), 8);
    await named('three').reload();
    assert.equal(await named('three').title(), 'three');
    assert.equal((await attachedUrls(shared.chain)).length, 5);
  } finally {
    await browser.disconnect();
  }
});
