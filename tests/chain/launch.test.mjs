/**
 * Browsers that appear when needed: `tabwire launch`, `stop`, `restart`, `serve --launch`, and what
 * is left when the relay or the browser is killed.
 */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readFile, readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { chromium as playwright } from 'playwright-core';

import {
  CHROMIUM,
  isRunning,
  startChromium,
  startRelay,
  temporaryFolder,
  until,
} from '../harness/processes.mjs';
import {
  assertExecutableNoted,
  browserPid,
  browserPids,
  countedBrowser,
  failing,
  killBrowser,
  runningBrowsers,
  tabwire,
  untilBrowserGone,
  withRelay,
} from '../harness/launched.mjs';
import { connectRaw } from '../harness/raw_client.mjs';

const run = promisify(execFile);
const QUIET = ['--', '--disable-background-networking', '--disable-component-update'];

/** Who started each connected browser, by name. */
async function ownerships(home) {
  const { browsers } = JSON.parse((await tabwire(home, 'status', '--json')).stdout);
  const connected = browsers.filter((browser) => browser.connected);
  return Object.fromEntries(connected.map(({ name, ownership }) => [name, ownership]));
}

/** Checks that the modules of the extension's worker were joined into one valid script. */
async function assertWorkerIsScript(home) {
  const folder = path.join(home.path, 'temporary');
  const [name] = await readdir(folder);
  const text = await readFile(path.join(folder, name, 'extension/background.js'), 'utf8');
  assert.doesNotMatch(text, /^(import|export) /m);
  const script = path.join(home.path, 'worker.cjs');
  await writeFile(script, text);
  await run(process.execPath, ['--check', script]);
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
    const before = await browserPid(home);
    const { id, ...report } = JSON.parse(launched.stdout);
    assert.ok(Number.isInteger(id));
    assert.deepEqual(report, {
      name: 'work',
      tabs: 1,
      ownership: 'launched',
      headless: true,
      pid: before,
    });
    await assertExecutableNoted(home, before);
    await assertWorkerIsScript(home);
    assert.equal((await status()).targets, 1);
    assert.match(
      (await tabwire(home, 'status')).stdout,
      /^browser {2}work \(.*\), 1 tab, launched by Tabwire$/m,
    );
    const client = await connectRaw(cdpUrl);
    await tabwire(home, 'restart');
    const after = await browserPid(home);
    assert.notEqual(after, before);
    await assertExecutableNoted(home, after);
    assert.equal(
      (await client.send('Target.getTargets')).targetInfos.length,
      1,
      'the address stays',
    );
    assert.match((await tabwire(home, 'stop', 'work')).stdout, /Stopped work\./);
    assert.deepEqual(await client.closed, [1001, 'The browser was stopped.']);
    await untilBrowserGone(after);
    assert.deepEqual(await readdir(path.join(home.path, 'temporary')), []);
    assert.equal((await tabwire(home, 'browsers', '--json')).stdout.includes('"work"'), false);
    assert.match(await failing(home, 'stop', 'work'), /launched no browser/);
  }));

