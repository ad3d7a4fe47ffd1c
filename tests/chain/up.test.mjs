/**
 * `tabwire up` as a new user runs it: the lines it prints work as printed, it leaves nothing
 * running, and it does not touch a browser that the user has open.
 */

import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { chromium as playwright } from 'playwright-core';

import { attachedUrls, inExtension, openTabs } from '../harness/chain.mjs';
import { browserPid, killBrowser } from '../harness/launched.mjs';
import { openPopup } from '../harness/popup.mjs';
import {
  CHROMIUM,
  TABWIRE,
  capture,
  endProcess,
  freePort,
  isRunning,
  startChromium,
  startRelay,
  temporaryFolder,
  until,
} from '../harness/processes.mjs';
import { connectRaw } from '../harness/raw_client.mjs';
import { startSite } from '../harness/site.mjs';

const run = promisify(execFile);
const QUIET = ['--disable-background-networking', '--disable-component-update', '--disable-sync'];

/** Starts `tabwire up` for `use`, then stops it and removes its home, unless that was given. */
async function withUp(args, use, { home: given = undefined, port = 0 } = {}) {
  const home = given ?? (await temporaryFolder('up'));
  const all = ['up', '--port', String(port), '--headless', ...args, '--', ...QUIET];
  const child = spawn(TABWIRE, all, {
    env: { ...process.env, TABWIRE_HOME: home.path },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  try {
    await use({ home, child, printed: capture(child) });
  } finally {
    await endProcess(child);
    if (!given) {
      await home.remove();
    }
  }
}

/** Waits for the last line, which says how to stop. */
const untilReady = ({ printed }) =>
  until('`up` is ready', () => /Ctrl-C/.test(printed()), 30_000).catch((error) => {
    throw new Error(`${error.message}; it printed: ${printed()}`);
  });

/** Runs the three lines of JavaScript in what `up` printed, next to the packages of the tests. */
async function runPrintedLines(printed) {
  const lines = printed.split('\n');
  const first = lines.findIndex((line) => line.startsWith('import '));
  const folder = await mkdtemp(path.join(path.dirname(fileURLToPath(import.meta.url)), '.try-'));
  try {
    const script = path.join(folder, 'try.mjs');
    await writeFile(script, lines.slice(first, first + 3).join('\n'));
    return (await run('node', [script], { timeout: 30_000 })).stdout.trim();
  } finally {
    await rm(folder, { recursive: true });
  }
}

test('the printed lines work as printed, and Ctrl-C stops relay and browser', () =>
  withUp(['--browser', CHROMIUM], async (up) => {
    await untilReady(up);
    assert.equal(await runPrintedLines(up.printed()), "[ '' ]", 'one blank tab');
    assert.ok(!up.printed().includes('token='), 'the token is in the file, not on the screen');
    const pid = await browserPid(up.home);
    assert.ok(isRunning(pid));
    up.child.kill('SIGINT');
    const [code] = await once(up.child, 'exit');
    assert.equal(code, 0);
    assert.ok(!isRunning(pid));
    assert.ok(!existsSync(path.join(up.home.path, 'state.json')));
  }));

test('loads the extension over the debugging pipe, as branded Chrome requires', () =>
  withUp(['--browser', CHROMIUM, '--load-by', 'pipe'], untilReady));

test('outlives its browser, which the next request launches again', () =>
  withUp(['--browser', CHROMIUM], async (up) => {
    await untilReady(up);
    const pid = await browserPid(up.home);
    await killBrowser(pid);
    await until('`up` notices', () =>
      up.printed().includes('The browser was closed. It starts again when a client needs it.'),
    );
    assert.ok(isRunning(up.child.pid));
    const url = await readFile(path.join(up.home.path, 'cdp-url'), 'utf8');
    const client = await connectRaw(url.trim());
    assert.equal((await client.send('Target.getTargets')).targetInfos.length, 1);
    assert.notEqual(await browserPid(up.home), pid);
    await until('`up` notices', () => up.printed().includes('The browser is running again.'));
    await client.close();
  }));

test('ends when its browser is unpaired, and pairs it again at the next start', async (t) => {
  const home = await temporaryFolder('up');
  t.after(home.remove);
  const unpaired = async (up) => {
    await untilReady(up);
    const env = { ...process.env, TABWIRE_HOME: home.path };
    const { stdout } = await run(TABWIRE, ['browsers', '--json'], { env });
    const [{ name }] = JSON.parse(stdout).paired;
    await run(TABWIRE, ['unpair', name], { env });
    const [code] = await once(up.child, 'exit');
    assert.equal(code, 0);
    assert.match(up.printed(), /The browser was unpaired\. .* `tabwire up`/);
    assert.ok(!existsSync(path.join(home.path, 'state.json')));
  };
  await withUp(['--browser', CHROMIUM], unpaired, { home });
  await withUp(['--browser', CHROMIUM], untilReady, { home });
});

test('reports a browser that is not installed and names the next step', () =>
  withUp(['--browser', 'no-such-browser'], async ({ child, printed }) => {
    const [code] = await once(child, 'exit');
    assert.equal(code, 1);
    assert.match(printed(), /No browser 'no-such-browser' found\. Run `tabwire browsers`/);
  }));

test('reports a browser that exits at once, and stops the relay', () =>
  withUp(['--browser', '/bin/false'], async ({ home, child, printed }) => {
    const [code] = await once(child, 'exit');
    assert.equal(code, 1);
    assert.match(printed(), /The browser exited before it could be used/);
    assert.ok(!existsSync(path.join(home.path, 'state.json')));
  }));

test('rejects the options with which `serve` launches a browser', () =>
  withUp(['--launch', 'auto', '--launch-direct'], async ({ child, printed }) => {
    const [code] = await once(child, 'exit');
    assert.equal(code, 1);
    assert.match(printed(), /Choose it with --browser, and use --direct for its debugging port\./);
  }));

/** A script that never becomes a browser, and notes a process that it has started. */
async function endlessBrowser() {
  const folder = await temporaryFolder('browser');
  const [program, file] = ['browser', 'pid'].map((name) => path.join(folder.path, name));
  await writeFile(program, `#!/bin/sh\nsleep 600 & echo $! > '${file}'; wait\n`, { mode: 0o755 });
  const pid = () =>
    until('the script has started it', async () =>
      Number(await readFile(file, 'utf8').catch(() => '')),
    );
  return { program, pid, remove: folder.remove };
}

for (const joins of [false, true]) {
  test(`Ctrl-C ends a launch in ${joins ? 'a relay that was running' : 'its own relay'}`, async (t) => {
    const browser = await endlessBrowser();
    t.after(browser.remove);
    const home = await temporaryFolder('up');
    t.after(home.remove);
    const relay = joins && (await startRelay({ home }));
    const interrupt = async ({ child }) => {
      const pid = await browser.pid();
      const started = Date.now();
      child.kill('SIGINT');
      assert.equal((await once(child, 'exit'))[0], 0);
      assert.ok(Date.now() - started < 7_500, 'it does not wait until the launch fails');
      assert.ok(!isRunning(pid));
    };
    // Ctrl-C must not stop this one, although nothing else has been launched.
    const env = { ...process.env, TABWIRE_HOME: home.path };
    const launch = ['launch', CHROMIUM, '--headless', '--json', '--', ...QUIET];
    const before = joins && JSON.parse((await run(TABWIRE, launch, { env })).stdout);
    await withUp(['--browser', browser.program], interrupt, { home });
    assert.ok(!before || isRunning(before.pid));
    await (relay && relay.stop({ keepHome: true }));
  });
}

test('leaves a browser that was running before in a relay of the same home', async (t) => {
  const home = await temporaryFolder('up');
  t.after(home.remove);
  const relay = await startRelay({ home });
  try {
    const env = { ...process.env, TABWIRE_HOME: home.path };
    const launch = ['launch', CHROMIUM, '--headless', '--json', '--', ...QUIET];
    const { pid } = JSON.parse((await run(TABWIRE, launch, { env })).stdout);
    const use = async (up) => {
      await untilReady(up);
      assert.match(up.printed(), /The browser was running before, and keeps running/);
      up.child.kill('SIGINT');
      assert.equal((await once(up.child, 'exit'))[0], 0);
      assert.ok(isRunning(pid));
    };
    await withUp(['--browser', CHROMIUM], use, { home });
  } finally {
    await relay.stop({ keepHome: true });
  }
});

// ---- beside a browser that the user has open ----

describe('beside the browser that the user has open', () => {
  const PAGES = ['/mail', '/bank', '/news'];
  let site, home, port, chromium, popup, untouched;

  before(async () => {
    site = await startSite(Object.fromEntries(PAGES.map((page) => [page, page])));
    home = await temporaryFolder('up');
    port = await freePort();
    chromium = await startChromium({ relay: { port, home }, name: 'mine' });
    await openTabs(
      { chromium },
      PAGES.map((page) => site.url(page)),
    );
    popup = await openPopup(chromium);
    await popup.headline('Not connected');
    untouched = await tabsOfUser();
  });

  after(async () => {
    await popup?.close();
    await chromium?.stop();
    await home?.remove();
    site?.stop();
  });

  const tabsOfUser = async () => ({
    tabs: await inExtension({ chromium }, async () =>
      (await chrome.tabs.query({})).map(({ id, url, active }) => ({ id, url, active })),
    ),
    attached: await attachedUrls({ chromium }),
  });

  /** A browser that starts only when `start` is called. */
  async function delayedBrowser() {
    const folder = await temporaryFolder('browser');
    const [program, signal] = ['browser', 'start'].map((name) => path.join(folder.path, name));
    const script = `while [ ! -e '${signal}' ]; do sleep 0.05; done; exec '${CHROMIUM}' "$@"`;
    await writeFile(program, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    return { program, start: () => writeFile(signal, ''), remove: folder.remove };
  }

  /** What a client of `up` sees, and that it works. */
  async function pagesOfClient(up) {
    const url = await readFile(path.join(up.home.path, 'cdp-url'), 'utf8');
    const browser = await playwright.connectOverCDP(url.trim());
    try {
      const pages = browser.contexts()[0].pages();
      return await Promise.all(pages.map((page) => page.evaluate(() => location.href)));
    } finally {
      await browser.close();
    }
  }

  test('drives its own browser, although the other one asks first', async (t) => {
    const own = await delayedBrowser();
    t.after(own.remove);
    const use = async (up) => {
      await popup.headline('Another browser is connected');
      await own.start();
      await untilReady(up);
      assert.match(
        up.printed(),
        new RegExp(`Ready: relay on 127\\.0\\.0\\.1:${port}, .* 1 tab\\.`),
      );
      await popup.explanation('It was started for that browser only.');
      assert.equal(await popup.offersThisBrowser(), false);
      assert.deepEqual(await pagesOfClient(up), ['about:blank']);
      assert.deepEqual(await tabsOfUser(), untouched);
    };
    await withUp(['--browser', own.program, '--load-by', 'flag'], use, { home, port });
  });

  test('changes nothing for a relay on another port', async () => {
    const relay = await startRelay({ home, port });
    try {
      await relay.waitForExtension();
      const status = await relay.status();
      await withUp(['--browser', CHROMIUM], async (up) => {
        await untilReady(up);
        assert.deepEqual(await pagesOfClient(up), ['about:blank']);
      });
      assert.deepEqual(await relay.status(), status);
      await popup.headline('Connected');
      assert.deepEqual(await tabsOfUser(), untouched);
    } finally {
      await relay.stop({ keepHome: true });
    }
  });

  test('uses a relay of the same home, and leaves it to the other browser at the end', async () => {
    const relay = await startRelay({ home, port });
    try {
      await relay.waitForExtension();
      const use = async (up) => {
        await untilReady(up);
        assert.match(up.printed(), new RegExp(`Using the relay on port ${port} `));
        await popup.headline('Replaced by another browser');
        assert.deepEqual(await pagesOfClient({ home }), ['about:blank']);
      };
      await withUp(['--browser', CHROMIUM], use, { home });
      await popup.headline('Connected');
      assert.deepEqual(await tabsOfUser(), untouched);
    } finally {
      await relay.stop({ keepHome: true });
    }
  });
});
