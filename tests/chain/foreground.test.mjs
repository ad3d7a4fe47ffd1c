/**
 * What a page in the background opens does not change what the user sees. The focus of windows is
 * tested with a fake browser only, because a headless one has none.
 */

import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';

import { actOnTab, inExtension, openTabs, pageAt, useChain } from '../harness/chain.mjs';
import { until, untilEqual } from '../harness/processes.mjs';
import { clickAsUser } from '../harness/raw_client.mjs';

const PAGE = `
  <a id="link" target="_blank" href="/opened?link">link</a>
  <a id="noopener" target="_blank" rel="noopener" href="/opened?noopener">without opener</a>
  <button id="script" onclick="window.open('/opened?script')">script</button>
  <button id="two" onclick="window.open('/opened?1'); window.open('/opened?2')">two</button>
  <button id="window" onclick="window.open('/window', 'x', 'width=300,height=200')">window</button>`;

const shared = useChain({
  pages: {
    '/user': '<title>user</title><a id="link" target="_blank" href="/opened?user">link</a>',
    '/agent': PAGE,
    '/window': '<a id="link" target="_blank" href="/opened?window">link</a>',
    '/opened': '<title>opened</title>',
  },
  chromiumArgs: ['--disable-popup-blocking'],
});

/** The addresses of the visible tabs of all normal windows. */
const visible = () =>
  inExtension(shared.chain, async () => {
    const tabs = await chrome.tabs.query({ active: true, windowType: 'normal' });
    return tabs.map(({ url, pendingUrl }) => url || pendingUrl);
  });

/** Every tab that Chrome has activated since the last call. */
const activations = () =>
  inExtension(shared.chain, async () => {
    globalThis.activated ??= [];
    if (!globalThis.isWatching) {
      globalThis.isWatching = true;
      chrome.tabs.onActivated.addListener(({ tabId }) => globalThis.activated.push(tabId));
    }
    return globalThis.activated.splice(0);
  });

/** The user looks at one tab; a client can use another one in the background. */
beforeEach(async () => {
  const [user, agent] = [shared.site.url('/user'), shared.site.url('/agent')];
  await inExtension(shared.chain, async () => {
    const tabs = await chrome.tabs.query({});
    await chrome.tabs.create({ url: 'about:blank' });
    await chrome.tabs.remove(tabs.map(({ id }) => id));
  });
  await openTabs(shared.chain, [user, agent]);
  await actOnTab(shared.chain, user, 'update', { active: true });
  await untilEqual('the user sees it', visible, [user]);
});

/** Clicks, and waits for the popup. */
async function open(page, selector) {
  const [popup] = await Promise.all([page.waitForEvent('popup'), page.click(selector)]);
  await popup.waitForLoadState();
  return popup;
}

test('a click in a background tab opens tabs in the background', () =>
  shared.withPlaywright(async ({ context }) => {
    const page = pageAt(context, '/agent');
    await activations();
    for (const selector of ['#link', '#noopener', '#script']) {
      const popup = await open(page, selector);
      assert.equal(await popup.title(), 'opened');
      await untilEqual(`after ${selector}`, visible, [shared.site.url('/user')]);
      const [opened, user, ...others] = await activations();
      assert.ok(opened !== undefined && user !== undefined, 'Chrome showed it for a moment');
      assert.deepEqual(others, []);
      await popup.close();
    }
  }));

test('several tabs opened by one click stay in the background', () =>
  shared.withPlaywright(async ({ context }) => {
    const page = pageAt(context, '/agent');
    await page.click('#two');
    await until('both are open', () => pageAt(context, '?1') && pageAt(context, '?2'));
    await untilEqual('the user sees the same tab', visible, [shared.site.url('/user')]);
  }));

test('a link in a window that a background tab opened does not change the other window', () =>
  shared.withPlaywright(async ({ context }) => {
    const popup = await open(pageAt(context, '/agent'), '#window');
    assert.deepEqual(await visible(), [shared.site.url('/user')]);
    await open(popup, '#link');
    await untilEqual('the user sees the same tab', visible, [shared.site.url('/user')]);
  }));

test('what a visible page opens comes to the front', () =>
  shared.withPlaywright(async ({ context }) => {
    const page = pageAt(context, '/agent');
    await page.bringToFront();
    const popup = await open(page, '#link');
    assert.deepEqual(await visible(), [popup.url()]);
    assert.equal(await popup.title(), 'opened');
    assert.deepEqual(await visible(), [popup.url()]);
  }));

test('what the user opens comes to the front, whether or not an agent uses the page', () =>
  shared.withPlaywright(async ({ context }) => {
    const opened = shared.site.url('/opened?user');
    for (const isUsed of [false, true]) {
      if (isUsed) {
        await pageAt(context, '/user').title();
      }
      await clickAsUser(shared.chain, shared.site.url('/user'), '#link');
      await untilEqual('the user sees the new tab', visible, [opened]);
      await pageAt(context, '/agent').title();
      assert.deepEqual(await visible(), [opened]);
      await actOnTab(shared.chain, shared.site.url('/user'), 'update', { active: true });
      await actOnTab(shared.chain, opened, 'remove');
    }
  }));
