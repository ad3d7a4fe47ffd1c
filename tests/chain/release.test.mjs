/** What is left of a client that has gone: nothing. */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';

import { chromium as playwright } from 'playwright-core';

import { attachedUrls, inExtension, openTabs, useChain } from '../harness/chain.mjs';
import { startChain, until } from '../harness/processes.mjs';

const words = [];
const PAGE = `<title>Page</title><script>
  const tell = (word) => fetch('/said', { method: 'POST', body: word });
  const ask = () => { tell('asking'); confirm('Really?'); tell('answered'); };
  setInterval(() => tell('width ' + innerWidth + (matchMedia('print').matches ? ' print' : '')), 200);
</script>`;
const shared = useChain({
  args: ['--client-mode', 'multi-client'],
  pages: {
    '/page': PAGE,
    '/said': (request, response) => {
      let body = '';
      request.on('data', (data) => (body += data));
      request.on('end', () => {
        words.push(body);
        response.end();
      });
    },
  },
});

const saidNext = async (word) => {
  const from = words.length;
  await until(`the page says ${word}`, () =>
    words.slice(from).some((said) => said === word || said.startsWith(`${word} `)),
  );
};

/** A client in a process of its own, so that it can be killed. It prints `ready` when `work` is done, and then stays. */
async function startClient(work) {
  const source = `
    import { chromium } from 'playwright-core';
    const browser = await chromium.connectOverCDP(process.env.CDP_URL);
    const context = browser.contexts()[0];
    const page = context.pages().find((known) => known.url().endsWith('/page'));
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

const pageOf = (context) => context.pages().find((page) => page.url().endsWith('/page'));

async function connected() {
  const browser = await playwright.connectOverCDP(shared.chain.cdpUrl);
  return { browser, context: browser.contexts()[0] };
}

const isGivenBack = () =>
  until('the debugger is off', async () => (await attachedUrls(shared.chain)).length === 0, 2_000);

test('a client that is killed leaves a page as it was, and its debugger is off', async () => {
  await openTabs(shared.chain, [shared.site.url('/page')]);
  await saidNext('width');
  const before = words.findLast((word) => word.startsWith('width'));
  const client = await startClient(async (page) => {
    await page.emulateMedia({ media: 'print' });
    await page.setViewportSize({ width: 400, height: 300 });
    // Requests are stopped for a client that never lets them go on.
    await page.route('**/said', () => {});
  });
  await client.kill();
  await isGivenBack();
  await saidNext(before);
});

test('a dialog that a client held is released', async () => {
  const client = await startClient(async (page) => {
    page.on('dialog', () => {});
    const shown = page.waitForEvent('dialog');
    page.evaluate(() => setTimeout(ask)).catch(() => {});
    await shown;
  });
  const from = words.length;
  await client.kill();
  await until('the page goes on', () => words.slice(from).includes('answered'));
  await isGivenBack();
});

test('a page that a client stopped in the debugger goes on', async () => {
  const client = await startClient(async (page, context) => {
    const session = await context.newCDPSession(page);
    await session.send('Debugger.enable');
    const paused = new Promise((resolve) => session.once('Debugger.paused', resolve));
    await session.send('Debugger.pause');
    await paused;
  });
  await client.kill();
  await saidNext('width');
  await isGivenBack();
});

test('a page that stopped at a breakpoint of a client that is killed goes on, though another client debugs it too', async () => {
  const { browser, context } = await connected();
  const session = await context.newCDPSession(pageOf(context));
  await session.send('Debugger.enable');
  const client = await startClient(async (page, context) => {
    const session = await context.newCDPSession(page);
    await session.send('Debugger.enable');
    const { result } = await session.send('Runtime.evaluate', { expression: 'tell' });
    const stopped = new Promise((resolve) => session.once('Debugger.paused', resolve));
    await session.send('Debugger.setBreakpointOnFunctionCall', { objectId: result.objectId });
    await stopped;
  });
  await client.kill();
  await saidNext('width');
  await browser.close();
  await isGivenBack();
});

test('of two clients the one that leaves takes its own with it, and the other keeps what it set', async () => {
  const open = async () => {
    const { browser, context } = await connected();
    return { browser, page: pageOf(context) };
  };
  const [one, other] = [await open(), await open()];
  await other.page.emulateMedia({ media: 'print' });
  await one.page.emulateMedia({ media: 'screen' });
  await one.page.setViewportSize({ width: 333, height: 300 });
  await one.page.setExtraHTTPHeaders({ 'x-from': 'one' });
  await one.page.route('**/routed', (route) => route.fulfill({ body: 'by one' }));
  assert.equal(await other.page.evaluate(async () => (await fetch('/routed')).text()), 'by one');
  await one.browser.close();
  await until('the page is print again, in its own size', () =>
    other.page.evaluate(() => matchMedia('print').matches && innerWidth !== 333),
  );
  assert.equal(await other.page.evaluate(async () => (await fetch('/routed')).status), 404);
  await other.browser.close();
  await isGivenBack();
});

const tabCount = (chain) => inExtension(chain, async () => (await chrome.tabs.query({})).length);

test('tabs that a client created stay when it goes', async () => {
  const before = await tabCount(shared.chain);
  const client = await startClient(async (_, context) => {
    await context.newPage();
  });
  await client.kill();
  await isGivenBack();
  assert.equal(await tabCount(shared.chain), before + 1);
});

test('with --on-disconnect close-created they are closed, and those of the person stay', async () => {
  const chain = await startChain({ args: ['--on-disconnect', 'close-created'] });
  try {
    await openTabs(chain, [shared.site.url('/page?persons')]);
    const before = await tabCount(chain);
    const browser = await playwright.connectOverCDP(chain.cdpUrl);
    const context = browser.contexts()[0];
    await context.newPage();
    const persons = context.pages().find((page) => page.url().endsWith('?persons'));
    assert.equal(await persons.title(), 'Page');
    assert.equal(await tabCount(chain), before + 1);
    await browser.close();
    await until('the created tab is closed', async () => (await tabCount(chain)) === before);
    const left = await inExtension(chain, async () =>
      (await chrome.tabs.query({})).map((tab) => tab.url),
    );
    assert.ok(left.includes(shared.site.url('/page?persons')));
  } finally {
    await chain.stop();
  }
});
