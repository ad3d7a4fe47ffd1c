/**
 * Browsers that the relay launches with a debugging port of their own (`--direct`): the same address,
 * all of CDP, and a browser that is launched again for clients that stay connected.
 */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';

import { chromium as playwright } from 'playwright-core';

import {
  assertExecutableNoted,
  browserPid,
  browserPids,
  countedBrowser,
  failing,
  isBrowserRunning,
  killBrowser,
  runningBrowsers,
  tabwire,
  untilBrowserGone,
  withRelay,
} from '../harness/launched.mjs';
import {
  CHROMIUM,
  TABWIRE,
  endProcess,
  isRunning,
  startChromium,
  temporaryFolder,
  until,
} from '../harness/processes.mjs';

const QUIET = ['--', '--disable-background-networking', '--disable-component-update'];
const page = (title) => `data:text/html,<title>${title}</title>`;

const launch = async (home, ...args) =>
  JSON.parse(
    (await tabwire(home, 'launch', CHROMIUM, '--direct', '--json', ...args, ...QUIET)).stdout,
  );

/** Connects Playwright and returns what the title of a new page in a new context is. */
async function titleInNewContext(cdpUrl) {
  const browser = await playwright.connectOverCDP(cdpUrl);
  try {
    // An extension cannot create a browser context.
    const context = await browser.newContext();
    const opened = await context.newPage();
    await opened.goto(page('direct'));
    return await opened.title();
  } finally {
    await browser.close();
  }
}

test('launches a browser with all of CDP, and launches it again for a living client', () =>
  withRelay([], async ({ home, cdpUrl }) => {
    const report = await launch(home, '--temp', '--name', 'work');
    assert.equal(report.pid, await browserPid(home));
    assert.equal(report.ownership, 'launched');
    assert.ok(report.debugPort > 0);
    await assertExecutableNoted(home, report.pid);
    assert.equal(await titleInNewContext(cdpUrl), 'direct');
    assert.ok(isBrowserRunning(report.pid), 'Browser.close only disconnects');

    const browser = await playwright.connectOverCDP(cdpUrl);
    await killBrowser(report.pid);
    const opened = await browser.contexts()[0].newPage();
    await opened.goto(page('again'));
    assert.equal(await opened.title(), 'again');
    assert.notEqual(await browserPid(home), report.pid);

    const restarted = JSON.parse((await tabwire(home, 'restart', '--json')).stdout);
    assert.equal(restarted.ownership, 'launched');
    const afterRestart = await browser.contexts()[0].newPage();
    assert.equal(await afterRestart.evaluate('6 * 7'), 42, 'a restart keeps clients connected');

    const disconnected = new Promise((resolve) => browser.once('disconnected', resolve));
    await tabwire(home, 'stop', 'work');
    await disconnected;
    await untilBrowserGone(restarted.pid);
    assert.match(await failing(home, 'stop', 'work'), /launched no browser/);
  }));

test('switches between the extension and the debugging port at the same address', () =>
  withRelay([], async ({ home, cdpUrl, waitForClients }) => {
    await tabwire(home, 'launch', CHROMIUM, '--name', 'first', '--temp', ...QUIET);
    const firstPid = await browserPid(home);
    const client = await playwright.connectOverCDP(cdpUrl);
    const disconnected = new Promise((resolve) => client.once('disconnected', resolve));
    const direct = await launch(home, '--name', 'second', '--temp');
    await disconnected;
    await untilBrowserGone(firstPid);
    await waitForClients(0);
    assert.equal(await titleInNewContext(cdpUrl), 'direct');
    await tabwire(home, 'launch', CHROMIUM, '--name', 'third', '--temp', ...QUIET);
    await untilBrowserGone(direct.pid);
    const browser = await playwright.connectOverCDP(cdpUrl);
    await assert.rejects(browser.newContext(), /createBrowserContext/);
    await browser.close();
  }));

