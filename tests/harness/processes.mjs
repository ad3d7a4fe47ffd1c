/** Starts the real programs of a test, each with a folder of its own, and stops exactly those. */

import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import net from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual } from 'node:util';

export const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
const TARGET_DIR = process.env.CARGO_TARGET_DIR ?? path.join(ROOT, 'target');

/** The binary under test: `TABWIRE_BIN`, or the debug build. */
export const TABWIRE = process.env.TABWIRE_BIN ?? path.join(TARGET_DIR, 'debug/tabwire');
/** The Python that `make python` installs Playwright into. */
export const PYTHON = path.join(TARGET_DIR, 'python/bin/python');
const EXTENSION_DIR = path.join(ROOT, 'extension');
export const FIXTURES_DIR = path.join(ROOT, 'fixtures');
/** Debian's Chromium, or the browser that `CHROMIUM` names. */
export const CHROMIUM =
  process.env.CHROMIUM ??
  ['/usr/bin/chromium', '/Applications/Chromium.app/Contents/MacOS/Chromium'].find(existsSync);

/**
 * Chrome derives an extension's id from its public key: the first 16 bytes of the hash, in the
 * letters a to p.
 */
export const EXTENSION_ID = (() => {
  const manifest = JSON.parse(readFileSync(path.join(EXTENSION_DIR, 'manifest.json'), 'utf8'));
  const hash = createHash('sha256').update(Buffer.from(manifest.key, 'base64')).digest('hex');
  return hash
    .slice(0, 32)
    .replace(/./g, (digit) => String.fromCharCode(97 + Number.parseInt(digit, 16)));
})();

/** A new folder, and a function that removes it. */
export async function temporaryFolder(name) {
  const folder = await mkdtemp(path.join(tmpdir(), `tabwire-${name}-`));
  return {
    path: folder,
    remove: () => rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 }),
  };
}

/**
 * Polls until `probe` returns a truthy value and returns it. Prefer waiting for an event where
 * there is one. The timeout only keeps a failing test from hanging; no test may rely on its length.
 */
