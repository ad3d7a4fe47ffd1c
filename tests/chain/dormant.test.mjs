/** The first use of dormant tabs by each kind of client, and dormant tabs in unusual states. */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { chromium as olderPlaywright } from 'playwright-core-1.56';

import {
  attachedUrls,
  openForegroundTab,
  openTabs,
  pageAt,
  puppeteerOnOwnPort,
  titleIn,
  useChain,
} from '../harness/chain.mjs';
import { until } from '../harness/processes.mjs';
import { withRawClient } from '../harness/raw_client.mjs';

const NAMES = ['one', 'two', 'three', 'four', 'five', 'six'];
/**
 * Offers /second for prerendering when the test releases /offer, and goes there when the test
 * releases /leave.
 */
const PRERENDERS = `<title>First</title><script type="module">
  await fetch('/offer');
  const rules = Object.assign(document.createElement('script'), { type: 'speculationrules' });
  rules.textContent = JSON.stringify({ prerender: [{ source: 'list', urls: ['/second'], eagerness: 'immediate' }] });
  document.head.append(rules);
  await fetch('/leave');
  location.assign('/second');
</script>`;
/** Responses that the test sends when it is ready, by path. */
const held = {};
const hold = (name) => (_request, response) => (held[name] = response);
const shared = useChain({
  pages: {
    ...Object.fromEntries(
      NAMES.map((name) => [
        `/${name}`,
        `<title>${name}</title><button onclick="this.textContent = 'clicked'">press</button>`,
      ]),
    ),
    '/first': PRERENDERS,
    '/offer': hold('offer'),
    '/leave': hold('leave'),
    '/second':
      "<title>Second</title><script>const prerendered = document.prerendering; fetch('/loaded')</script><a href='/one'>on</a>",
  },
});

const urlOf = (name) => shared.site.url(`/${name}`);
const pageOf = (pages, name) => pageAt(pages, urlOf(name));

test('attaches exactly the tabs that are used', async () => {
  await openTabs(shared.chain, NAMES.map(urlOf));
  await shared.withPlaywright(async ({ context }) => {
    const used = ['two', 'four', 'five'];
    await Promise.all(
      used.map(async (name) => assert.equal(await titleIn(pageOf(context, name)), name)),
    );
    assert.deepEqual((await attachedUrls(shared.chain)).sort(), used.map(urlOf).sort());
  });
});

test('exposing a function attaches only the page that exposes it', () =>
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

test('a function exposed on the context works in a dormant page', () =>
  shared.withPlaywright(async ({ context }) => {
    await context.exposeFunction('half', (n) => n / 2);
    assert.equal(await pageOf(context, 'three').evaluate(() => window.half(8)), 4);
  }));

test('a prerendered page that replaces a dormant one is usable', () =>
  shared.withPlaywright(async ({ context }) => {
    const announced = context.waitForEvent('page');
    await openForegroundTab(shared.chain, urlOf('first'));
    const page = await announced;
    // Chrome does not prerender for a page with a debugger, and opening the tab through Chromium's
    // own port attached one.
    const prerendered = shared.site.nextRequest('/loaded');
    (await until('the page has loaded', () => held.offer)).end();
    await prerendered;
    (await until('the page is ready to leave', () => held.leave)).end();
    await page.waitForURL('**/second');
    assert.equal(await page.evaluate('prerendered'), true, 'Chrome prerendered it');
    assert.equal(await titleIn(page), 'Second');
    await page.click('a');
    await page.waitForURL('**/one');
    assert.equal((await page.goto(urlOf('two'))).status(), 200);
    assert.equal(await titleIn(page), 'two');
    await page.close();
  }));

/**
 * Freezes the page through Chromium's own port and returns a function that tells whether it still
 * is.
 */
async function freeze(own, url) {
  const target = await own.waitForTarget((candidate) => candidate.type() === 'service_worker');
  const worker = await target.worker();
  const isFrozen = () =>
    worker.evaluate(async (wanted) => (await chrome.tabs.query({ url: wanted }))[0].frozen, url);
  const session = await pageAt(await own.pages(), url).createCDPSession();
  await session.send('Page.setWebLifecycleState', { state: 'frozen' });
  await until('the page is frozen', isFrozen);
  return isFrozen;
}

test('connecting leaves a frozen page frozen, and using it unfreezes it', async () => {
  // Playwright would unfreeze the page by connecting to Chromium's own port.
  const own = await puppeteerOnOwnPort(shared.chain);
  try {
    const isFrozen = await freeze(own, urlOf('six'));
    await shared.withPlaywright(async ({ context }) => {
      assert.equal(await isFrozen(), true);
      const timer = await pageOf(context, 'six').evaluate(
        () => new Promise((resolve) => setTimeout(resolve, 10, 'timer fired')),
      );
      assert.equal(timer, 'timer fired');
      assert.equal(await isFrozen(), false);
    });
  } finally {
    await own.disconnect();
  }
});

test('rejects invalid parameters on a dormant tab as Chrome does, and does not journal them', async () => {
  await openTabs(shared.chain, [urlOf('six')]);
  await withRawClient(shared.chain, async ({ client }) => {
    const session = await client.attach(urlOf('six'));
    for (const [method, params] of [
      ['Page.addScriptToEvaluateOnNewDocument', {}],
      ['Page.setLifecycleEventsEnabled', { enabled: 'yes' }],
      ['Emulation.setTimezoneOverride', { timezoneId: 5 }],
      ['Runtime.addBinding', {}],
    ]) {
      const { error } = await client.request(method, params, session);
      assert.equal(error?.code, -32602, method);
    }
  });
});

test('an older Playwright uses dormant tabs', async () => {
  const browser = await olderPlaywright.connectOverCDP(shared.chain.cdpUrl);
  try {
    const [context] = browser.contexts();
    const page = pageOf(context, 'three');
    assert.equal(await titleIn(page), 'three');
    await page.click('button');
    assert.equal(await page.textContent('button'), 'clicked');
    assert.equal((await pageOf(context, 'four').goto(urlOf('four'))).status(), 200);
    assert.equal((await attachedUrls(shared.chain)).length, 2);
  } finally {
    await browser.close();
    await shared.chain.relay.waitForClients(0);
  }
});

test('Puppeteer uses dormant tabs', () =>
  shared.withPuppeteer(async (browser) => {
    const pages = await browser.pages();
    assert.equal(await titleIn(pageOf(pages, 'one')), 'one');
    const two = pageOf(pages, 'two');
    await two.click('button');
    assert.equal(await two.$eval('button', (button) => button.textContent), 'clicked');
    assert.equal((await pageOf(pages, 'five').goto(urlOf('five'))).status(), 200);
    const six = pageOf(pages, 'six');
    await six.exposeFunction('double', (n) => n * 2);
    assert.equal(await six.evaluate(() => window.double(4)), 8);
    const three = pageOf(pages, 'three');
    await three.reload();
    assert.equal(await titleIn(three), 'three');
    assert.equal((await attachedUrls(shared.chain)).length, 5);
  }));
