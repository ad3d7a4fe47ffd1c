/**
 * What detaches the debugger from a tab without a client asking for it, and how clients can use the
 * tab afterwards.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { chromium as playwright } from 'playwright-core';

import {
  inServiceWorker,
  onOwnPort,
  openTabs,
  pageAt,
  puppeteerOnOwnPort,
  titleIn,
  useChain,
} from '../harness/chain.mjs';
import { EXTENSION_ID, startChain, until } from '../harness/processes.mjs';

const shared = useChain({
  extensions: [fileURLToPath(new URL('../../fixtures/other_debugger', import.meta.url))],
  pages: Object.fromEntries(
    ['one', 'four', 'five'].map((name) => [`/${name}`, `<title>${name}</title>`]),
  ),
});

const urlOf = (name) => shared.site.url(`/${name}`);
const pageOf = (context, name) => pageAt(context, urlOf(name));

test('a tab stays usable while another extension debugs it, and after that one detaches', async () => {
  await openTabs(shared.chain, [urlOf('four')]);
  const otherExtension = (method) =>
    inServiceWorker(
      shared.chain,
      (url) => !url.includes(EXTENSION_ID),
      async (given) => {
        const [{ id: tabId }] = await chrome.tabs.query({ url: given.url });
        await chrome.debugger[given.method](
          { tabId },
          ...(given.method === 'attach' ? ['1.3'] : []),
        );
      },
      { url: urlOf('four'), method },
    );
  await otherExtension('attach');
  await shared.withPlaywright(async ({ context }) => {
    const page = pageOf(context, 'four');
    assert.equal(await titleIn(page), 'four');
    await otherExtension('detach');
    assert.equal(await page.evaluate(() => document.title), 'four');
  });
});

test('a tab stays usable while DevTools opens and closes', async () => {
  // DevTools would fetch news from the web.
  const offline = '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1';
  const chain = await startChain({ chromiumArgs: ['--auto-open-devtools-for-tabs', offline] });
  const own = await puppeteerOnOwnPort(chain);
  const browser = await playwright.connectOverCDP(chain.cdpUrl);
  try {
    await useWithDevTools(own, browser);
  } finally {
    await browser.close();
    await own.disconnect();
    await chain.stop();
  }
});

async function useWithDevTools(own, browser) {
  const existing = new Set(own.targets());
  const page = await browser.contexts()[0].newPage();
  const devTools = await own.waitForTarget(
    (target) => target.url().startsWith('devtools://') && !existing.has(target),
  );
  await page.goto(urlOf('one'));
  assert.equal(await titleIn(page), 'one');
  const inspector = await devTools.asPage();
  await inspector.waitForSelector('::-p-aria(Elements)');
  assert.equal(await page.evaluate(() => 1 + 1), 2);
  const destroyed = new Promise((resolve) =>
    own.on('targetdestroyed', (target) => target === devTools && resolve()),
  );
  await inspector.close();
  await destroyed;
  assert.equal(await titleIn(page), 'one');
  await page.reload();
  assert.equal(await titleIn(page), 'one');
  await page.close();
}

const crash = (name) =>
  onOwnPort(shared.chain, async (_browser, context) => {
    const page = pageOf(context, name);
    const session = await context.newCDPSession(page);
    const crashed = page.waitForEvent('crash');
    // Chrome never replies to this command.
    session.send('Page.crash').catch(() => {});
    await crashed;
  });

/** Commands to a crashed page name the remedy, and the remedy works. */
async function reloadCrashed(session) {
  await assert.rejects(
    session.send('Runtime.evaluate', { expression: '1' }),
    /crashed\. Reload it/,
  );
  await session.send('Page.reload');
  await until('the page responds', async () => {
    const reply = await session
      .send('Runtime.evaluate', { expression: 'document.title' })
      .catch(() => undefined);
    return reply?.result.value === 'five';
  });
}

test('a crash fails pending commands, and a reload revives the page', async () => {
  await openTabs(shared.chain, [urlOf('five')]);
  await shared.withPlaywright(async ({ context }) => {
    const page = pageOf(context, 'five');
    const session = await context.newCDPSession(page);
    assert.equal(await titleIn(page), 'five');
    const crashed = page.waitForEvent('crash');
    const pending = session
      .send('Runtime.evaluate', { expression: 'new Promise(() => {})', awaitPromise: true })
      .catch((error) => error.message);
    await crash('five');
    await crashed;
    assert.match(await pending, /crashed/);
    await reloadCrashed(session);
  });
});

test('a page that crashed while dormant fails its first command, and a reload revives it', async () => {
  await crash('five');
  await shared.withPlaywright(async ({ context }) => {
    await reloadCrashed(await context.newCDPSession(pageOf(context, 'five')));
  });
  await shared.withPlaywright(async ({ context }) =>
    assert.equal(await titleIn(pageOf(context, 'five')), 'five'),
  );
});
