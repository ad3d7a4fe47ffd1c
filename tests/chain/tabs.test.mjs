/**
 * The user's own tabs: announced with their real ids, untouched until used, and restored
 * afterwards.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import {
  actOnTab,
  attachedUrls,
  inExtension,
  onOwnPort,
  openTabs,
  pageAt,
  untilDetached,
  useChain,
} from '../harness/chain.mjs';
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

/** Everything about the user's tabs that a client could change without being asked. */
const userTabs = () =>
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

const userTab = async (url) => (await userTabs()).find((tab) => tab.url === url);

test('announces open tabs with their real ids, and connecting attaches and changes nothing', async () => {
  const urls = ['/one', '/two', '/three'].map((path) => shared.site.url(path));
  await openTabs(shared.chain, urls);
  const before = await userTabs();
  await shared.withPlaywright(async ({ browser, context }) => {
    for (const url of urls) {
      assert.ok(pageAt(context, url), url);
    }
    const root = await browser.newBrowserCDPSession();
    const { targetInfos } = await root.send('Target.getTargets');
    const real = await inExtension(shared.chain, () => chrome.debugger.getTargets());
    const realIds = real.map((target) => target.id);
    for (const { targetId } of targetInfos) {
      assert.ok(realIds.includes(targetId), targetId);
    }
    assert.deepEqual(await attachedUrls(shared.chain), []);
    assert.deepEqual(await userTabs(), before);
  });
});

test('using a tab attaches only that tab, and leaving detaches it', async () => {
  const url = shared.site.url('/two');
  await shared.withPlaywright(async ({ context }) => {
    const two = pageAt(context, url);
    assert.equal(await two.evaluate(() => document.title), 'Two');
    assert.deepEqual(await attachedUrls(shared.chain), [url]);
    await two.click('button');
    assert.equal(await two.textContent('button'), 'clicked');
    assert.equal((await userTab(url)).active, false);
  });
  await untilDetached(shared.chain);
});

test('announces tabs that the user opens, navigates and closes', () =>
  shared.withPlaywright(async ({ context }) => {
    const announced = context.waitForEvent('page');
    await openTabs(shared.chain, [shared.site.url('/one?new')]);
    const opened = await announced;
    await opened.waitForURL('**/one?new');
    const navigated = opened.waitForURL('**/three?new');
    await actOnTab(shared.chain, shared.site.url('/one?new'), 'update', {
      url: shared.site.url('/three?new'),
    });
    await navigated;
    assert.equal(await opened.title(), 'Three');
    const closed = opened.waitForEvent('close');
    await actOnTab(shared.chain, shared.site.url('/three?new'), 'remove');
    await closed;
  }));

/** Runs code in a page as the user's own action, through Chromium's own port. */
const inUserPage = (url, act) =>
  onOwnPort(shared.chain, (_browser, context) => pageAt(context, url).evaluate(act));

test('same-document navigations and reloads reach the client of a dormant tab', async () => {
  const url = shared.site.url('/one?steps');
  await openTabs(shared.chain, [url]);
  await shared.withPlaywright(async ({ context }) => {
    const opened = pageAt(context, url);
    const loads = [];
    opened.on('load', () => loads.push(opened.url()));
    await inUserPage(url, () => history.pushState({}, '', '?state'));
    await opened.waitForURL('**/one?state');
    await inUserPage(shared.site.url('/one?state'), () => (location.hash = 'place'));
    await opened.waitForURL('**/one?state#place');
    assert.deepEqual(loads, [], 'it is the same document');
    const loaded = opened.waitForEvent('load');
    await actOnTab(shared.chain, shared.site.url('/one?state'), 'reload');
    await loaded;
    assert.deepEqual(await attachedUrls(shared.chain), [], 'nothing was attached');
    assert.equal(await opened.title(), 'One');
  });
});

test('a discarded tab is announced and loads when it is first used', async () => {
  const url = shared.site.url('/two?discarded');
  await openTabs(shared.chain, [url]);
  await actOnTab(shared.chain, url, 'discard');
  await shared.withPlaywright(async ({ context }) => {
    assert.equal((await userTab(url)).discarded, true, 'connecting loads nothing');
    assert.equal(await pageAt(context, url).evaluate(() => document.title), 'Two');
    assert.equal((await userTab(url)).discarded, false);
  });
});

test('a tab stays usable when it moves to another window', async () => {
  const url = shared.site.url('/three?moved');
  await openTabs(shared.chain, [url]);
  await shared.withPlaywright(async ({ context }) => {
    const opened = pageAt(context, url);
    assert.equal(await opened.title(), 'Three');
    const { id } = await userTab(url);
    await inExtension(
      shared.chain,
      async (tabId) => void (await chrome.windows.create({ tabId, focused: false })),
      id,
    );
    assert.equal(await opened.evaluate(() => document.title), 'Three');
  });
});

test('a tab that is discarded while a client is connected stays usable', () =>
  shared.withPlaywright(async ({ context }) => {
    const url = shared.site.url('/three?moved');
    const replaced = context.waitForEvent('page', (candidate) => candidate.url() === url);
    const { id, windowId } = await userTab(url);
    await inExtension(
      shared.chain,
      async (tab) => {
        // Chrome does not discard the active tab of a window.
        await chrome.tabs.create({ windowId: tab.windowId, url: 'about:blank', active: true });
        await chrome.tabs.discard(tab.id);
      },
      { id, windowId },
    );
    const opened = await replaced;
    assert.equal(await opened.evaluate(() => document.title), 'Three');
  }));

test('announces a popup with its opener', () =>
  shared.withPlaywright(async ({ context }) => {
    const opener = await context.newPage();
    await opener.goto(shared.site.url('/open'));
    const announced = opener.waitForEvent('popup');
    await opener.mouse.click(10, 10);
    const popup = await announced;
    assert.equal(await popup.opener(), opener);
    await popup.waitForURL('**/two');
    assert.equal(await popup.title(), 'Two');
  }));

test('only bringToFront activates a tab', () =>
  shared.withPlaywright(async ({ context }) => {
    const url = shared.site.url('/one?front');
    const opened = await context.newPage();
    await opened.goto(url);
    await opened.click('button');
    await opened.screenshot();
    assert.equal((await userTab(url)).active, false);
    await opened.bringToFront();
    await until('the tab is active', async () => (await userTab(url)).active);
  }));

test('browser.close() disconnects and keeps every tab', async () => {
  const before = await userTabs();
  await shared.withPlaywright(async () => {});
  assert.deepEqual(
    (await userTabs()).map((tab) => tab.id),
    before.map((tab) => tab.id),
  );
});
