/** Tabs that pages and the person open: announced in time, with their opener, usable at once, and closed on either side. */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import puppeteer from 'puppeteer-core';

import { clickAsPerson } from '../harness/bare_client.mjs';
import { attachedUrls, inExtension, openTabs, useChain } from '../harness/chain.mjs';
import { until } from '../harness/processes.mjs';

const written = (write) => (request, response) =>
  response.setHeader('content-type', 'text/html').end(write(shared.site));

/** Answers that a test gives when it likes. */
const held = [];

const shared = useChain({
  pages: {
    '/opener': written(
      (site) => `<title>Opener</title>
      <button id="same" onclick="window.opened = window.open('/popup?same')">same site</button>
      <button id="cross" onclick="window.open('${site.url('/popup?cross', 'localhost')}')">another site</button>
      <button id="sized" onclick="window.open('/popup?sized', '', 'width=321,height=234')">a window</button>
      <button id="noopener" onclick="window.open('/popup?noopener', '', 'noopener')">without opener</button>
      <button id="slow" onclick="window.open('/slow')">slow</button>
      <button id="nothing" onclick="window.open('/nothing')">no page</button>
      <button id="script" onclick="window.open('javascript:1')">a script</button>
      <button id="empty" onclick="const opened = window.open(''); opened.document.title = 'Written'; opened.document.body.innerHTML = '<button>press</button>'">empty</button>
      <a id="plain" target="_blank" href="/popup?plain">link</a>
      <a id="relOpener" target="_blank" rel="opener" href="/popup?relOpener">link with opener</a>
      <a id="relNoopener" target="_blank" rel="noopener" href="/popup?relNoopener">link without opener</a>`,
    ),
    '/popup': `<title>Popup</title><button onclick="this.textContent = 'clicked'">press</button>`,
    '/slow': (request, response) => held.push(response),
    '/nothing': (request, response) => response.writeHead(204).end(),
    '/data': 'data',
  },
});

const WITHIN = { timeout: 20_000 };
/** A test with an opener that Playwright made and uses. */
const openerTest = (name, run) =>
  test(name, WITHIN, () =>
    shared.withPlaywright(async ({ context, browser }) => {
      const opener = await context.newPage();
      await opener.goto(shared.site.url('/opener'));
      await run({ opener, context, browser });
    }),
  );

const tabsAt = (url) =>
  inExtension(
    shared.chain,
    async (pattern) => (await chrome.tabs.query({ url: pattern })).length,
    url,
  );

// ---- what pages open ----

/** Each way to open a page, where it goes, and whether that page can reach its opener. Chromium's own port names it for all. */
const WAYS = {
  same: { path: '/popup?same', reaches: true },
  cross: { path: '/popup?cross', host: 'localhost', reaches: true },
  sized: { path: '/popup?sized', reaches: true, width: 321 },
  noopener: { path: '/popup?noopener', reaches: false },
  plain: { path: '/popup?plain', reaches: false },
  relOpener: { path: '/popup?relOpener', reaches: true },
  relNoopener: { path: '/popup?relNoopener', reaches: false },
};

for (const [id, { path, host, reaches, width }] of Object.entries(WAYS)) {
  openerTest(
    `what ${id} opens is a popup of its page and usable at once`,
    async ({ opener, context }) => {
      const [popup, page] = await Promise.all([
        opener.waitForEvent('popup'),
        context.waitForEvent('page'),
        opener.click(`#${id}`),
      ]);
      assert.equal(popup, page);
      assert.equal(popup.url(), shared.site.url(path, host));
      assert.equal(await popup.opener(), opener);
      await popup.waitForLoadState();
      assert.equal(await popup.title(), 'Popup');
      assert.equal(await popup.evaluate(() => window.opener !== null), reaches);
      assert.equal(
        await popup.evaluate((wanted) => wanted === undefined || innerWidth === wanted, width),
        true,
      );
      await popup.click('button');
      assert.equal(await popup.textContent('button'), 'clicked');
    },
  );
}

openerTest('a popup that its page fills is a page like any other', async ({ opener }) => {
  const [popup] = await Promise.all([opener.waitForEvent('popup'), opener.click('#empty')]);
  assert.equal(popup.url(), 'about:blank');
  assert.equal(await popup.title(), 'Written');
  assert.equal(await popup.textContent('button'), 'press');
});

openerTest('a popup is announced with its document, and not before', async ({ opener }) => {
  const targets = async () => (await shared.chain.relay.status()).targets;
  const before = await targets();
  const announced = opener.waitForEvent('popup');
  await opener.click('#slow');
  const response = await until('it is asked for', () => held.shift());
  assert.equal(await targets(), before);
  response.setHeader('content-type', 'text/html').end('<title>Slow</title>');
  const popup = await announced;
  assert.equal(popup.url(), shared.site.url('/slow'));
  await popup.waitForLoadState();
  assert.equal(await popup.title(), 'Slow');
});

for (const id of ['nothing', 'script']) {
  openerTest(`a popup that never gets a page (${id}) is announced too`, async ({ opener }) => {
    const [popup] = await Promise.all([opener.waitForEvent('popup'), opener.click(`#${id}`)]);
    assert.equal(popup.url(), 'about:blank');
    assert.equal(await popup.evaluate(() => document.body.childElementCount), 0);
    await popup.goto(shared.site.url('/popup?later'));
    assert.equal(await popup.title(), 'Popup');
  });
}

