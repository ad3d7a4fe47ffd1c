/**
 * Tabs that pages and the user open: when they are announced, with which opener, and that both
 * sides can close them.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import {
  actOnTab,
  attachedUrls,
  inExtension,
  openForegroundTab,
  openTabs,
  pageAt,
  useChain,
  titleIn,
} from '../harness/chain.mjs';
import { until } from '../harness/processes.mjs';
import { clickAsUser } from '../harness/raw_client.mjs';
import { html } from '../harness/site.mjs';

/** Responses to /slow, which the test sends. */
const held = [];

const shared = useChain({
  pages: {
    '/opener': html(
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
    '/slow': (_request, response) => held.push(response),
    '/nothing': (_request, response) => response.writeHead(204).end(),
    '/data': 'data',
  },
});

/**
 * A popup that is never announced would otherwise block the file for Playwright's default of 30
 * seconds per wait.
 */
const TIMEOUT = { timeout: 20_000 };

/** A test with an opener that Playwright has opened. */
const openerTest = (name, run) =>
  test(name, TIMEOUT, () =>
    shared.withPlaywright(async ({ context, browser }) => {
      const opener = await context.newPage();
      await opener.goto(shared.site.url('/opener'));
      await run({ opener, context, browser });
    }),
  );

const openPopup = async (opener, id) => {
  const [popup] = await Promise.all([opener.waitForEvent('popup'), opener.click(`#${id}`)]);
  return popup;
};

const countTabs = (url) =>
  inExtension(
    shared.chain,
    async (pattern) => (await chrome.tabs.query({ url: pattern })).length,
    url,
  );

// ---- opened by pages ----

/**
 * Ways to open a page, its address, and whether it has `window.opener`. CDP names the opener for
 * all of them.
 */
const WAYS = {
  same: { path: '/popup?same', hasOpener: true },
  cross: { path: '/popup?cross', host: 'localhost', hasOpener: true },
  sized: { path: '/popup?sized', hasOpener: true, width: 321 },
  noopener: { path: '/popup?noopener', hasOpener: false },
  plain: { path: '/popup?plain', hasOpener: false },
  relOpener: { path: '/popup?relOpener', hasOpener: true },
  relNoopener: { path: '/popup?relNoopener', hasOpener: false },
};

for (const [id, { path, host, hasOpener, width }] of Object.entries(WAYS)) {
  openerTest(
    `a popup opened by #${id} has its opener and is usable`,
    async ({ opener, context }) => {
      const announced = context.waitForEvent('page');
      const popup = await openPopup(opener, id);
      assert.equal(popup, await announced);
      assert.equal(popup.url(), shared.site.url(path, host));
      assert.equal(await popup.opener(), opener);
      await popup.waitForLoadState();
      assert.equal(await popup.title(), 'Popup');
      assert.equal(await popup.evaluate(() => window.opener !== null), hasOpener);
      if (width !== undefined) {
        assert.equal(await popup.evaluate(() => innerWidth), width);
      }
      await popup.click('button');
      assert.equal(await popup.textContent('button'), 'clicked');
    },
  );
}

openerTest('an empty popup that its opener fills is usable', async ({ opener }) => {
  const popup = await openPopup(opener, 'empty');
  assert.equal(popup.url(), 'about:blank');
  assert.equal(await popup.title(), 'Written');
  assert.equal(await popup.textContent('button'), 'press');
});

openerTest('announces a popup with its document, not before', async ({ opener }) => {
  const targets = async () => (await shared.chain.relay.status()).targets;
  const before = await targets();
  const announced = opener.waitForEvent('popup');
  await opener.click('#slow');
  const response = await until('the popup is requested', () => held.shift());
  assert.equal(await targets(), before);
  response.setHeader('content-type', 'text/html').end('<title>Slow</title>');
  const popup = await announced;
  assert.equal(popup.url(), shared.site.url('/slow'));
  await popup.waitForLoadState();
  assert.equal(await popup.title(), 'Slow');
});

for (const id of ['nothing', 'script']) {
  openerTest(`announces a popup that never gets a document (#${id})`, async ({ opener }) => {
    const popup = await openPopup(opener, id);
    assert.equal(popup.url(), 'about:blank');
    assert.equal(await popup.evaluate(() => document.body.childElementCount), 0);
    await popup.goto(shared.site.url('/popup?later'));
    assert.equal(await popup.title(), 'Popup');
  });
}

openerTest('routes requests of a popup from its first use', async ({ opener, context }) => {
  const routed = [];
  await context.route('**/data', (route) => {
    routed.push(route.request().url());
    return route.fulfill({ body: 'routed' });
  });
  const popup = await openPopup(opener, 'same');
  assert.equal(await popup.evaluate(async () => (await fetch('/data')).text()), 'routed');
  assert.deepEqual(routed, [shared.site.url('/data')]);
});

openerTest(
  'announces ten popups opened at once, each with its opener',
  async ({ opener, context }) => {
    // Chrome opens one popup for each user gesture, and each evaluate counts as one.
    await Promise.all(
      [...Array(10).keys()].map((index) =>
        opener.evaluate((number) => void window.open(`/popup?many-${number}`), index),
      ),
    );
    const popups = await until('all popups are announced', () => {
      const found = context.pages().filter((page) => page.url().includes('/popup?many-'));
      return found.length === 10 ? found : undefined;
    });
    for (const popup of popups) {
      assert.equal(await popup.opener(), opener);
    }
    const titles = await Promise.all(popups.map((popup) => popup.title()));
    assert.deepEqual([...new Set(titles)], ['Popup']);
  },
);

// ---- closing ----

openerTest(
  'closing a popup from the client closes its tab, and the opener sees it',
  async ({ opener }) => {
    const popup = await openPopup(opener, 'same');
    await popup.close();
    assert.equal(await countTabs(shared.site.url('/popup?same')), 0);
    await opener.waitForFunction(() => window.opened.closed);
  },
);

openerTest(
  'a popup closed by its opener or by itself closes for the client',
  async ({ opener, context }) => {
    for (const close of [
      () => opener.evaluate(() => window.opened.close()),
      // Late enough for the reply, which takes another way than the news of a closed tab.
      (popup) => popup.evaluate(() => void setTimeout(() => window.close(), 100)),
    ]) {
      const popup = await openPopup(opener, 'same');
      await popup.waitForLoadState();
      const closed = popup.waitForEvent('close');
      await close(popup);
      await closed;
      assert.equal(context.pages().includes(popup), false);
    }
  },
);

openerTest('a popup outlives its opener', async ({ opener }) => {
  const popup = await openPopup(opener, 'same');
  await opener.close();
  assert.equal(await popup.title(), 'Popup');
  assert.equal(await popup.opener(), null);
});

// ---- opened by the user ----

test(
  'announces popups of a dormant page with their opener and attaches nothing',
  TIMEOUT,
  async () => {
    const url = shared.site.url('/opener?dormant');
    await openTabs(shared.chain, [url]);
    await shared.withPlaywright(async ({ context }) => {
      const opener = pageAt(context, url);
      for (const id of ['same', 'cross', 'relNoopener']) {
        const announced = opener.waitForEvent('popup');
        await clickAsUser(shared.chain, url, `#${id}`);
        const popup = await announced;
        assert.equal(popup.url(), shared.site.url(WAYS[id].path, WAYS[id].host));
        assert.equal(await popup.opener(), opener);
        await popup.waitForLoadState();
        assert.deepEqual(await attachedUrls(shared.chain), [], 'no client has used it');
        assert.equal(await titleIn(popup), 'Popup');
        assert.deepEqual(await attachedUrls(shared.chain), [popup.url()]);
        await popup.close();
      }
      await opener.close();
    });
  },
);

test('a tab opened and closed by the user has no opener, and closes for the client', TIMEOUT, () =>
  shared.withPlaywright(async ({ context }) => {
    const url = shared.site.url('/popup?user');
    const [page] = await Promise.all([
      context.waitForEvent('page'),
      openForegroundTab(shared.chain, url),
    ]);
    await page.waitForURL(url);
    assert.equal(await page.opener(), null);
    assert.equal(await page.textContent('button'), 'press');
    const closed = page.waitForEvent('close');
    await actOnTab(shared.chain, url, 'remove');
    await closed;
  }),
);

test('Puppeteer gets popups of its pages', TIMEOUT, () =>
  shared.withPuppeteer(async (browser) => {
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
  }),
);
