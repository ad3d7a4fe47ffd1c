/**
 * The user stops all agents, or takes one tab back: commands fail at once and say why, and the same
 * pages work again when the user resumes.
 */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { promisify } from 'node:util';

import { chromium as playwright } from 'playwright-core';

import { attachedUrls, inExtension, pageAt, titleIn, useChain } from '../harness/chain.mjs';
import { openPopup } from '../harness/popup.mjs';
import { EXTENSION_ID, startRelay, TABWIRE, until } from '../harness/processes.mjs';
import { connectRaw, evaluateIn } from '../harness/raw_client.mjs';

const STOPPED = 'The person stopped this. Ask them before you go on.';
/** The frame is of another site, so it has a process of its own. */
const FRAMED = `<title>framed</title><button>Press</button><iframe></iframe>
  <script>document.querySelector('iframe').src = \`http://localhost:\${location.port}/inner\`</script>`;

const MULTI_CLIENT = ['--client-mode', 'multi-client'];

const shared = useChain({
  args: MULTI_CLIENT,
  pages: {
    '/one': '<title>one</title><button>Press</button>',
    '/two': '<title>two</title>',
    '/framed': FRAMED,
    '/inner': '<p>inside</p>',
  },
  tabs: (site) => ['/one', '/two', '/framed'].map((path) => site.url(path)),
});

const urlOf = (name) => shared.site.url(`/${name}`);

/** Runs `use` while the user has paused agents, and resumes. */
async function whilePaused(use) {
  const popup = await openPopup(shared.chain.chromium);
  try {
    await popup.page.getByRole('button', { name: 'Pause agents' }).click();
    await popup.headline('Paused');
    await use(popup);
  } finally {
    await popup.page.getByRole('button', { name: 'Resume' }).click();
    await popup.headline('Connected');
    await popup.close();
  }
}

const rejection = (promise) =>
  promise.then(
    () => assert.fail('it succeeded'),
    ({ message }) => message,
  );

const tabwire = async (...args) => {
  const env = { ...process.env, TABWIRE_HOME: shared.chain.relay.home.path };
  return (await promisify(execFile)(TABWIRE, args, { env })).stdout;
};

test('everything an agent does fails at once, and its pages work again afterwards', async () => {
  await shared.withPlaywright(async ({ context }) => {
    const page = pageAt(context, urlOf('one'));
    const framed = pageAt(context, urlOf('framed'));
    assert.deepEqual([await titleIn(page), await titleIn(framed)], ['one', 'framed']);
    const inner = framed.frame({ url: /inner/ });
    assert.equal(await inner.evaluate(() => document.body.innerText), 'inside');
    const running = rejection(page.evaluate(() => new Promise(() => {})));
    const waiting = rejection(page.getByText('never there').click({ timeout: 60_000 }));
    await whilePaused(async () => {
      assert.ok((await running).includes(`${STOPPED} This command was running`), await running);
      assert.ok((await waiting).includes(STOPPED), await waiting);
      for (const [name, act] of Object.entries({
        evaluate: () => page.evaluate(() => 1),
        click: () => page.getByRole('button').click({ timeout: 60_000 }),
        goto: () => page.goto(urlOf('two')),
        screenshot: () => page.screenshot({ timeout: 60_000 }),
        newPage: () => context.newPage(),
        cookies: () => context.cookies(),
        frame: () => inner.evaluate(() => 1),
        frameText: () => inner.locator('p').textContent({ timeout: 60_000 }),
      })) {
        const message = await rejection(act());
        assert.ok(message.includes(STOPPED), `${name}: ${message}`);
      }
      assert.deepEqual(await attachedUrls(shared.chain), []);
      assert.equal(page.isClosed(), false);
    });
    assert.deepEqual(await attachedUrls(shared.chain), [], 'nothing attaches by itself');
    assert.equal(await titleIn(page), 'one');
    await page.getByRole('button').click();
    assert.equal(await inner.evaluate(() => document.body.innerText), 'inside');
    assert.equal(await inner.locator('p').textContent(), 'inside');
    const created = await context.newPage();
    await created.goto(urlOf('two'));
    assert.equal(await titleIn(created), 'two');
  });
});