test('switches to another browser: the old one’s clients are disconnected, the address stays', () =>
  withRelay([], async ({ home, cdpUrl, waitForClients }) => {
    await tabwire(home, 'launch', CHROMIUM, '--name', 'first', '--temp', ...QUIET);
    const firstPid = await browserPid(home);
    const first = await playwright.connectOverCDP(cdpUrl);
    const disconnected = new Promise((resolve) => first.once('disconnected', resolve));
    await tabwire(home, 'launch', CHROMIUM, '--name', 'second', '--temp', ...QUIET);
    await disconnected;
    await untilBrowserGone(firstPid);
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

/** Launches a browser and returns the report. */
const launch = async (home, ...args) =>
  JSON.parse((await tabwire(home, 'launch', '--json', CHROMIUM, ...args, ...QUIET)).stdout);

test('an equal request joins a browser, and a different one gets another', () =>
  withRelay(['--browsers', 'many'], async ({ home }) => {
    const profiles = await Promise.all(['a', 'b'].map(() => temporaryFolder('profile')));
    const [a, b] = profiles.map((profile) => ['--profile', profile.path]);
    const first = await launch(home, ...a);
    assert.deepEqual([first.name, first.joined], ['chromium', undefined]);
    const again = await launch(home, ...a);
    assert.deepEqual([again.name, again.pid, again.joined], ['chromium', first.pid, true]);
    const second = await launch(home, ...b);
    assert.deepEqual([second.name, second.joined], ['chromium-2', undefined]);
    assert.notEqual(second.pid, first.pid);
    const named = await failing(home, 'launch', CHROMIUM, '--name', 'chromium', ...b, ...QUIET);
    assert.match(
      named,
      /'chromium' is already running with other options\. Stop it with `tabwire stop chromium`/,
    );
    const inUse = await failing(home, 'launch', CHROMIUM, ...a, ...QUIET, '--lang=de');
    assert.match(
      inUse,
      /'chromium' is already running with other options\./,
      'its profile is open',
    );
    for (const name of ['chromium', 'chromium-2']) {
      await tabwire(home, 'stop', name);
    }
    await Promise.all([first.pid, second.pid].map(untilBrowserGone));
    await Promise.all(profiles.map((profile) => profile.remove()));
  }));

test('with one browser, other options of the same profile replace it', () =>
  withRelay([], async ({ home }) => {
    const first = await launch(home);
    const other = JSON.parse(
      (await tabwire(home, 'launch', '--json', CHROMIUM, ...QUIET, '--lang=de')).stdout,
    );
    assert.deepEqual([first.name, other.name], ['chromium', 'chromium']);
    await untilBrowserGone(first.pid);
    assert.deepEqual(await runningBrowsers(home), [other.pid]);
  }));

for (const [kind, access] of Object.entries({ extension: [], 'debugging port': ['--direct'] })) {
  test(`a launch that fails leaves a browser with the ${kind} alone`, () =>
    withRelay([], async ({ home, cdpUrl }) => {
      const { pid } = await launch(home, '--temp', '--name', 'work', ...access);
      const client = await connectRaw(cdpUrl);
      for (const other of [[], ['--direct']]) {
        const failed = await failing(home, 'launch', '/bin/false', '--temp', ...other);
        assert.match(failed, /The browser exited before it could be used/);
        assert.ok((await client.send('Target.getTargets')).targetInfos.length > 0);
      }
      assert.deepEqual(await ownerships(home), { work: 'launched' });
      assert.deepEqual(await runningBrowsers(home), [pid]);
      client.kill();
    }));
}

test('the user’s own browser survives a launch that fails, and is joined by its profile', () =>
  withRelay([], async ({ home, port, cdpUrl, waitForExtension }) => {
    const own = await startChromium({ relay: { home, port }, name: 'mine' });
    try {
      await waitForExtension();
      const client = await connectRaw(cdpUrl);
      await failing(home, 'launch', '/bin/false', '--temp');
      assert.ok((await client.send('Target.getTargets')).targetInfos.length > 0);
      const { name, ownership, pid } = await launch(home, '--profile', own.profile.path);
      assert.deepEqual([name, ownership, pid], ['mine', 'attached', own.child.pid]);
      await tabwire(home, 'stop', 'mine');
      assert.ok((await client.send('Target.getTargets')).targetInfos.length > 0, 'only released');
      assert.ok(isRunning(own.child.pid));
      client.kill();
    } finally {
      await own.stop();
    }
  }));

test('the first clients share one launch, and nothing runs before', async (t) => {
  const { program, starts, remove } = await countedBrowser();
  t.after(remove);
  await withRelay(['--launch', program], async ({ home, cdpUrl, status, port }) => {
    assert.deepEqual([await browserPids(home), await starts()], [[], 0]);
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
    assert.equal(await starts(), 1);
  });
});

/** Waits until the log's last lines about the browser's state have these fields. */
async function untilLogged(home, ...expected) {
  await until(`the log ends with ${expected}`, async () => {
    const log = await readFile(path.join(home.path, 'relay.log'), 'utf8');
    const lines = log.split('\n').filter((line) => line.includes('transportMode="extension"'));
    const last = lines.slice(-expected.length);
    const fields = (at) => [expected[at]].flat();
    if (last.length < expected.length) return false;
    return last.every((line, at) => fields(at).every((field) => line.includes(field)));
  });
}

test('a living client’s next request launches a browser that was killed', () =>
  withRelay(['--launch', CHROMIUM], async ({ home, cdpUrl, waitForExtension }) => {
    const degraded = ['runtimeState="degraded"', 'disconnectSignals="ConnectionClosed'];
    const client = await connectRaw(cdpUrl);
    await client.send('Target.getTargets');
    await untilLogged(
      home,
      ['runtimeState="starting" ownership="launched"', `userDataDir=${home.path}`],
      'runtimeState="connected"',
    );
    await killBrowser(await browserPid(home));
    await waitForExtension(false);
    const { targetInfos } = await client.send('Target.getTargets');
    assert.equal(targetInfos.length, 1);
    await untilLogged(home, degraded, 'recoveryAttempt=1 shortCircuitBrowserClose=false', [
      'runtimeState="connected"',
      'recoveryAttempt=1 recoveryResult="relaunched"',
    ]);
    // A client that leaves needs no browser.
    await killBrowser(await browserPid(home));
    await waitForExtension(false);
    await client.send('Browser.close');
    assert.deepEqual(await runningBrowsers(home), []);
    await untilLogged(home, degraded, 'shortCircuitBrowserClose=true');
  }));

test('never gives a launched browser the name of the user’s own', () =>
  withRelay(['--browsers', 'many'], async ({ home, port, waitForExtension }) => {
    const own = await startChromium({ relay: { home, port }, name: 'chromium' });
    try {
      await waitForExtension();
      const launch = ['launch', CHROMIUM, '--temp', '--json'];
      const requested = await failing(home, ...launch, '--name', 'chromium', ...QUIET);
      assert.match(requested, /Another browser is called 'chromium'\. Choose another name/);
      const first = JSON.parse((await tabwire(home, ...launch, ...QUIET)).stdout);
      const again = JSON.parse((await tabwire(home, ...launch, ...QUIET)).stdout);
      assert.deepEqual([first.name, again.name], ['chromium-2', 'chromium-2']);
      assert.deepEqual(await ownerships(home), { chromium: undefined, 'chromium-2': 'launched' });
    } finally {
      await own.stop();
    }
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
  const pid = await browserPid(home);
  child.kill('SIGKILL');
  await untilBrowserGone(pid);
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
  const { stdout } = await run('pgrep', ['-P', String(first.child.pid)]);
  const children = stdout.split('\n').filter(Boolean).map(Number);
  process.kill(
    children.find((child) => child !== pid),
    'SIGKILL',
  );
  first.child.kill('SIGKILL');
  await until('the relay is gone', () => !isRunning(first.child.pid));
  const second = await startRelay({ home, port: first.port, env: { DISPLAY: '' } });
  try {
    const report = JSON.parse((await tabwire(home, ...launch)).stdout);
    assert.deepEqual([report.name, report.ownership], ['mine', 'attached']);
    assert.deepEqual(await ownerships(home), { mine: 'attached' });
    assert.match((await tabwire(home, 'status')).stdout, /already running when Tabwire connected/);
    const restarted = await failing(home, 'restart', 'mine');
    assert.match(restarted, /'mine' was running before Tabwire, so Tabwire does not restart it\./);
    const stopped = await tabwire(home, 'stop', 'mine');
    assert.equal(
      stopped.stdout,
      'Released mine; it was running before Tabwire, so it stays open.\n',
    );
    assert.ok(isRunning(pid), 'it was not launched by this relay');
  } finally {
    process.kill(pid);
    await second.stop({ keepHome: true });
    await untilBrowserGone(pid);
    await home.remove();
  }
});