export async function until(what, probe, timeoutMs = 15_000) {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    const found = await probe();
    if (found) {
      return found;
    }
    if (Date.now() > deadline) {
      throw new Error(`timed out after ${timeoutMs} ms waiting until ${what}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/**
 * Polls until `probe` returns a value deeply equal to `expected`, and fails with the difference.
 */
export async function untilEqual(what, probe, expected) {
  let last;
  const isEqual = async () => isDeepStrictEqual((last = await probe()), expected);
  await until(what, isEqual).catch(() => assert.deepEqual(last, expected, what));
}

/** Whether a process is running. A zombie is not. */
export function isRunning(pid) {
  const { stdout } = spawnSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' });
  return stdout.trim() !== '' && !stdout.startsWith('Z');
}

export async function endProcess(child, signal = 'SIGTERM') {
  if (child.exitCode !== null || child.signalCode !== null) {
    return;
  }
  const exited = once(child, 'exit');
  child.kill(signal);
  const killer = setTimeout(() => child.kill('SIGKILL'), 8_000);
  await exited;
  clearTimeout(killer);
}

/** Collects everything a child prints. */
export function capture(child) {
  let text = '';
  child.stdout?.on('data', (data) => (text += data));
  child.stderr?.on('data', (data) => (text += data));
  return () => text;
}

/** A port that no program is using, for one that starts later. */
export async function freePort() {
  const server = net.createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}

/** `tabwire serve` on a free port, with its own home. */
export async function startRelay({ args = [], home: given, port = 0, env = {} } = {}) {
  const home = given ?? (await temporaryFolder('home'));
  const child = spawn(TABWIRE, ['serve', '--port', String(port), ...args], {
    env: { ...process.env, TABWIRE_HOME: home.path, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const log = capture(child);
  const state = await until('the relay has started', async () => {
    if (child.exitCode !== null) {
      throw new Error(`the relay exited with ${child.exitCode}: ${log()}`);
    }
    const text = await readFile(path.join(home.path, 'state.json'), 'utf8').catch(() => '{}');
    // A relay that was killed may have left its file behind.
    return JSON.parse(text).pid === child.pid && JSON.parse(text);
  });
  const cdpUrl = await readFile(path.join(home.path, 'cdp-url'), 'utf8').catch(() => '');
  return {
    home,
    child,
    log,
    port: state.port,
    cdpUrl: cdpUrl.trim(),
    ...statusOf(state.port),
    async stop({ keepHome = false } = {}) {
      await endProcess(child);
      if (!keepHome) {
        await home.remove();
      }
    },
  };
}

/** What a relay's public status shows, and waiting for it. */
function statusOf(port) {
  const status = async () => (await fetch(`http://127.0.0.1:${port}/`)).json();
  return {
    status,
    waitForClients: (count) =>
      until(`${count} clients are connected`, async () => (await status()).clients === count),
    /** Chrome may take half a minute to restart a service worker that was stopped. */
    waitForExtension: (isConnected = true) =>
      until(
        `the extension is ${isConnected ? 'connected' : 'disconnected'}`,
        async () => (await status()).extension === isConnected,
        45_000,
      ),
  };
}

/**
 * The extension as a user installs it, paired with the relay that has this home, and without the
 * tab that welcomes a user. `name` is what the browser will be called.
 */
async function installExtension({ port, home }, name) {
  const folder = await temporaryFolder('extension');
  const args = ['install-extension', '--to', folder.path, '--port', String(port), '--no-welcome'];
  if (name) {
    args.push('--name', name);
  }
  const child = spawn(TABWIRE, args, {
    env: { ...process.env, TABWIRE_HOME: home.path },
    stdio: 'ignore',
  });
  const [code] = await once(child, 'exit');
  if (code !== 0) {
    throw new Error(`install-extension exited with ${code}`);
  }
  return folder;
}

/** A copy of the extension with this content of `pairing.json`, for tests without a real relay. */
export async function copyExtension(pairing) {
  const folder = await temporaryFolder('extension');
  await cp(EXTENSION_DIR, folder.path, { recursive: true });
  const pair = (content) =>
    writeFile(path.join(folder.path, 'pairing.json'), JSON.stringify(content));
  await pair(pairing);
  return { ...folder, pair };
}

const chromiumArgs = ({ profile, extensions, args }) => [
  '--headless=new',
  `--user-data-dir=${profile.path}`,
  '--remote-debugging-port=0',
  ...(extensions.length === 0
    ? []
    : [
        `--load-extension=${extensions.join(',')}`,
        '--disable-features=DisableLoadExtensionCommandLineSwitch',
      ]),
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  ...(process.getuid?.() === 0 ? ['--no-sandbox'] : []),
  ...args,
  'about:blank',
];

/** Resolves with the address that Chromium prints for its debugging port. */
function debuggingUrl(child, log) {
  return new Promise((resolve, reject) => {
    child.stderr.on('data', () => {
      const url = /DevTools listening on (ws:\/\/\S+)/.exec(log())?.[1];
      if (url) {
        resolve(url);
      }
    });
    child.once('exit', (code) => reject(new Error(`Chromium exited with ${code}: ${log()}`)));
  });
}

/**
 * The download folder, because tests would otherwise fill the one of whoever runs them, and the
 * developer mode that a user needs for an unpacked extension. Without it, a reload turns it off.
 */
async function writePreferences(profile, folder) {
  await mkdir(path.join(profile, 'Default'));
  const preferences = {
    download: { default_directory: folder },
    extensions: { ui: { developer_mode: true } },
  };
  await writeFile(path.join(profile, 'Default/Preferences'), JSON.stringify(preferences));
}

/**
 * A real headless Chromium, with the extension if a relay is given. Its own debugging port is open
 * too, for what only a test may see: state inside the extension, and how Chrome itself behaves.
 * `extensions` are folders of further extensions to load. The relay need not be running: its port
 * and home suffice. `prepare` gets the folder of the browser's profiles before it starts.
 */
export async function startChromium({ relay, name, args = [], extensions = [], prepare } = {}) {
  const profile = await temporaryFolder('profile');
  const downloads = path.join(profile.path, 'Downloads');
  await writePreferences(profile.path, downloads);
  await prepare?.(profile.path);
  const installed = relay && (await installExtension(relay, name));
  const folders = installed ? [installed.path, ...extensions] : extensions;
  const start = async () => {
    const child = spawn(CHROMIUM, chromiumArgs({ profile, extensions: folders, args }), {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    return { child, ownUrl: await debuggingUrl(child, capture(child)) };
  };
  const chromium = {
    profile,
    /** The user's download folder. Chromium creates it. */
    downloads,
    /** The folder of Tabwire's extension. */
    extension: installed?.path,
    /** The browser's process, and Chromium's own debugging port. */
    ...(await start()),
    /** Starts the browser again, with the same profile, after it was killed. */
    async startAgain() {
      Object.assign(chromium, await start());
    },
    async stop() {
      await endProcess(chromium.child);
      await profile.remove();
      await installed?.remove();
    },
  };
  return chromium;
}

/** A relay and a Chromium, connected by the extension. */
export async function startChain(options = {}) {
  const relay = await startRelay(options);
  const chromium = await startChromium({
    relay,
    args: options.chromiumArgs,
    extensions: options.extensions,
  });
  await relay.waitForExtension();
  const chain = {
    /** A test that restarts the relay replaces it here. */
    relay,
    chromium,
    cdpUrl: relay.cdpUrl,
    async stop() {
      await chromium.stop();
      await chain.relay.stop();
    },
  };
  return chain;
}