openerTest('requests of a popup are routed from its first use on', async ({ opener, context }) => {
  const routed = [];
  await context.route('**/data', (route) => {
    routed.push(route.request().url());
    return route.fulfill({ body: 'routed' });
  });
  const [popup] = await Promise.all([opener.waitForEvent('popup'), opener.click('#same')]);
  assert.equal(await popup.evaluate(async () => (await fetch('/data')).text()), 'routed');
  assert.deepEqual(routed, [shared.site.url('/data')]);
});

openerTest(
  'ten popups at once are all there, each with its opener',
  async ({ opener, context }) => {
    // Chrome opens one for each gesture.
    await Promise.all(
      [...Array(10).keys()].map((index) =>
        opener.evaluate((number) => void window.open(`/popup?many-${number}`), index),
      ),
    );
    const popups = await until('all are there', () => {
      const found = context.pages().filter((page) => page.url().includes('/popup?many-'));
      return found.length === 10 ? found : undefined;
    });
    for (const popup of popups) {
      assert.equal(await popup.opener(), opener);
    }
    assert.deepEqual(
      [...new Set(await Promise.all(popups.map((popup) => popup.title())))],
      ['Popup'],
    );
  },
);

// ---- closing ----

openerTest(
  'a popup that the client closes is gone from the browser, and its page knows',
  async ({ opener }) => {
    const [popup] = await Promise.all([opener.waitForEvent('popup'), opener.click('#same')]);
    await popup.close();
    assert.equal(await tabsAt(shared.site.url('/popup?same')), 0);
    await opener.waitForFunction(() => window.opened.closed);
  },
);

openerTest(
  'a popup that its page, or itself, closes is closed for the client',
  async ({ opener, context }) => {
    for (const close of [
      () => opener.evaluate(() => window.opened.close()),
      (popup) =>
        popup.evaluate(() => {
          setTimeout(() => window.close());
        }),
    ]) {
      const [popup] = await Promise.all([opener.waitForEvent('popup'), opener.click('#same')]);
      const closed = popup.waitForEvent('close');
      await close(popup);
      await closed;
      assert.equal(context.pages().includes(popup), false);
    }
  },
);

openerTest('a popup outlives its opener', async ({ opener }) => {
  const [popup] = await Promise.all([opener.waitForEvent('popup'), opener.click('#same')]);
  await opener.close();
  assert.equal(await popup.title(), 'Popup');
  assert.equal(await popup.opener(), null);
});

// ---- what the person opens ----

test(
  'what the person opens out of a page that nobody uses is announced with its opener, and nothing is attached',
  WITHIN,
  async () => {
    const url = shared.site.url('/opener?dormant');
    await openTabs(shared.chain, [url]);
    await shared.withPlaywright(async ({ context }) => {
      const opener = context.pages().find((page) => page.url() === url);
      for (const id of ['same', 'cross', 'relNoopener']) {
        const announced = opener.waitForEvent('popup');
        await clickAsPerson(shared.chain, url, `#${id}`);
        const popup = await announced;
        assert.equal(popup.url(), shared.site.url(WAYS[id].path, WAYS[id].host));
        assert.equal(await popup.opener(), opener);
        await popup.waitForLoadState();
        assert.deepEqual(await attachedUrls(shared.chain), [], 'nobody has used it');
        assert.equal(await popup.title(), 'Popup');
        assert.deepEqual(await attachedUrls(shared.chain), [popup.url()]);
        await popup.close();
      }
      await opener.close();
    });
  },
);

test('a tab that the person opens has no opener, and closing it is told', WITHIN, () =>
  shared.withPlaywright(async ({ context }) => {
    const url = shared.site.url('/popup?person');
    const [page] = await Promise.all([
      context.waitForEvent('page'),
      openTabs(shared.chain, [], { inFront: url }),
    ]);
    await page.waitForURL(url);
    assert.equal(await page.opener(), null);
    assert.equal(await page.textContent('button'), 'press');
    const closed = page.waitForEvent('close');
    await inExtension(
      shared.chain,
      async (pattern) => chrome.tabs.remove((await chrome.tabs.query({ url: pattern }))[0].id),
      url,
    );
    await closed;
  }),
);

// ---- Puppeteer ----

test('Puppeteer gets popups of its pages', WITHIN, async () => {
  const browser = await puppeteer.connect({
    browserWSEndpoint: shared.chain.cdpUrl,
    defaultViewport: null,
  });
  try {
    const opener = await browser.newPage();
    await opener.goto(shared.site.url('/opener'));
    for (const id of ['same', 'cross', 'sized', 'noopener', 'plain']) {
      const announced = new Promise((resolve) => opener.once('popup', resolve));
      await opener.click(`#${id}`);
      const popup = await announced;
      assert.equal(popup.target().opener(), opener.target());
      await popup.waitForSelector('button');
      assert.equal(await popup.title(), 'Popup');
      const closed = new Promise((resolve) => popup.once('close', resolve));
      await popup.close();
      await closed;
    }
    await opener.close();
  } finally {
    await browser.disconnect();
    await until('the slot is free', async () => (await shared.chain.relay.status()).clients === 0);
  }
});
