/**
 * Browsers that appear when needed: `tabwire launch`, `stop`, `restart`, `serve --launch`, and what
 * is left when the relay or the browser is killed.
 */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { chromium as playwright } from 'playwright-core';

import {
  CHROMIUM,
  TABWIRE,
  isRunning,
  startRelay,
  temporaryFolder,
  until,
} from '../harness/processes.mjs';
import { connectRaw } from '../harness/raw_client.mjs';

const run = promisify(execFile);
const QUIET = ['--', '--disable-background-networking', '--disable-component-update'];

/** Runs a command in the home of a relay. */
const tabwire = (home, ...args) =>
  run(TABWIRE, args, { env: { ...process.env, TABWIRE_HOME: home.path, DISPLAY: '' } });

const failing = (home, ...args) =>
  tabwire(home, ...args).then(
    () => assert.fail(`${args[0]} succeeded`),
    ({ stderr }) => stderr,
  );

/** The processes whose command line names this folder. */
async function processesIn(folder) {
  const { stdout } = await run('pgrep', ['-f', `user-data-dir=${folder}`]).catch((error) => error);
  return stdout.split('\n').filter(Boolean).map(Number);
}

const untilGone = (home) =>
  until('no browser is left', async () => (await processesIn(home.path)).length === 0);

/** A relay for `use`, stopped afterwards with all that it launched. */
async function withRelay(args, use) {
  const home = await temporaryFolder('launch');
  const relay = await startRelay({ home, args, env: { DISPLAY: '' } });
  try {
    await use(relay);
  } finally {
    await relay.stop({ keepHome: true });
    await untilGone(home);
    await home.remove();
  }
}

/** The main process of the browser that was launched in this home. */
async function browserPid(home) {
  const pids = await processesIn(home.path);
  return Math.min(...pids);
}

test('launches, restarts and stops a browser with a temporary profile', () =>
  withRelay([], async ({ home, status, cdpUrl }) => {
    const launched = await tabwire(
      home,
      'launch',
      CHROMIUM,
      '--name',
      'work',
      '--temp',
      '--json',
      ...QUIET,
    );
    assert.deepEqual(JSON.parse(launched.stdout), {
      name: 'work',
      tabs: 1,
      ownership: 'launched',
      headless: true,
    });
    assert.equal((await status()).targets, 1);
    const client = await connectRaw(cdpUrl);
    const before = await browserPid(home);
    await tabwire(home, 'restart');
    assert.notEqual(await browserPid(home), before);
    assert.equal(
      (await client.send('Target.getTargets')).targetInfos.length,
      1,
      'the address stays',
    );
    client.kill();
    assert.match((await tabwire(home, 'stop', 'work')).stdout, /Stopped work\./);
    await untilGone(home);
    assert.deepEqual(await readdir(path.join(home.path, 'temporary')), []);
    assert.equal((await tabwire(home, 'browsers', '--json')).stdout.includes('"work"'), false);
    assert.match(await failing(home, 'stop', 'work'), /launched no browser/);
  }));

test('switches to another browser: the old one’s clients are disconnected, the address stays', () =>
  withRelay([], async ({ home, cdpUrl, waitForClients }) => {
    await tabwire(home, 'launch', CHROMIUM, '--name', 'first', '--temp', ...QUIET);
    const first = await playwright.connectOverCDP(cdpUrl);
    const disconnected = new Promise((resolve) => first.once('disconnected', resolve));
    await tabwire(home, 'launch', CHROMIUM, '--name', 'second', '--temp', ...QUIET);
    await disconnected;
    await waitForClients(0);
    const second = await playwright.connectOverCDP(cdpUrl);
    assert.equal(second.contexts()[0].pages().length, 1);
    await second.close();
    const { stdout } = await tabwire(home, 'status', '--json');
    assert.deepEqual(
      JSON.parse(stdout)
        .browsers.filter(({ connected }) => connected)
        .map(({ name }) => name),
      ['second'],
    );
  }));

test('the first clients share one launch, and nothing runs before', () =>
  withRelay(['--launch', CHROMIUM], async ({ home, cdpUrl, status, port }) => {
    assert.deepEqual(await processesIn(home.path), []);
    assert.equal((await status()).launches, true);
    const version = cdpUrl.replace('ws:', 'http:').replace('/cdp', '/json/version');
    const responses = await Promise.all([1, 2, 3].map(() => fetch(version)));
    assert.deepEqual(
      responses.map((response) => response.status),
      [200, 200, 200],
    );
    assert.equal((await status()).browsers, 1, `one browser on port ${port}`);
    const browser = await playwright.connectOverCDP(cdpUrl);
    assert.equal(await browser.contexts()[0].pages()[0].evaluate('6 * 7'), 42);
    await browser.close();
  }));

test('a living client’s next request launches a browser that was killed', () =>
  withRelay(['--launch', CHROMIUM], async ({ home, cdpUrl, waitForExtension }) => {
    const client = await connectRaw(cdpUrl);
    await client.send('Target.getTargets');
    process.kill(await browserPid(home), 'SIGKILL');
    await waitForExtension(false);
    await untilGone(home);
    const { targetInfos } = await client.send('Target.getTargets');
    assert.equal(targetInfos.length, 1);
    // A client that leaves needs no browser.
    process.kill(await browserPid(home), 'SIGKILL');
    await waitForExtension(false);
    await client.send('Browser.close');
    assert.deepEqual(await processesIn(home.path), []);
  }));

test('a failed launch is 503 with the reason', () =>
  withRelay(['--launch', '/bin/false'], async ({ cdpUrl }) => {
    const version = cdpUrl.replace('ws:', 'http:').replace('/cdp', '/json/version');
    const response = await fetch(version);
    assert.equal(response.status, 503);
    assert.match(
      (await response.json()).error,
      /Cannot start a browser\. The browser exited before/,
    );
  }));

test('a relay that is killed leaves no browser, profile or file behind', async () => {
  const home = await temporaryFolder('launch');
  const { child } = await startRelay({ home, env: { DISPLAY: '' } });
  await tabwire(home, 'launch', CHROMIUM, '--temp', ...QUIET);
  child.kill('SIGKILL');
  await untilGone(home);
  await until('the files are removed', () =>
    ['cdp-url', 'state.json'].every((name) => !existsSync(path.join(home.path, name))),
  );
  assert.deepEqual(await readdir(path.join(home.path, 'temporary')), []);
  await home.remove();
});

test('a browser that is still running is joined, and never stopped', async () => {
  const home = await temporaryFolder('launch');
  const first = await startRelay({ home, env: { DISPLAY: '' } });
  const launch = ['launch', CHROMIUM, '--name', 'mine', '--json', ...QUIET];
  await tabwire(home, ...launch);
  const pid = await browserPid(home);
  // Kill the watchdog, too, which would stop the browser.
  const { stdout } = await run('pgrep', ['-P', String(first.child.pid), '-f', 'watchdog']);
  process.kill(Number(stdout), 'SIGKILL');
  first.child.kill('SIGKILL');
  await until('the relay is gone', () => !isRunning(first.child.pid));
  const second = await startRelay({ home, port: first.port, env: { DISPLAY: '' } });
  try {
    const report = JSON.parse((await tabwire(home, ...launch)).stdout);
    assert.deepEqual([report.name, report.ownership], ['mine', 'attached']);
    await tabwire(home, 'stop', 'mine');
    assert.ok(isRunning(pid), 'it was not launched by this relay');
  } finally {
    process.kill(pid);
    await second.stop({ keepHome: true });
    await untilGone(home);
    await home.remove();
  }
});