test('the first clients launch it, and again after it was killed', async (t) => {
  const { program, starts, remove } = await countedBrowser();
  t.after(remove);
  await withRelay(['--launch', program, '--launch-direct'], async ({ home, cdpUrl, status }) => {
    assert.deepEqual(await browserPids(home), []);
    const version = cdpUrl.replace('ws:', 'http:').replace('/cdp', '/json/version');
    const responses = await Promise.all([1, 2, 3].map(() => fetch(version)));
    assert.deepEqual(
      responses.map((response) => response.status),
      [200, 200, 200],
    );
    assert.equal((await status()).browsers, 1);
    assert.equal(await starts(), 1);
    const pid = await browserPid(home);
    await killBrowser(pid);
    assert.equal(await titleInNewContext(cdpUrl), 'direct', 'a new client');
    assert.notEqual(await browserPid(home), pid);
    assert.equal(await starts(), 2);
  });
});

test('a failed launch is 503 with the reason, and the relay goes on', () =>
  withRelay(['--launch', '/bin/false', '--launch-direct'], async ({ cdpUrl, status }) => {
    const version = cdpUrl.replace('ws:', 'http:').replace('/cdp', '/json/version');
    const response = await fetch(version);
    assert.equal(response.status, 503);
    assert.match((await response.json()).error, /Cannot start a browser\. The browser exited/);
    assert.equal((await status()).status, 'ok');
  }));

test('a profile that is open with a debugging port is joined, and never stopped', () =>
  withRelay([], async ({ home, cdpUrl }) => {
    const chromium = await startChromium();
    try {
      const report = await launch(home, '--profile', chromium.profile.path, '--name', 'open');
      assert.deepEqual(
        [report.ownership, report.pid, report.debugPort],
        ['attached', chromium.child.pid, Number(new URL(chromium.ownUrl).port)],
      );
      assert.equal(await titleInNewContext(cdpUrl), 'direct');
      await tabwire(home, 'stop', 'open');
      assert.ok(isRunning(chromium.child.pid), 'it was not launched by Tabwire');
    } finally {
      await chromium.stop();
    }
  }));

test('a profile that is open without a debugging port is left alone', () =>
  withRelay([], async ({ home }) => {
    const profile = await temporaryFolder('profile');
    const args = ['--headless=new', `--user-data-dir=${profile.path}`, '--remote-debugging-pipe'];
    const quiet = [...QUIET.slice(1), '--no-first-run', '--no-sandbox', 'about:blank'];
    const child = spawn(CHROMIUM, [...args, ...quiet], {
      stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'],
    });
    try {
      const lock = () => readdir(profile.path).then((names) => names.includes('SingletonLock'));
      await until('the profile is open', lock);
      const launched = failing(home, 'launch', CHROMIUM, '--direct', '--profile', profile.path);
      assert.match(await launched, /is open in a running browser without a debugging port/);
      assert.equal(child.exitCode, null);
      assert.deepEqual(await runningBrowsers(home), []);
    } finally {
      await endProcess(child);
      await profile.remove();
    }
  }));

test('`up --direct` uses the debugging port and leaves nothing running', async () => {
  const home = await temporaryFolder('direct');
  const args = ['up', '--port', '0', '--headless', '--direct', '--browser', CHROMIUM, ...QUIET];
  const up = spawn(TABWIRE, args, {
    env: { ...process.env, TABWIRE_HOME: home.path },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    let printed = '';
    up.stdout.on('data', (data) => (printed += data));
    await until('`up` is ready', () => printed.includes('Ctrl-C'));
    const { stdout } = await tabwire(home, 'cdp-url');
    assert.equal(await titleInNewContext(stdout.trim()), 'direct');
    const pid = await browserPid(home);
    up.kill('SIGINT');
    await once(up, 'exit');
    await untilBrowserGone(pid);
  } finally {
    await endProcess(up);
    await home.remove();
  }
});
