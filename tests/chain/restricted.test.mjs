/**
 * Tabs that go to a page that Chrome does not let extensions debug: they stay, commands fail with
 * the reason, and they work again on the next page.
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
  userTabs,
  useChain,
} from '../harness/chain.mjs';
import { PDF } from '../harness/pdf.mjs';
import { EXTENSION_ID, until } from '../harness/processes.mjs';

const shared = useChain({
  args: ['--client-mode', 'multi-client'],
  pages: {
    '/page': '<title>Page</title>',
    '/next': '<title>Next</title>',
    '/paper': (_request, response) =>
      response.setHeader('content-type', 'application/pdf').end(PDF),
  },
});

const RESTRICTED = ['chrome://version/', `chrome-extension://${EXTENSION_ID}/welcome.html`];

/** Opens a tab as the user, passes its page in a new Playwright to `use`, and closes the tab. */
async function withUserTab(name, use) {
  const url = shared.site.url(`/page?${name}`);
  const before = (await userTabs(shared.chain)).map(({ id }) => id);
  await openTabs(shared.chain, [url]);
  await shared.withClients(async (connect) => {
    const { context } = await connect.playwright();
    await use({ page: pageAt(context, url), url, connect });
  });
  await untilDetached(shared.chain);
  await inExtension(
    shared.chain,
    async (kept) => {
      const tabs = (await chrome.tabs.query({})).filter(({ id }) => !kept.includes(id));
      await chrome.tabs.remove(tabs.map(({ id }) => id));
    },
    before,
  );
}

const navigateAsUser = (from, url) => actOnTab(shared.chain, from, 'update', { url });

/** Checks the error of a command to a page that shows this address. */
const refusal = (url) => (error) => {
  const reason = `The tab shows ${url}, and Chrome does not let extensions use that page.`;
  assert.ok(error.message.includes(reason), error.message);
  return true;
};

for (const url of RESTRICTED) {
  for (const kind of ['dormant', 'live']) {
    test(`a ${kind} tab stays while it shows ${url}, and works on the next page`, () =>
      withUserTab(`${kind}-${url}`, async ({ page, url: before }) => {
        if (kind === 'live') {
          assert.equal(await page.title(), 'Page');
        }
        await navigateAsUser(before, url);
        await page.waitForURL(url);
        await assert.rejects(
          page.evaluate(() => 1),
          refusal(url),
        );
        await assert.rejects(page.click('button'), refusal(url));
        await assert.rejects(page.screenshot(), refusal(url));
        assert.equal(page.isClosed(), false);
        assert.deepEqual(await attachedUrls(shared.chain), []);
        await navigateAsUser(url, shared.site.url('/next'));
        await page.waitForURL('**/next');
        assert.equal(await page.title(), 'Next');
      }));
  }
}

test('the user goes back from a restricted page', () =>
  withUserTab('back', async ({ page, url }) => {
    const [restricted] = RESTRICTED;
    await onOwnPort(shared.chain, (_browser, context) => pageAt(context, url).goto(restricted));
    await page.waitForURL(restricted);
    await onOwnPort(shared.chain, (_browser, context) =>
      pageAt(context, restricted).evaluate(() => void setTimeout(() => history.back())),
    );
    await page.waitForURL(url);
    assert.equal(await page.title(), 'Page');
  }));

for (const library of ['playwright', 'puppeteer']) {
  test(`${library} connects meanwhile, navigates the tab elsewhere and closes it`, () =>
    withUserTab(library, async ({ page: first, url, connect }) => {
      const [restricted] = RESTRICTED;
      await navigateAsUser(url, restricted);
      await first.waitForURL(restricted);
      const client = await connect[library]();
      const page = pageAt(client.context?.pages() ?? (await client.pages()), restricted);
      await assert.rejects(
        page.evaluate(() => 1),
        refusal(restricted),
      );
      await assert.rejects(page.goto('about:version'), /Chrome does not let extensions/);
      const response = await page.goto(shared.site.url('/next'));
      assert.ok(library === 'playwright' || response === null, 'Puppeteer sees no request');
      assert.equal(await page.title(), 'Next');
      await first.waitForURL('**/next');
      await navigateAsUser(shared.site.url('/next'), restricted);
      await first.waitForURL(restricted);
      const closed = first.waitForEvent('close');
      await page.close();
      await closed;
    }));
}

test('reports why a restricted tab could not be navigated', () =>
  withUserTab('failing', async ({ page, url }) => {
    const [restricted] = RESTRICTED;
    await navigateAsUser(url, restricted);
    await page.waitForURL(restricted);
    await assert.rejects(
      page.goto('http://127.0.0.1:9/'),
      /net::ERR_(CONNECTION_REFUSED|UNSAFE_PORT)/,
    );
    await page.goto(url);
    assert.equal(await page.title(), 'Page');
  }));

test('the debugger leaves a tab that showed view-source as soon as Chrome allows it', async () => {
  const url = shared.site.url('/page?source');
  await openTabs(shared.chain, [url]);
  await shared.withPlaywright(async ({ context }) => {
    const page = pageAt(context, url);
    assert.equal(await page.title(), 'Page');
    await navigateAsUser(url, `view-source:${url}`);
    await page.waitForURL(`view-source:${url}`);
    await assert.rejects(
      page.evaluate(() => 1),
      refusal(`view-source:${url}`),
    );
  });
  /** Chrome's own answer: others may be attached to the tab, too. */
  const errorOfCommand = () =>
    inExtension(
      shared.chain,
      async (end) => {
        const { id: tabId } = (await chrome.tabs.query({})).find((tab) => tab.url.endsWith(end));
        const sent = chrome.debugger.sendCommand({ tabId }, 'Runtime.evaluate', {
          expression: '1',
        });
        return sent.then(
          () => '',
          (error) => error.message,
        );
      },
      '/page?source',
    );
  assert.match(await errorOfCommand(), /Cannot access contents of url "view-source:/);
  await navigateAsUser(`view-source:${url}`, url);
  await until('the debugger is detached', async () =>
    (await errorOfCommand()).startsWith('Debugger is not attached'),
  );
  await untilDetached(shared.chain);
  await shared.withPlaywright(async ({ context }) => {
    assert.equal(await pageAt(context, url).title(), 'Page');
    await pageAt(context, url).close();
  });
});

test('a client is refused restricted pages, and the browser survives', () =>
  shared.withPlaywright(async ({ context }) => {
    const page = await context.newPage();
    await assert.rejects(page.goto('about:blank#x'), /Cannot navigate to .* Chrome would crash/);
    await page.goto(shared.site.url('/page'));
    for (const url of ['about:version', ...RESTRICTED, `view-source:${page.url()}`]) {
      await assert.rejects(page.goto(url), /Cannot navigate to .* Chrome does not let extensions/);
    }
    assert.equal(await page.title(), 'Page');
  }));

test('a PDF is an ordinary page', () =>
  withUserTab('pdf', async ({ page, url }) => {
    assert.equal(await page.title(), 'Page');
    await navigateAsUser(url, shared.site.url('/paper'));
    await page.waitForURL('**/paper');
    await until('the viewer has loaded', () =>
      page.evaluate(() => document.contentType === 'application/pdf').catch(() => false),
    );
    await page.goto(shared.site.url('/next'));
    assert.equal(await page.title(), 'Next');
  }));
