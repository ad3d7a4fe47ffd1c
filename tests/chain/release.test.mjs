/** What a client leaves behind when it disconnects or is killed: nothing but the tabs it opened. */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';

import { chromium as playwright } from 'playwright-core';

import { inExtension, openTabs, pageAt, untilDetached, useChain } from '../harness/chain.mjs';
import { startChain, until } from '../harness/processes.mjs';

/** What the page has reported about itself, in order. */
const reports = [];
const PAGE = `<title>Page</title><script>
  const report = (text) => fetch('/report', { method: 'POST', body: text });
  const ask = () => { report('asking'); confirm('Really?'); report('answered'); };
  setInterval(() => report('width ' + innerWidth + (matchMedia('print').matches ? ' print' : '')), 200);
</script>`;
const shared = useChain({
  args: ['--client-mode', 'multi-client'],
  pages: {
    '/page': PAGE,
    '/report': async (request, response) => {
      reports.push(await text(request));
      response.end();
    },
  },
});

/** Waits until the page reports this again: exactly, or followed by a value. */
const nextReport = async (wanted) => {
  const start = reports.length;
  await until(`the page reports ${wanted}`, () =>
    reports.slice(start).some((report) => report === wanted || report.startsWith(`${wanted} `)),
  );
};

/**
 * A client in a process of its own, so that a test can kill it. `work` has finished when this
 * resolves.
 */
async function startClient(work) {
  const source = `
    import { chromium } from 'playwright-core';
    const browser = await chromium.connectOverCDP(process.env.CDP_URL);
    const context = browser.contexts()[0];
    const page = context.pages().find((candidate) => candidate.url().endsWith('/page'));
    await (${work})(page, context);
    console.log('ready');
    setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', source], {
    cwd: new URL('..', import.meta.url),
    env: { ...process.env, CDP_URL: shared.chain.cdpUrl },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(child.stdout, 'data');
  return {
    async kill() {
      child.kill('SIGKILL');
      await once(child, 'exit');
    },
  };
}

async function connect() {
  const browser = await playwright.connectOverCDP(shared.chain.cdpUrl);
  const context = browser.contexts()[0];
  return { browser, context, page: pageAt(context, '/page') };
}

test('restores the page and detaches when a client is killed', async () => {
  await openTabs(shared.chain, [shared.site.url('/page')]);
  await nextReport('width');
  const before = reports.findLast((report) => report.startsWith('width'));
  const client = await startClient(async (page) => {
    await page.emulateMedia({ media: 'print' });
    await page.setViewportSize({ width: 400, height: 300 });
    // Pauses requests and never continues them.
    await page.route('**/report', () => {});
  });
  await client.kill();
  await untilDetached(shared.chain);
  await nextReport(before);
});

test('dismisses a dialog that a killed client had left open', async () => {
  const client = await startClient(async (page) => {
    page.on('dialog', () => {});
    const opened = page.waitForEvent('dialog');
    page.evaluate(() => setTimeout(ask)).catch(() => {});
    await opened;
  });
  const start = reports.length;
  await client.kill();
  await until('the page continues', () => reports.slice(start).includes('answered'));
  await untilDetached(shared.chain);
});

test('resumes a page that a killed client had paused in the debugger', async () => {
  const client = await startClient(async (page, context) => {
    const session = await context.newCDPSession(page);
    await session.send('Debugger.enable');
    const paused = new Promise((resolve) => session.once('Debugger.paused', resolve));
    await session.send('Debugger.pause');
    await paused;
  });
  await client.kill();
  await nextReport('width');
  await untilDetached(shared.chain);
});

test('resumes a page at a breakpoint of a killed client while another client debugs it', async () => {
  const { browser, context, page } = await connect();
  const session = await context.newCDPSession(page);
  await session.send('Debugger.enable');
  const client = await startClient(async (page, context) => {
    const session = await context.newCDPSession(page);
    await session.send('Debugger.enable');
    const { result } = await session.send('Runtime.evaluate', { expression: 'report' });
    const paused = new Promise((resolve) => session.once('Debugger.paused', resolve));
    await session.send('Debugger.setBreakpointOnFunctionCall', { objectId: result.objectId });
    await paused;
  });
  await client.kill();
  await nextReport('width');
  await browser.close();
  await untilDetached(shared.chain);
});

test('undoes only the overrides of the client that disconnects', async () => {
  const [leaving, staying] = [await connect(), await connect()];
  await staying.page.emulateMedia({ media: 'print' });
  await leaving.page.emulateMedia({ media: 'screen' });
  await leaving.page.setViewportSize({ width: 333, height: 300 });
  await leaving.page.setExtraHTTPHeaders({ 'x-from': 'leaving' });
  await leaving.page.route('**/routed', (route) => route.fulfill({ body: 'routed' }));
  assert.equal(await staying.page.evaluate(async () => (await fetch('/routed')).text()), 'routed');
  await leaving.browser.close();
  await until('the page is print again, in its own size', () =>
    staying.page.evaluate(() => matchMedia('print').matches && innerWidth !== 333),
  );
  assert.equal(await staying.page.evaluate(async () => (await fetch('/routed')).status), 404);
  await staying.browser.close();
  await untilDetached(shared.chain);
});

const tabUrls = (chain) =>
  inExtension(chain, async () => (await chrome.tabs.query({})).map((tab) => tab.url));

test('keeps the tabs that a killed client had opened', async () => {
  const before = await tabUrls(shared.chain);
  const client = await startClient(async (_page, context) => {
    await context.newPage();
  });
  await client.kill();
  await untilDetached(shared.chain);
  assert.equal((await tabUrls(shared.chain)).length, before.length + 1);
});

test('--on-disconnect close-created closes tabs the client opened and keeps the others', async () => {
  const chain = await startChain({ args: ['--on-disconnect', 'close-created'] });
  try {
    await openTabs(chain, [shared.site.url('/page?existing')]);
    const before = await tabUrls(chain);
    const browser = await playwright.connectOverCDP(chain.cdpUrl);
    const context = browser.contexts()[0];
    await context.newPage();
    assert.equal(await pageAt(context, '?existing').title(), 'Page');
    assert.equal((await tabUrls(chain)).length, before.length + 1);
    await browser.close();
    await until(
      'the created tab is closed',
      async () => (await tabUrls(chain)).length === before.length,
    );
    assert.ok((await tabUrls(chain)).includes(shared.site.url('/page?existing')));
  } finally {
    await chain.stop();
  }
});