test('a client that connects during a pause sees the tabs and can use none', async () => {
  await whilePaused(async () => {
    const client = await connectRaw(shared.chain.cdpUrl);
    const browser = await playwright.connectOverCDP(shared.chain.cdpUrl);
    try {
      assert.match((await client.send('Browser.getVersion')).product, /Chrom/);
      const sessionId = await client.attach(urlOf('one'));
      const { error } = await client.request('Runtime.evaluate', { expression: '1' }, sessionId);
      assert.deepEqual(error, { code: -32000, message: STOPPED });
      const created = await client.request('Target.createTarget', { url: 'about:blank' });
      assert.equal(created.error.message, STOPPED);
      const message = await rejection(titleIn(pageAt(browser.contexts()[0], urlOf('two'))));
      assert.ok(message.includes(STOPPED), message);
      assert.match(await tabwire('status'), /paused: all clients are stopped/);
      const { browsers } = JSON.parse(await tabwire('status', '--json'));
      assert.equal(browsers[0].paused, true);
    } finally {
      await browser.close();
      await client.close();
    }
  });
  const { browsers } = JSON.parse(await tabwire('status', '--json'));
  assert.equal('paused' in browsers[0], false);
});

test('a pause outlives the service worker and the relay', async () => {
  await whilePaused(async (popup) => {
    const client = await connectRaw(shared.chain.cdpUrl);
    const sessionId = await client.attach(urlOf('one'));
    const error = async () => (await client.request('Page.reload', {}, sessionId)).error?.message;
    assert.equal(await error(), STOPPED);
    await restartWorker(popup.page.context());
    await until('the extension is back', async () => (await shared.chain.relay.status()).extension);
    assert.equal(await error(), STOPPED);
    await client.close();
    const { home, port } = shared.chain.relay;
    await shared.chain.relay.stop({ keepHome: true });
    shared.chain.relay = await startRelay({ home, port, args: MULTI_CLIENT });
    await popup.headline('Paused');
    const again = await connectRaw(shared.chain.cdpUrl);
    assert.equal((await again.request('Storage.getCookies')).error.message, STOPPED);
    await again.close();
  });
});

/** Stops the extension's service worker as Chrome does, and waits for the next one. */
async function restartWorker(context) {
  const find = () => context.serviceWorkers().find((worker) => worker.url().includes(EXTENSION_ID));
  const worker = find();
  await worker.evaluate(() => (globalThis.isOldWorker = true));
  const browser = await context.browser().newBrowserCDPSession();
  const { targetInfos } = await browser.send('Target.getTargets');
  const { targetId } = targetInfos.find(({ url }) => url === worker.url());
  await browser.send('Target.closeTarget', { targetId });
  await until('the worker to restart', async () =>
    find()
      ?.evaluate(() => !globalThis.isOldWorker)
      .catch(() => false),
  );
}

test('a tab that the user takes back says so, and other tabs stay usable', async () => {
  await shared.withPlaywright(async ({ context }) => {
    const [one, two] = [pageAt(context, urlOf('one')), pageAt(context, urlOf('two'))];
    assert.equal(await titleIn(one), 'one');
    const popup = await openPopup(shared.chain.chromium);
    await popup.page.getByRole('button', { name: 'Release one' }).click();
    await popup.headline('Connected');
    await popup.close();
    const message = await rejection(titleIn(one));
    assert.match(
      message,
      /The tab was detached by the person\. Ask them before you use it again\./,
    );
    assert.equal(one.isClosed(), false);
    assert.equal(await titleIn(two), 'two');
  });
  await shared.withPlaywright(async ({ context }) =>
    assert.equal(await titleIn(pageAt(context, urlOf('one'))), 'one'),
  );
});

test('what Chrome reports when the user cancels debugging pauses agents', async () => {
  const client = await connectRaw(shared.chain.cdpUrl);
  const sessionId = await client.attach(urlOf('two'));
  assert.equal(await evaluateIn(client, sessionId, 'document.title'), 'two');
  // Headless browsers show no infobar, so this does what Chrome does: it detaches, then reports it.
  await inExtension(shared.chain, async () => {
    const [tab] = await chrome.tabs.query({ title: 'two' });
    await chrome.debugger.detach({ tabId: tab.id });
    chrome.debugger.onDetach.dispatch({ tabId: tab.id }, 'canceled_by_user');
  });
  const { error } = await client.request('Page.reload', {}, sessionId);
  assert.equal(error.message, STOPPED);
  const popup = await openPopup(shared.chain.chromium);
  await popup.headline('Paused');
  await popup.page.getByRole('button', { name: 'Resume' }).click();
  await popup.headline('Connected');
  await popup.close();
  assert.equal(await evaluateIn(client, sessionId, 'document.title'), 'two');
  await client.close();
});
