/** Clients that launch a browser and use it over a pipe, with `tabwire pipe` as that browser. */

import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';

import { chromium as playwright } from 'playwright-core';
import puppeteer from 'puppeteer-core';

import { openTabs, useChain } from '../harness/chain.mjs';
import { browserPid, browserPids, isBrowserRunning } from '../harness/launched.mjs';
import { LAUNCH, startPipe, writeScript } from '../harness/pipe_client.mjs';
import {
  TABWIRE,
  freePort,
  startChromium,
  startRelay,
  temporaryFolder,
  until,
} from '../harness/processes.mjs';
import { connectRaw } from '../harness/raw_client.mjs';

const shared = useChain({
  pages: { '/mail': '<title>Mail</title><button onclick="this.textContent = 1">Read</button>' },
});

/** Runs `use` in a home of its own, without a relay, and checks that nothing is left in it. */
async function inNewHome(use) {
  const home = await temporaryFolder('pipe');
  await use(home);
  await until('no temporary profile is left', async () => {
    const left = await readdir(path.join(home.path, 'temporary')).catch(() => []);
    return left.length === 0;
  });
  await home.remove();
}

test('Puppeteer launches a browser of its own', () =>
  inNewHome(async (home) => {
    const executablePath = writeScript(home, LAUNCH);
    const browser = await puppeteer.launch({ executablePath, pipe: true, headless: true });
    const page = await browser.newPage();
    assert.equal(await page.evaluate(() => 6 * 7), 42);
    const context = await browser.createBrowserContext();
    assert.equal((await context.pages()).length, 0);
    await browser.close();
    assert.equal(browser.process().exitCode, 0);
  }));

test('Playwright launches a browser of its own', () =>
  inNewHome(async (home) => {
    const executablePath = writeScript(home, LAUNCH);
    const browser = await playwright.launch({ executablePath });
    const page = await (await browser.newContext()).newPage();
    assert.equal(await page.evaluate(() => 6 * 7), 42);
    await browser.close();
  }));

test("Puppeteer joins the relay's browser and leaves it as it was", async () => {
  const { chain, site } = shared;
  const url = site.url('/mail');
  await openTabs(chain, [url]);
  const before = await addresses(chain);
  const browser = await puppeteer.launch({
    executablePath: writeScript(chain.relay.home),
    pipe: true,
    defaultViewport: null,
  });
  const page = (await browser.pages()).find((page) => page.url() === url);
  await page.click('button');
  assert.equal(await page.$eval('button', (button) => button.textContent), '1');
  const created = await browser.newPage();
  await created.close();
  await browser.close();
  await chain.relay.waitForClients(0);
  assert.deepEqual(await addresses(chain), before, "the user's tabs are as they were");
  assert.ok(chain.chromium.child.exitCode === null, 'the browser is still running');
});

test("Playwright joins the relay's browser", async () => {
  const { chain } = shared;
  const unused = await temporaryFolder('unused');
  const context = await playwright.launchPersistentContext(unused.path, {
    executablePath: writeScript(chain.relay.home),
  });
  const page = await context.newPage();
  assert.equal(await page.evaluate(() => 6 * 7), 42);
  await page.close();
  await context.close();
  await chain.relay.waitForClients(0);
  await unused.remove();
});

/** The addresses of the tabs, as the browser's own port lists them. */
async function addresses(chain) {
  const own = await connectRaw(chain.chromium.ownUrl);
  const { targetInfos } = await own.send('Target.getTargets');
  await own.close();
  const pages = targetInfos.filter(({ type }) => type === 'page');
  return pages.map(({ url }) => url).sort();
}

test('a client that joins waits for its turn, then fails with the reason', async () => {
  const { chain } = shared;
  const holder = await connectRaw(chain.cdpUrl);
  const options = ['--standby', '0.3'];
  const pipe = startPipe({ home: chain.relay.home, options });
  assert.deepEqual(await pipe.exited, [1, null]);
  assert.match(pipe.output(), /Another client is using the browser/);
  const waiting = startPipe({ home: chain.relay.home, options: [] });
  await holder.close();
  assert.match((await waiting.send('Browser.getVersion')).product, /Chrome/);
  waiting.leave();
  assert.deepEqual(await waiting.exited, [0, null]);
});

test('joins a browser by its name only if it is connected', async () => {
  const { chain } = shared;
  const named = startPipe({ home: chain.relay.home, options: ['--browser', 'chromium'] });
  assert.match((await named.send('Browser.getVersion')).product, /Chrome/);
  assert.deepEqual(await named.send('Browser.close'), {});
  assert.deepEqual(await named.exited, [0, null]);
  const unknown = startPipe({ home: chain.relay.home, options: ['--browser', 'other'] });
  assert.deepEqual(await unknown.exited, [1, null]);
  assert.match(unknown.output(), /The browser 'other' is not connected/);
});

