/** What takes the debugger off a tab without a client's asking, and what can be done with the tab afterwards. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { chromium as playwright } from 'playwright-core';
import puppeteer from 'puppeteer-core';

import { asPerson, attachedUrls, inExtension, openTabs, useChain } from '../harness/chain.mjs';
import { EXTENSION_ID, startChain, until } from '../harness/processes.mjs';

const shared = useChain({
  extensions: [fileURLToPath(new URL('../../fixtures/other_debugger', import.meta.url))],
  pages: Object.fromEntries(
    ['one', 'two', 'three', 'four', 'five'].map((name) => [`/${name}`, `<title>${name}</title>`]),
  ),
});

const urlOf = (name) => shared.site.url(`/${name}`);
const pageOf = (context, name) => context.pages().find((page) => page.url() === urlOf(name));

test('a person who takes all tabs back is obeyed at once, and every client learns it', async () => {
  await openTabs(shared.chain, [urlOf('one'), urlOf('two')]);
  await shared.withPlaywright(async ({ context }) => {
    const [one, two] = [pageOf(context, 'one'), pageOf(context, 'two')];
    const session = await context.newCDPSession(one);
    const reason = new Promise((resolve) =>
      session.once('Inspector.detached', ({ reason }) => resolve(reason)),
    );
    assert.deepEqual([await one.title(), await two.title()], ['one', 'two']);
    const closed = Promise.all([one.waitForEvent('close'), two.waitForEvent('close')]);
    const hanging = one.evaluate(() => new Promise(() => {})).catch((error) => error);
    // The button that a person has where the browser's own bar is not seen; both end in the same.
    await asPerson(shared.chain, async (_, own) => {
      const popup = await own.newPage();
      await popup.goto(`chrome-extension://${EXTENSION_ID}/popup.html`);
      await popup.getByRole('button', { name: /release all/i }).click();
      await closed;
      await popup.close();
    });
    assert.equal(await reason, 'canceled_by_user');
    assert.ok((await hanging) instanceof Error);
    assert.deepEqual(await attachedUrls(shared.chain), []);
  });
  await shared.withPlaywright(async ({ context }) =>
    assert.equal(await pageOf(context, 'one').title(), 'one'),
  );
});

/** Lets the person go to another address in the tab that shows this one. */
const goTo = (from, to) =>
  inExtension(
    shared.chain,
    async ([url, next]) => {
      const [tab] = (await chrome.tabs.query({})).filter((known) => known.url.startsWith(url));
      await chrome.tabs.update(tab.id, { url: next });
    },
    [from, to],
  );

test('a tab that goes to a page which Chrome keeps from extensions is gone, and is there again when it comes back', () =>
  shared.withPlaywright(async ({ context }) => {
    const page = pageOf(context, 'two');
    assert.equal(await page.title(), 'two');
    const closed = page.waitForEvent('close');
    await goTo(urlOf('two'), 'chrome://version/');
    await closed;
    const back = context.waitForEvent('page');
    await goTo('chrome://version', urlOf('three'));
    const again = await back;
    await again.waitForURL('**/three');
    assert.equal(await again.title(), 'three');
  }));

/** Runs a function in the worker of the other extension. */
const inOtherExtension = (run, argument) =>
  asPerson(shared.chain, async (_, context) => {
    const isOther = (worker) => !worker.url().includes(EXTENSION_ID);
    const worker =
      context.serviceWorkers().find(isOther) ??
      (await context.waitForEvent('serviceworker', isOther));
    return worker.evaluate(run, argument);
  });

test('a tab that another extension debugs too can be used, and stays so when that one leaves', async () => {
  await openTabs(shared.chain, [urlOf('four')]);
  const other = (act) =>
    inOtherExtension(
      async ([url, method]) => {
        const [{ id: tabId }] = await chrome.tabs.query({ url });
        await (method === 'attach'
          ? chrome.debugger.attach({ tabId }, '1.3')
          : chrome.debugger.detach({ tabId }));
      },
      [urlOf('four'), act],
    );
  await other('attach');
  await shared.withPlaywright(async ({ context }) => {
    const page = pageOf(context, 'four');
    assert.equal(await page.title(), 'four');
    await other('detach');
    assert.equal(await page.evaluate(() => document.title), 'four');
  });
});

const crash = (name) =>
  asPerson(shared.chain, async (_, own) => {
    const session = await own.newCDPSession(pageOf(own, name));
    // It never answers.
    session.send('Page.crash').catch(() => {});
    await pageOf(own, name).waitForEvent('crash');
  });

test('a tab in which DevTools opens, and is closed again, can be used all the while', async () => {
  // DevTools would look for news on the web.
  const offline = '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1';
  const chain = await startChain({ chromiumArgs: ['--auto-open-devtools-for-tabs', offline] });
  const isDevTools = (target) => target.url().startsWith('devtools://');
  const person = await puppeteer.connect({
    browserWSEndpoint: chain.chromium.ownUrl,
    defaultViewport: null,
  });
  const browser = await playwright.connectOverCDP(chain.cdpUrl);
  try {
    const known = new Set(person.targets());
    const page = await browser.contexts()[0].newPage();
    const tools = await person.waitForTarget((target) => isDevTools(target) && !known.has(target));
    await page.goto(urlOf('one'));
    assert.equal(await page.title(), 'one');
    const inspector = await tools.asPage();
    await inspector.waitForSelector('::-p-aria(Elements)');
    assert.equal(await page.evaluate(() => 1 + 1), 2);
    const gone = new Promise((resolve) =>
      person.on('targetdestroyed', (target) => target === tools && resolve()),
    );
    await inspector.close();
    await gone;
    assert.equal(await page.title(), 'one');
    await page.reload();
    assert.equal(await page.title(), 'one');
    await page.close();
  } finally {
    await browser.close();
    await person.disconnect();
    await chain.stop();
  }
});

test('a page that crashes says so at once, and a reload revives it', async () => {
  await openTabs(shared.chain, [urlOf('five')]);
  await shared.withPlaywright(async ({ context }) => {
    const page = pageOf(context, 'five');
    const session = await context.newCDPSession(page);
    assert.equal(await page.title(), 'five');
    const crashed = page.waitForEvent('crash');
    const hanging = session
      .send('Runtime.evaluate', { expression: 'new Promise(() => {})', awaitPromise: true })
      .catch((error) => error.message);
    await crash('five');
    await crashed;
    assert.match(await hanging, /crashed/);
    await assert.rejects(
      session.send('Runtime.evaluate', { expression: '1' }),
      /crashed\. Reload it/,
    );
    await session.send('Page.reload');
    await until('the page is alive', async () => {
      const answer = await session
        .send('Runtime.evaluate', { expression: 'document.title' })
        .catch(() => undefined);
      return answer?.result.value === 'five';
    });
  });
});

test('a page that crashed before it was used says so at its first use, and a reload revives it', async () => {
  await crash('five');
  await shared.withPlaywright(async ({ context }) => {
    const session = await context.newCDPSession(pageOf(context, 'five'));
    await assert.rejects(
      session.send('Runtime.evaluate', { expression: '1' }),
      /crashed\. Reload it/,
    );
    await session.send('Page.reload');
    await until('the page is alive', async () => {
      const answer = await session
        .send('Runtime.evaluate', { expression: 'document.title' })
        .catch(() => undefined);
      return answer?.result.value === 'five';
    });
  });
  await shared.withPlaywright(async ({ context }) =>
    assert.equal(await pageOf(context, 'five').title(), 'five'),
  );
});
