/** A page whose renderer does not answer: stopped, as a debugger or a machine out of memory may stop it. */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';

import { chromium as playwright } from 'playwright-core';

import { asPerson, openTabs, useChain } from '../harness/chain.mjs';

const shared = useChain({
  args: ['--client-mode', 'multi-client', '--command-timeout', '2'],
  pages: { '/stopped': '<title>stopped</title>', '/other': '<title>other</title>' },
});

/** Another site than the rest, so that it has a renderer of its own. */
const stoppedUrl = () => shared.site.url('/stopped').replace('127.0.0.1', 'localhost');
const pageOf = (context, name) => context.pages().find((page) => page.url().endsWith(`/${name}`));

/** The processor time, in ticks, of each renderer of the browser. */
function rendererTimes() {
  const times = new Map();
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8');
      if (command.includes('--type=renderer') && command.includes(shared.chain.chromium.profile.path)) {
        const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ');
        times.set(Number(pid), Number(fields[11]) + Number(fields[12]));
      }
    } catch {
      // It has just ended.
    }
  }
  return times;
}

/** The process that runs a page: the one that works when the page does. */
async function rendererOf(name) {
  const before = rendererTimes();
  await asPerson(shared.chain, async (_, own) =>
    pageOf(own, name).evaluate(() => {
      const end = Date.now() + 1_000;
      while (Date.now() < end);
    }),
  );
  const worked = [...rendererTimes()].map(([pid, time]) => [pid, time - (before.get(pid) ?? 0)]);
  return worked.sort((a, b) => b[1] - a[1])[0][0];
}

const skip = process.platform === 'linux' ? false : 'processes are looked up in /proc';

test('a stopped page fails its commands in time, holds up nobody, and works on when it goes on', { skip }, async () => {
  await openTabs(shared.chain, [stoppedUrl(), shared.site.url('/other')]);
  const pid = await rendererOf('stopped');
  const browser = await playwright.connectOverCDP(shared.chain.cdpUrl);
  try {
    const context = browser.contexts()[0];
    const [page, other] = [pageOf(context, 'stopped'), pageOf(context, 'other')];
    // Playwright tells the reason only of what is sent as it is.
    const session = await context.newCDPSession(page);
    assert.equal(await page.title(), 'stopped');
    process.kill(pid, 'SIGSTOP');
    const failed = session.send('Runtime.evaluate', { expression: '1' }).catch((error) => error.message);
    const failedToo = assert.rejects(page.evaluate(() => 1));
    assert.equal(await other.title(), 'other');
    const second = await playwright.connectOverCDP(shared.chain.cdpUrl);
    assert.equal(await pageOf(second.contexts()[0], 'other').title(), 'other');
    await second.close();
    assert.match(await failed, /the page did not answer for 2 seconds/);
    await failedToo;
    process.kill(pid, 'SIGCONT');
    assert.equal(await page.evaluate(() => 1 + 1), 2);
  } finally {
    process.kill(pid, 'SIGCONT');
    await browser.close();
  }
});

test('a page that only takes long is waited for', async () => {
  const browser = await playwright.connectOverCDP(shared.chain.cdpUrl);
  try {
    const slow = pageOf(browser.contexts()[0], 'other').evaluate(() => new Promise((resolve) => setTimeout(resolve, 5_000, 'at last')));
    assert.equal(await slow, 'at last');
  } finally {
    await browser.close();
  }
});

test('a dormant page that is stopped fails its first command, and wakes when it goes on', { skip }, async () => {
  const pid = await rendererOf('stopped');
  process.kill(pid, 'SIGSTOP');
  const browser = await playwright.connectOverCDP(shared.chain.cdpUrl);
  try {
    const page = pageOf(browser.contexts()[0], 'stopped');
    const session = await browser.contexts()[0].newCDPSession(page);
    const failed = session.send('Runtime.evaluate', { expression: '1' }).catch((error) => error.message);
    const failedToo = assert.rejects(page.evaluate(() => 1));
    assert.equal(await pageOf(browser.contexts()[0], 'other').title(), 'other');
    assert.match(await failed, /the page did not answer for 10 seconds/);
    await failedToo;
    process.kill(pid, 'SIGCONT');
    assert.equal(await page.evaluate(() => 1 + 1), 2);
  } finally {
    process.kill(pid, 'SIGCONT');
    await browser.close();
  }
});
