/** The person's own tabs: all there at once, untouched until used, and as they were afterwards. */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { asPerson, attachedUrls, inExtension, openTabs, useChain } from '../harness/chain.mjs';
import { until } from '../harness/processes.mjs';

const page = (name) =>
  `<title>${name}</title><button onclick="this.textContent = 'clicked'">press</button>`;
const shared = useChain({
  pages: {
    '/one': page('One'),
    '/two': page('Two'),
    '/three': page('Three'),
    '/open': '<script>onclick = () => open("/two")</script>',
  },
});

/** Everything about the person's tabs that a client could have changed without being asked. */
const tabsAsThePersonSeesThem = () =>
  inExtension(shared.chain, async () => {
    const tabs = await chrome.tabs.query({});
    return tabs.map(({ id, url, title, active, index, windowId, pinned, discarded }) => ({
      id,
      url,
      title,
      active,
      index,
      windowId,
      pinned,
      discarded,
    }));
  });

test('tabs that are open already are pages with their real ids, and connecting attaches and changes nothing', async () => {
  const urls = ['/one', '/two', '/three'].map((path) => shared.site.url(path));
  await openTabs(shared.chain, urls);
  const before = await tabsAsThePersonSeesThem();
  await shared.withPlaywright(async ({ browser, context }) => {
    const pages = context.pages();
    for (const url of urls) {
      assert.ok(
        pages.some((known) => known.url() === url),
        url,
      );
    }
    const root = await browser.newBrowserCDPSession();
    const { targetInfos } = await root.send('Target.getTargets');
    const real = await inExtension(shared.chain, () => chrome.debugger.getTargets());
    for (const { targetId } of targetInfos) {
      assert.ok(
        real.some((target) => target.id === targetId),
        targetId,
      );
    }
    assert.deepEqual(await attachedUrls(shared.chain), []);
    assert.deepEqual(await tabsAsThePersonSeesThem(), before);
  });
});

test('using one tab attaches exactly that one, and leaving takes the debugger off', async () => {
  await shared.withPlaywright(async ({ context }) => {
    const two = context.pages().find((known) => known.url().endsWith('/two'));
    assert.equal(await two.title(), 'Two');
    assert.deepEqual(await attachedUrls(shared.chain), [shared.site.url('/two')]);
    await two.click('button');
    assert.equal(await two.textContent('button'), 'clicked');
    const active = (await tabsAsThePersonSeesThem()).find((tab) => tab.active);
    assert.notEqual(active.url, shared.site.url('/two'));
  });
  await until('the debugger is off', async () => (await attachedUrls(shared.chain)).length === 0);
});

test('what the person opens, navigates and closes reaches the client', () =>
  shared.withPlaywright(async ({ context }) => {
    const opened = context.waitForEvent('page');
    await openTabs(shared.chain, [shared.site.url('/one?new')]);
    const fresh = await opened;
    await fresh.waitForURL('**/one?new');
    const navigated = fresh.waitForURL('**/three?new');
    await inExtension(
      shared.chain,
      async ([from, to]) => {
        const [tab] = await chrome.tabs.query({ url: from });
        await chrome.tabs.update(tab.id, { url: to });
      },
      [shared.site.url('/one?new'), shared.site.url('/three?new')],
    );
    await navigated;
    assert.equal(await fresh.title(), 'Three');
    const closed = fresh.waitForEvent('close');
    await inExtension(
      shared.chain,
      async (url) => {
        const [tab] = await chrome.tabs.query({ url });
        await chrome.tabs.remove(tab.id);
      },
      shared.site.url('/three?new'),
    );
    await closed;
  }));

/** Lets the person do something in their own page, over Chromium's own port. */
const inPersonsPage = (url, act) =>
  asPerson(shared.chain, async (browser, context) => {
    const page = context.pages().find((known) => known.url() === url);
    await page.evaluate(act);
  });