test('--join starts a relay, which keeps nothing of the client', () =>
  inNewHome(async (home) => {
    const port = await freePort();
    const chromium = await startChromium({ relay: { port, home } });
    const pipe = startPipe({ home, options: ['--join', '--port', String(port)] });
    assert.match((await pipe.send('Browser.getVersion')).product, /Chrome/);
    pipe.leave();
    await pipe.closed;
    const env = { ...process.env, TABWIRE_HOME: home.path };
    execFileSync(TABWIRE, ['stop', '--relay'], { env, stdio: 'ignore' });
    await chromium.stop();
  }));

test('a client that leaves while it waits is not served', async () => {
  const { chain } = shared;
  const holder = await connectRaw(chain.cdpUrl);
  const pipe = startPipe({ home: chain.relay.home, options: [] });
  pipe.leave();
  assert.deepEqual(await pipe.exited, [0, null]);
  const stopped = startPipe({ home: chain.relay.home, options: [] });
  await once(stopped.child, 'spawn');
  stopped.child.kill('SIGTERM');
  await stopped.exited;
  await holder.close();
});

test('a browser that the relay launches for clients is joined', async () => {
  const relay = await startRelay({ args: LAUNCH, env: { DISPLAY: '' } });
  const pipe = startPipe({ home: relay.home, options: [] });
  assert.match((await pipe.send('Browser.getVersion')).product, /Chrome/);
  assert.equal((await relay.status()).clients, 1);
  pipe.leave();
  await pipe.exited;
  await relay.stop();
});

test('a profile that is open is joined and its browser is never closed', () =>
  inNewHome(async (home) => {
    const chromium = await startChromium();
    const args = [`--user-data-dir=${chromium.profile.path}`];
    const pipe = startPipe({ home, args });
    assert.match((await pipe.send('Browser.getVersion')).product, /Chrome/);
    assert.match(pipe.output(), /ownership="attached"/);
    await pipe.send('Browser.close');
    assert.deepEqual(await pipe.exited, [0, null]);
    const again = startPipe({ home, args });
    assert.match((await again.send('Browser.getVersion')).product, /Chrome/);
    again.child.kill('SIGKILL');
    await again.exited;
    const own = await connectRaw(chromium.ownUrl);
    await own.close();
    await rm(path.join(chromium.profile.path, 'DevToolsActivePort'));
    const refused = startPipe({ home, args });
    assert.deepEqual(await refused.exited, [1, null]);
    assert.match(refused.output(), /is open in a running browser \(process \d+\)/);
    await chromium.stop();
  }));

for (const [how, end] of Object.entries({
  'its client leaves': (pipe) => pipe.leave(),
  'its client asks for it': (pipe) => pipe.send('Browser.close'),
  'it gets SIGTERM': (pipe) => pipe.child.kill('SIGTERM'),
  'it is killed': (pipe) => pipe.child.kill('SIGKILL'),
})) {
  test(`a browser that it launched ends when ${how}`, () =>
    inNewHome(async (home) => {
      const pipe = startPipe({ home });
      assert.match((await pipe.send('Browser.getVersion')).product, /Chrome/);
      const pid = await browserPid(home);
      end(pipe);
      await pipe.exited;
      await until('the browser is gone', () => !isBrowserRunning(pid));
      await until('its profile is gone', async () => (await browserPids(home)).length === 0);
    }));
}

test('a browser that does not notice the end of its client is stopped', () =>
  inNewHome(async (home) => {
    const browser = path.join(home.path, 'deaf');
    await writeFile(browser, '#!/bin/sh\nexec sleep 600\n', { mode: 0o755 });
    const pipe = startPipe({ home, options: ['--launch', browser] });
    const pid = await until('watchdog and browser are running', () => {
      const { stdout } = spawnSync('pgrep', ['-P', String(pipe.child.pid)], { encoding: 'utf8' });
      const [, second] = stdout.split('\n').filter(Boolean).map(Number);
      return second;
    });
    pipe.leave();
    await pipe.exited;
    assert.equal(isBrowserRunning(pid), false);
  }));

test('it ends with its browser', () =>
  inNewHome(async (home) => {
    const pipe = startPipe({ home });
    await pipe.send('Browser.getVersion');
    process.kill(-(await browserPid(home)), 'SIGKILL');
    assert.deepEqual(await pipe.exited, [137, null]);
  }));

test('without a client it says what it is for', () =>
  inNewHome(async (home) => {
    const executable = writeScript(home);
    const { status, stderr } = spawnSync(executable, [], { encoding: 'utf8' });
    assert.equal(status, 1);
    assert.match(stderr, /must be started by a client, with a pipe on file descriptors 3 and 4/);
  }));

test('a script never replaces a file of somebody else', () =>
  inNewHome(async (home) => {
    const script = writeScript(home);
    assert.match(await readFile(script, 'utf8'), /exec '.*' 'pipe'/);
    writeScript(home, ['--join']);
    assert.match(await readFile(script, 'utf8'), /'--join'/);
    await writeFile(script, 'echo mine');
    assert.throws(() => writeScript(home));
    assert.equal(await readFile(script, 'utf8'), 'echo mine');
  }));
