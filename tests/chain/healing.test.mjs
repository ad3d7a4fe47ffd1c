/**
 * Playwright and Puppeteer stay connected while the extension's worker dies or the extension is
 * reloaded: their pages, frames, handlers and routes work afterwards, without a command in between.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { reload, workerCrash, workerStop } from '../chaos/faults.mjs';
import { startAgent } from '../harness/agent.mjs';
import { useChain, userTabs } from '../harness/chain.mjs';
import { until } from '../harness/processes.mjs';
import { framing, html } from '../harness/site.mjs';

const inner = (_request, response) =>
  response.setHeader('content-type', 'text/html').end('<title>Inner</title><p>inner</p>');

const shared = useChain({
  args: ['--client-mode', 'multi-client'],
  pages: {
    '/page': html(() => '<title>Page</title><iframe src="/inner"></iframe>'),
    '/framing': framing('/inner'),
    '/inner': inner,
    '/other': '<title>Other</title>',
  },
});

const FAULTS = { 'its worker is stopped': workerStop, 'it is reloaded': reload };
if (process.platform === 'linux') FAULTS['its process crashes'] = workerCrash;

/**
 * Lets the extension fail, and waits until it has connected again. Its status may be wrong for too short a time
 * to be seen, so this looks at the relay's log.
 */
async function failAndHeal(fault) {
  const { log } = shared.chain.relay;
  const run = await fault(shared.chain);
  const { length } = log();
  run();
  // Chrome may take half a minute to start a worker again.
  await until(
    'the extension has connected again',
    () => log().slice(length).includes('extension connected'),
    45_000,
  );
}

for (const [name, fault] of Object.entries(FAULTS)) {
  test(`Playwright goes on after ${name}`, () =>
    shared.withPlaywright(async ({ context }) => {
      const page = await context.newPage();
      await page.goto(shared.site.url('/page'));
      const logged = [];
      page.on('console', (message) => logged.push(message.text()));
      await page.exposeFunction('double', (value) => value * 2);
      await page.addInitScript(() => (window.runs = (window.runs ?? 0) + 1));
      await page.route('**/other', (route) => route.fulfill({ body: 'routed' }));
      await page.evaluate(() => {
        let count = 0;
        window.timer = setInterval(() => console.log(++count), 50);
      });
      const pages = context.pages().length;
      const tabs = await userTabs(shared.chain);

      await failAndHeal(fault);
      const before = logged.length;
      await until('console events arrive again', () => logged.length > before);
      assert.equal(await page.evaluate(() => document.title), 'Page');
      assert.equal(await page.frameLocator('iframe').locator('p').textContent(), 'inner');
      const frame = await until('the frame is announced', () => page.frames()[1]);
      assert.equal(await frame.evaluate(() => document.title), 'Inner');
      assert.equal(await page.evaluate(() => window.double(21)), 42);
      assert.equal(await page.evaluate(async () => (await fetch('/other')).text()), 'routed');
      await page.reload();
      assert.equal(await page.evaluate(() => window.runs), 1);
      assert.equal(context.pages().length, pages);
      assert.deepEqual(await userTabs(shared.chain), tabs);
      assert.equal(new Set(logged).size, logged.length, 'nothing was reported twice');
    }));

  test(`Puppeteer goes on after ${name}`, () =>
    shared.withPuppeteer(async (browser) => {
      const page = await browser.newPage();
      await page.goto(shared.site.url('/framing'));
      const logged = [];
      page.on('console', (message) => logged.push(message.text()));
      await page.exposeFunction('double', (value) => value * 2);
      await page.evaluate(() => {
        let count = 0;
        window.timer = setInterval(() => console.log(++count), 50);
      });
      const targets = browser.targets().length;

      await failAndHeal(fault);
      const before = logged.length;
      await until('console events arrive again', () => logged.length > before);
      assert.equal(await page.evaluate(() => document.title), 'Framing');
      const frame = await until('the frame is announced', () =>
        page.frames().find((candidate) => candidate.url().endsWith('/inner')),
      );
      assert.equal(await frame.evaluate(() => document.title), 'Inner');
      assert.equal(await page.evaluate(() => window.double(21)), 42);
      assert.equal(browser.targets().length, targets);
      await page.close();
    }));
}

test('the tabs of an agent that leaves while the extension is reloaded are closed', async () => {
  const { home, port } = shared.chain.relay;
  const agent = await startAgent({ home, port });
  const before = await userTabs(shared.chain);
  const { isError, text } = await agent.execute(`await page.goto('${shared.site.url('/page')}')`);
  assert.ok(!isError, text);
  assert.notDeepEqual(await userTabs(shared.chain), before);
  const run = await reload(shared.chain);
  const { log } = shared.chain.relay;
  const { length } = log();
  run();
  const isAway = () => log().slice(length).includes('extension disconnected');
  await until('the extension is away', isAway);
  await agent.stop();
  await shared.chain.relay.waitForExtension();
  assert.deepEqual(await userTabs(shared.chain), before);
});