test('places and states of one document, reloads and titles reach the client of a dormant tab', async () => {
  const url = shared.site.url('/one?steps');
  await openTabs(shared.chain, [url]);
  await shared.withPlaywright(async ({ context }) => {
    const page = context.pages().find((known) => known.url() === url);
    const loads = [];
    page.on('load', () => loads.push(page.url()));
    await inPersonsPage(url, () => history.pushState({}, '', '?state'));
    await page.waitForURL('**/one?state');
    await inPersonsPage(shared.site.url('/one?state'), () => (location.hash = 'place'));
    await page.waitForURL('**/one?state#place');
    assert.deepEqual(loads, [], 'the same document');
    const loaded = page.waitForEvent('load');
    await inExtension(
      shared.chain,
      async (pattern) => {
        const [tab] = await chrome.tabs.query({ url: pattern });
        await chrome.tabs.reload(tab.id);
      },
      shared.site.url('/one?state'),
    );
    await loaded;
    assert.deepEqual(await attachedUrls(shared.chain), [], 'nothing was attached for it');
    assert.equal(await page.title(), 'One');
  });
});

test('a discarded tab is there, and is loaded when it is first used', async () => {
  const url = shared.site.url('/two?discarded');
  await openTabs(shared.chain, [url]);
  await inExtension(
    shared.chain,
    async (pattern) => {
      const [tab] = await chrome.tabs.query({ url: pattern });
      await chrome.tabs.discard(tab.id);
    },
    url,
  );
  const isDiscarded = () =>
    inExtension(
      shared.chain,
      async (pattern) => (await chrome.tabs.query({ url: pattern }))[0].discarded,
      url,
    );
  await shared.withPlaywright(async ({ context }) => {
    assert.equal(await isDiscarded(), true, 'connecting loads nothing');
    const page = context.pages().find((known) => known.url() === url);
    assert.equal(await page.evaluate(() => document.title), 'Two');
    assert.equal(await isDiscarded(), false);
  });
});

test('a tab that is discarded or moved to another window while a client is there stays usable', async () => {
  const url = shared.site.url('/three?moved');
  await openTabs(shared.chain, [url]);
  await shared.withPlaywright(async ({ context }) => {
    const page = context.pages().find((known) => known.url() === url);
    assert.equal(await page.title(), 'Three');
    await inExtension(
      shared.chain,
      async (pattern) => {
        const [tab] = await chrome.tabs.query({ url: pattern });
        await chrome.windows.create({ tabId: tab.id, focused: false });
      },
      url,
    );
    assert.equal(await page.evaluate(() => document.title), 'Three');
  });
  await shared.withPlaywright(async ({ context }) => {
    // The tab that is put before it is a page that comes, too.
    const replaced = context.waitForEvent('page', (known) => known.url() === url);
    await inExtension(
      shared.chain,
      async (pattern) => {
        const [tab] = await chrome.tabs.query({ url: pattern });
        // Chrome discards no tab that is in front.
        await chrome.tabs.create({ windowId: tab.windowId, url: 'about:blank', active: true });
        await chrome.tabs.discard(tab.id);
      },
      url,
    );
    const page = await replaced;
    assert.equal(await page.evaluate(() => document.title), 'Three');
  });
});

test('a popup is announced with its opener', () =>
  shared.withPlaywright(async ({ context }) => {
    const opener = await context.newPage();
    await opener.goto(shared.site.url('/open'));
    const popup = opener.waitForEvent('popup');
    await opener.mouse.click(10, 10);
    const opened = await popup;
    assert.equal(await opened.opener(), opener);
    await opened.waitForURL('**/two');
    assert.equal(await opened.title(), 'Two');
  }));

test('only bringToFront brings a tab to the front', () =>
  shared.withPlaywright(async ({ context }) => {
    const fresh = await context.newPage();
    await fresh.goto(shared.site.url('/one?front'));
    const isActive = async () =>
      (await tabsAsThePersonSeesThem()).find((tab) => tab.url.endsWith('/one?front')).active;
    await fresh.click('button');
    await fresh.screenshot();
    assert.equal(await isActive(), false);
    await fresh.bringToFront();
    await until('it is in front', isActive);
  }));

test('browser.close() ends the connection and leaves every tab', async () => {
  const before = await tabsAsThePersonSeesThem();
  await shared.withPlaywright(async () => {});
  assert.deepEqual(
    (await tabsAsThePersonSeesThem()).map((tab) => tab.id),
    before.map((tab) => tab.id),
  );
});
