/**
 * Takes the picture in the README: a real browser window on a virtual display, with the extension's popup open while a
 * Playwright client uses two of the tabs. Run it again when the popup changes:
 *
 *   cargo build --package tabwire && node tests/picture/take.mjs
 *
 * Needs Linux, Xvfb (`sudo apt-get install xvfb`), Chromium, and port 19222, because the picture shows the default
 * address. Everything runs in temporary folders; your own browser and Tabwire's home are not touched.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import http from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

import { chromium as playwright } from 'playwright-core';

import { connectRaw } from '../harness/raw_client.mjs';
import { CHROMIUM, EXTENSION_ID, TABWIRE } from '../harness/processes.mjs';
import { toPng } from './framebuffer.mjs';
import { PAGES } from './pages.mjs';

const PICTURE = fileURLToPath(new URL('../../docs/images/tabwire.png', import.meta.url));
const PORT = 19222;
/** Wide enough for the popup not to cover the debugging notice, which is centered. */
const [WIDTH, HEIGHT] = [1400, 680];
const IN_USE = ['shop.localhost', 'mail.localhost'];
/** The popup draws once more when its tab list arrives. */
const SETTLE_MS = 1_500;
const TIMEOUT_MS = 20_000;

/** @type {(() => Promise<unknown>)[]} In the order in which things were started. */
const cleanUp = [];

/** @param {string} command @param {string[]} args @param {import('node:child_process').SpawnOptions} [options] */
function start(command, args, options) {
  const child = spawn(command, args, options);
  const exited = once(child, 'exit');
  cleanUp.push(async () => {
    child.kill();
    await exited;
  });
  return child;
}

/** @template T @param {string} what @param {() => Promise<T>} probe @returns {Promise<NonNullable<T>>} */
async function waitFor(what, probe) {
  for (const deadline = Date.now() + TIMEOUT_MS; Date.now() < deadline; await delay(50)) {
    const found = await probe().catch(() => undefined);
    if (found) {
      return found;
    }
  }
  throw new Error(`Timed out waiting for ${what}.`);
}

async function startDisplay(folder) {
  const screen = ['-screen', '0', `${WIDTH}x${HEIGHT}x24`, '-nocursor', '-nolisten', 'tcp'];
  const display = start('Xvfb', ['-displayfd', '1', '-fbdir', folder, ...screen], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const [number] = await once(display.stdout, 'data');
  return `:${String(number).trim()}`;
}

async function startSites() {
  const server = http.createServer((request, response) => {
    const name = request.headers.host?.split(':')[0] ?? '';
    const isPage = request.url === '/' && Object.hasOwn(PAGES, name);
    response.writeHead(isPage ? 200 : 404, { 'content-type': 'text/html; charset=utf-8' });
    response.end(isPage ? PAGES[name] : '');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  cleanUp.push(async () => server.closeAllConnections() ?? server.close());
  return server.address().port;
}

async function startRelay(home) {
  const env = { ...process.env, TABWIRE_HOME: home };
  start(TABWIRE, ['serve', '--port', String(PORT)], { env, stdio: 'ignore' });
  return waitFor(`the relay; is port ${PORT} free?`, () =>
    readFile(path.join(home, 'cdp-url'), 'utf8'),
  );
}

/** The extension as a person installs it, pinned to the toolbar. */
async function startBrowser({ folder, home, display, sitesPort }) {
  const [extension, profile] = [path.join(folder, 'extension'), path.join(folder, 'profile')];
  const install = start(TABWIRE, ['install-extension', '--to', extension, '--no-welcome'], {
    env: { ...process.env, TABWIRE_HOME: home },
    stdio: 'ignore',
  });
  await once(install, 'exit');
  const preferences = {
    extensions: { pinned_extensions: [EXTENSION_ID] },
    signin: { allowed: false, allowed_on_next_startup: false },
  };
  await mkdir(path.join(profile, 'Default'), { recursive: true });
  await writeFile(path.join(profile, 'Default/Preferences'), JSON.stringify(preferences));
  const rules = Object.keys(PAGES).map((name) => `MAP ${name} 127.0.0.1:${sitesPort}`);
  const browser = start(
    CHROMIUM,
    [
      `--user-data-dir=${profile}`,
      `--load-extension=${extension}`,
      '--disable-features=DisableLoadExtensionCommandLineSwitch',
      '--remote-debugging-port=0',
      `--host-resolver-rules=${rules.join(',')}`,
      `--window-size=${WIDTH + 1},${HEIGHT + 1}`,
      '--window-position=0,0',
      '--no-first-run',
      '--disable-background-networking',
      ...(process.getuid?.() === 0 ? ['--no-sandbox', '--test-type'] : []),
      ...Object.keys(PAGES).map((name) => `http://${name}/`),
    ],
    { env: { ...process.env, DISPLAY: display }, stdio: ['ignore', 'ignore', 'pipe'] },
  );
  let log = '';
  browser.stderr.on('data', (data) => (log += data));
  return waitFor('Chromium', async () => /DevTools listening on (ws:\S+)/.exec(log)?.[1]);
}

/** Opens the popup as a click on the extension's button would. */
async function openPopup(ownUrl) {
  const client = await connectRaw(ownUrl);
  const { targetInfos } = await client.send('Target.getTargets');
  const { targetId } = targetInfos.find(
    ({ type, url }) => type === 'service_worker' && url.includes(EXTENSION_ID),
  );
  const { sessionId } = await client.send('Target.attachToTarget', { targetId, flatten: true });
  const { exceptionDetails } = await client.send(
    'Runtime.evaluate',
    { expression: 'chrome.action.openPopup()', awaitPromise: true },
    sessionId,
  );
  if (exceptionDetails) {
    throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
  }
  return client;
}

async function takePicture(folder) {
  const display = await startDisplay(folder);
  const home = path.join(folder, 'home');
  const cdpUrl = await startRelay(home);
  const ownUrl = await startBrowser({ folder, home, display, sitesPort: await startSites() });
  await waitFor('all tabs', async () => {
    const status = await (await fetch(`http://127.0.0.1:${PORT}/`)).json();
    return status.extension && status.targets === Object.keys(PAGES).length;
  });
  const agent = await playwright.connectOverCDP(cdpUrl.trim(), {
    headers: { 'X-Tabwire-Client': 'Claude Code' },
  });
  for (const name of IN_USE) {
    const page = agent
      .contexts()[0]
      .pages()
      .find((open) => open.url().includes(name));
    await page.locator('h1').waitFor();
  }
  const client = await openPopup(ownUrl);
  await delay(SETTLE_MS);
  await writeFile(PICTURE, toPng(await readFile(path.join(folder, 'Xvfb_screen0'))));
  await client.close();
  await agent.close();
}

const folder = await mkdtemp(path.join(tmpdir(), 'tabwire-picture-'));
cleanUp.push(() => rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 }));
try {
  await takePicture(folder);
  console.log(`Wrote ${path.relative(process.cwd(), PICTURE)}`);
} finally {
  for (const end of cleanUp.reverse()) {
    await end();
  }
}
