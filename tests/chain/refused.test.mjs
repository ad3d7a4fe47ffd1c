/**
 * What Chrome refuses to extensions, measured with `chrome.debugger` itself: the relay refuses
 * exactly the domains and methods in `fixtures/refused.json`, without attaching a debugger to find
 * out.
 */

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { test } from 'node:test';

import { attachedUrls, inExtension, useChain } from '../harness/chain.mjs';
import { FIXTURES_DIR } from '../harness/processes.mjs';
import { withRawClient } from '../harness/raw_client.mjs';

const require = createRequire(import.meta.url);
const domains = ['browser_protocol', 'js_protocol'].flatMap(
  (name) => require(`devtools-protocol/json/${name}.json`).domains,
);
const refused = JSON.parse(await readFile(path.join(FIXTURES_DIR, 'refused.json'), 'utf8'));
const refusedMethods = refused.filter((name) => name.includes('.'));

const shared = useChain({
  pages: { '/page': '<title>Page</title>' },
  tabs: (site) => [site.url('/page')],
});

/** A command with parameters of the wrong type, so that Chrome looks it up and carries nothing out. */
const harmless = (domain, { name, parameters = [] }) => ({
  method: `${domain}.${name}`,
  params: Object.fromEntries(
    parameters.map(({ name: of, type }) => [of, type === 'array' ? 1 : []]),
  ),
});

/** Sends commands to a tab as an extension does. Returns the error of each, or `undefined`. */
const sendAsExtension = (commands) =>
  inExtension(
    shared.chain,
    async (all) => {
      const { id: tabId } = await chrome.tabs.create({ url: 'about:blank', active: false });
      await chrome.debugger.attach({ tabId }, '1.3');
      const send = ({ method, params }) =>
        chrome.debugger.sendCommand({ tabId }, method, params).then(
          () => undefined,
          (error) => error.message,
        );
      const errors = await Promise.all(all.map(send));
      await chrome.tabs.remove(tabId);
      return errors;
    },
    commands,
  );

test('Chrome refuses to extensions exactly what the relay refuses', async () => {
  // Of a refused domain every command is sent, of another one a command with parameters.
  const commands = domains.flatMap(({ domain, commands: all }) => {
    const isRefused = ({ name }) => refusedMethods.includes(`${domain}.${name}`);
    if (refused.includes(domain)) {
      return all.map((command) => harmless(domain, command));
    }
    const withParameters = all.find((command) => command.parameters && !isRefused(command));
    const granted = withParameters ?? all.find(({ name }) => name.startsWith('get'));
    return [...all.filter(isRefused), ...(granted ? [granted] : [])].map((command) =>
      harmless(domain, command),
    );
  });
  const errors = await sendAsExtension(commands);
  const found = new Set();
  commands.forEach(({ method }, index) => {
    if (/wasn't found|Not allowed/.test(errors[index] ?? '')) {
      const domain = method.split('.')[0];
      found.add(refused.includes(domain) ? domain : method);
    }
  });
  // Chrome checks the parameters of `Target` commands before it refuses them.
  const isMeasured = (name) => !name.startsWith('Target.');
  assert.deepEqual([...found].sort(), refused.filter(isMeasured).sort());
  const granted = commands.filter((_, index) => !/wasn't found/.test(errors[index] ?? ''));
  for (const { method } of granted) {
    assert.ok(!refused.includes(method.split('.')[0]), `Chrome grants ${method}`);
  }
});

test('refusing a method attaches no debugger', async () => {
  await withRawClient(shared.chain, async ({ client, open }) => {
    const page = await open(shared.site.url('/page'));
    for (const method of ['Security.setIgnoreCertificateErrors', 'Profiler.enable']) {
      await assert.rejects(page.send(method), (error) => {
        assert.match(error.message, new RegExp(`'${method}' wasn't found.*launch --direct`));
        return true;
      });
    }
    await assert.rejects(client.send('SystemInfo.getInfo'), /extensions/);
    assert.deepEqual(await attachedUrls(shared.chain), []);
  });
});

/** What users of a library read: what Chrome does not let extensions do, and the alternative. */
const rejectsWith = (promise, reason) =>
  assert.rejects(promise, (error) => {
    assert.match(error.message, reason);
    assert.match(error.message, /`tabwire launch --direct`/);
    return true;
  });

test('Playwright shows why something is refused, and what has it', () =>
  shared.withPlaywright(async ({ browser, context }) => {
    const page = await context.newPage();
    const session = await context.newCDPSession(page);
    await rejectsWith(browser.newContext(), /only context.*browser\.contexts\(\)\[0\]/);
    await rejectsWith(browser.newPage(), /only context/);
    await rejectsWith(page.coverage.startJSCoverage(), /profile code or measure its coverage/);
    await rejectsWith(page.requestGC(), /collect garbage/);
    await rejectsWith(session.send('HeapProfiler.takeHeapSnapshot'), /take heap snapshots/);
    // What works instead.
    await page.goto(shared.site.url('/page'));
    await page.coverage.startCSSCoverage();
    assert.deepEqual(await page.coverage.stopCSSCoverage(), []);
    await browser.startTracing(page);
    await page.reload();
    const trace = JSON.parse(String(await browser.stopTracing()));
    assert.ok(trace.traceEvents.length > 0);
    // Playwright does not start another one after this.
    await rejectsWith(browser.startTracing(), /only the process of a page.*session of a page/);
  }));

test('Puppeteer shows why something is refused, and what has it', () =>
  shared.withPuppeteer(async (browser) => {
    const page = await browser.newPage();
    await rejectsWith(browser.createBrowserContext(), /only context/);
    await rejectsWith(page.coverage.startJSCoverage(), /profile code or measure its coverage/);
    await rejectsWith(page.captureHeapSnapshot({ path: '/dev/null' }), /take heap snapshots/);
    assert.ok((await page.metrics()).JSHeapUsedSize > 0);
    await page.tracing.start();
    assert.ok((await page.tracing.stop()).length > 0);
    await page.close();
  }));
