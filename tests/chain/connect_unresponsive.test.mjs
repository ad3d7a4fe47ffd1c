/**
 * Clients that connect while a tab does not respond, because its renderer is stopped or it shows a
 * dialog. They can use every other tab at once, and that tab as soon as it responds. The command
 * timeout is the usual 30 seconds, so that a client which gets through has not merely outlasted it.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { openTabs, pageAt, titleIn, useChain } from '../harness/chain.mjs';
import { until } from '../harness/processes.mjs';
import { rendererOf, skip, whileStopped } from '../harness/renderers.mjs';
import { html } from '../harness/site.mjs';

const shared = useChain({
  args: ['--client-mode', 'multi-client'],
  pages: {
    '/stuck':
      '<title>stuck</title><button onclick="document.title = \'clicked\'">go</button><iframe src="/inner"></iframe>',
    '/inner': '<title>inner</title><p>inside</p>',
    '/other': '<title>other</title>',
    // Each frame is of another site than its parent, so it has a process and a target of its own.
    '/outer': html(
      (site) => `<title>outer</title><iframe src="${site.url('/inner', 'localhost')}"></iframe>`,
    ),
    '/threefold': html(
      (site) =>
        `<title>threefold</title><iframe src="${site.url('/middle', 'localhost')}"></iframe>`,
    ),
    '/middle': html((site) => `<title>middle</title><iframe src="${site.url('/inner')}"></iframe>`),
  },
});

const clientsTest = (name, options, run) => test(name, options, () => shared.withClients(run));

/**
 * Opens the tab that gets stuck and another one. They are of two sites, so each has its own
 * renderer.
 */
const openBothTabs = () =>
  openTabs(shared.chain, [shared.site.url('/stuck', 'localhost'), shared.site.url('/other')]);

/** Tracks whether a promise is still pending. */
function track(promise) {
  const tracked = { isPending: true, promise };
  tracked.promise = promise.finally(() => (tracked.isPending = false));
  return tracked;
}

/**
 * Connects each kind of client and uses the other tab while `blocked` is pending, then uses the
 * stuck tab after `resume`.
 */
async function connectWhileStuck(connect, blocked, resume) {
  const { context } = await connect.playwright();
  assert.equal(await titleIn(pageAt(context, '/other')), 'other');
  const puppeteerPages = await (await connect.puppeteer()).pages();
  assert.equal(await titleIn(pageAt(puppeteerPages, '/other')), 'other');
  assert.ok(blocked.isPending, 'the tab was stuck all the time');
  const [page, puppeteerPage] = [pageAt(context, '/stuck'), pageAt(puppeteerPages, '/stuck')];
  const titles = [titleIn(page), puppeteerPage.evaluate(() => document.title)];
  await resume();
  assert.deepEqual(await Promise.all(titles), ['stuck', 'stuck']);
  await assertUsable(page, puppeteerPage);
}

async function assertUsable(page, puppeteerPage) {
  const innerText = () => page.frameLocator('iframe').locator('p').innerText();
  assert.equal(await innerText(), 'inside');
  const [, frame] = puppeteerPage.frames();
  assert.equal(await frame.$eval('p', (p) => p.textContent), 'inside');
  await page.getByRole('button').click();
  assert.equal(await titleIn(puppeteerPage), 'clicked');
  await page.reload();
  assert.equal(await titleIn(page), 'stuck');
  assert.equal(await innerText(), 'inside');
}

/** Stops the renderer of `/stuck` while `page`, of a client that connected before, waits for it. */
const connectWhileStopped = (connect, pid, page) =>
  whileStopped(pid, async (resume) => {
    const blocked = track(titleIn(page));
    await connectWhileStuck(connect, blocked, resume);
    assert.equal(await blocked.promise, 'stuck');
  });

clientsTest('connects while a page in use is stopped', { skip }, async (connect) => {
  await openBothTabs();
  const pid = await rendererOf(shared.chain, '/stuck');
  const { context } = await connect.playwright();
  const page = pageAt(context, '/stuck');
  assert.equal(await page.frameLocator('iframe').locator('p').innerText(), 'inside');
  await connectWhileStopped(connect, pid, page);
});

clientsTest('connects while the debugger attaches to a stopped page', { skip }, async (connect) => {
  await openBothTabs();
  const pid = await rendererOf(shared.chain, '/stuck');
  const { context } = await connect.playwright();
  await connectWhileStopped(connect, pid, pageAt(context, '/stuck'));
});

clientsTest('connects while a page shows a dialog', {}, async (connect) => {
  await openBothTabs();
  const { context } = await connect.playwright();
  const page = pageAt(context, '/stuck');
  const opened = page.waitForEvent('dialog');
  const blocked = track(page.evaluate(() => alert('stop')));
  const dialog = await opened;
  await connectWhileStuck(connect, blocked, () => dialog.accept());
  await blocked.promise;
});

clientsTest('connects while an out-of-process frame is stopped', { skip }, async (connect) => {
  await openTabs(shared.chain, [shared.site.url('/outer'), shared.site.url('/other')]);
  const innerOf = (context) => pageAt(context, '/outer').frameLocator('iframe').locator('p');
  const early = await connect.playwright();
  assert.equal(await innerOf(early.context).innerText(), 'inside');
  const pid = await rendererOf(shared.chain, '/inner');
  await whileStopped(pid, async (resume) => {
    const blocked = track(innerOf(early.context).innerText());
    const { context } = await connect.playwright();
    const puppeteerPages = await (await connect.puppeteer()).pages();
    for (const pages of [context.pages(), puppeteerPages]) {
      assert.equal(await titleIn(pageAt(pages, '/other')), 'other');
      const title = await pageAt(pages, '/outer').evaluate(() => document.title);
      assert.equal(title, 'outer', 'the page around the frame responds too');
    }
    assert.ok(blocked.isPending);
    resume();
    assert.equal(await blocked.promise, 'inside');
    assert.equal(await innerOf(context).innerText(), 'inside');
  });
});

clientsTest(
  'Puppeteer gets a nested frame whose process replies before its parent',
  { skip },
  async (connect) => {
    await openTabs(shared.chain, [shared.site.url('/threefold')]);
    const { context } = await connect.playwright();
    const page = pageAt(context, '/threefold');
    const inside = page.frameLocator('iframe').frameLocator('iframe').locator('p');
    assert.equal(await inside.innerText(), 'inside');
    const pid = await rendererOf(shared.chain, '/middle');
    await whileStopped(pid, async (resume) => {
      const late = pageAt(await (await connect.puppeteer()).pages(), '/threefold');
      assert.equal(await late.evaluate(() => document.title), 'threefold');
      // This reply follows those to everything that Puppeteer sent to the inner frame.
      const ofEarlier = page.frames().find((frame) => frame.url().endsWith('/inner'));
      assert.equal(await ofEarlier.evaluate(() => document.title), 'inner');
      resume();
      const inner = await until('Puppeteer sees the inner frame', () =>
        late.frames().find((frame) => frame.url().endsWith('/inner')),
      );
      assert.equal(await inner.$eval('p', (p) => p.textContent), 'inside');
      assert.equal(await inner.parentFrame().evaluate(() => document.title), 'middle');
    });
  },
);
