/** Starting the real programs of a test, each in a folder of its own, and ending exactly those again. */

import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');

/** The binary under test: `TABWIRE_BIN`, or the debug build. */
export const TABWIRE =
  process.env.TABWIRE_BIN ??
  path.join(process.env.CARGO_TARGET_DIR ?? path.join(root, 'target'), 'debug/tabwire');
export const EXTENSION_DIR = path.join(root, 'extension');
export const FIXTURES_DIR = path.join(root, 'fixtures');
export const EXTENSION_ID = /EXTENSION_ID: &str = "(\w+)"/.exec(
  await readFile(path.join(root, 'relay/src/browser/bundle.rs'), 'utf8'),
)[1];

/** A new folder that goes with the test. */
export async function temporaryFolder(name) {
  const folder = await mkdtemp(path.join(tmpdir(), `tabwire-${name}-`));
  return {
    path: folder,
    remove: () => rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 }),
  };
}

/** Waits until `probe` gives something; an event to wait for is better where there is one. */
export async function until(what, probe, withinMs = 15_000) {
  const deadline = Date.now() + withinMs;
  for (;;) {
    const found = await probe();
    if (found) {
      return found;
    }
    if (Date.now() > deadline) {
      throw new Error(`not within ${withinMs} ms: ${what}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Whether a process is there; one that has ended and waits to be noticed is not. */
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

/** `tabwire serve` on a free port, in a home of its own. */
export async function startRelay({ args = [], home: given, port = 0, env = {} } = {}) {
  const home = given ?? (await temporaryFolder('home'));
  const child = spawn(TABWIRE, ['serve', '--port', String(port), ...args], {
    env: { ...process.env, TABWIRE_HOME: home.path, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let log = '';
  child.stdout.on('data', (data) => (log += data));
  child.stderr.on('data', (data) => (log += data));
  const relay = {
    home,
    child,
    log: () => log,
    port: 0,
    cdpUrl: '',
    async stop({ keepHome = false } = {}) {
      await endProcess(relay.child);
      if (!keepHome) {
        await home.remove();
      }
    },
    /** `GET /`, as anyone may. */
    status: async () => (await fetch(`http://127.0.0.1:${relay.port}/`)).json(),
  };
  const stateFile = path.join(home.path, 'state.json');
  await until(`the relay starts: ${log}`, () => {
    if (child.exitCode !== null) {
      throw new Error(`the relay ended: ${log}`);
    }
    return existsSync(stateFile) && log.includes('Ctrl-C to stop');
  });
  relay.port = JSON.parse(await readFile(stateFile, 'utf8')).port;
  relay.cdpUrl = (await readFile(path.join(home.path, 'cdp-url'), 'utf8').catch(() => '')).trim();
  return relay;
}

/** The extension as a person installs it, pointed at a relay's port. */
export async function installExtension(port) {
  const folder = await temporaryFolder('extension');
  const child = spawn(TABWIRE, ['install-extension', '--to', folder.path, '--port', String(port)], {
    stdio: 'ignore',
  });
  const [code] = await once(child, 'exit');
  if (code !== 0) {
    throw new Error(`install-extension ended with ${code}`);
  }
  return folder;
}

/** Finds Debian's Chromium, or what `CHROMIUM` names. */
export const CHROMIUM =
  process.env.CHROMIUM ??
  ['/usr/bin/chromium', '/Applications/Chromium.app/Contents/MacOS/Chromium'].find(existsSync);

/**
 * A real headless Chromium with the extension. Its own debugging port is open too, for what only a test may know: the
 * state inside the extension, and how Chrome itself would answer. `extensions` are folders of others to load beside ours.
 */
export async function startChromium({ relayPort, args = [], extensions = [] }) {
  const profile = await temporaryFolder('profile');
  const extension = relayPort === undefined ? undefined : await installExtension(relayPort);
  const withExtension = extension
    ? [
        `--load-extension=${[extension.path, ...extensions].join(',')}`,
        '--disable-features=DisableLoadExtensionCommandLineSwitch',
      ]
    : [];
  const child = spawn(
    CHROMIUM,
    [
      '--headless=new',
      `--user-data-dir=${profile.path}`,
      '--remote-debugging-port=0',
      ...withExtension,
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      ...(process.getuid?.() === 0 ? ['--no-sandbox'] : []),
      ...args,
      'about:blank',
    ],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  );
  let log = '';
  const ownUrl = await new Promise((resolve, reject) => {
    child.stderr.on('data', (data) => {
      log += data;
      const found = /DevTools listening on (ws:\/\/\S+)/.exec(log);
      if (found) {
        resolve(found[1]);
      }
    });
    child.once('exit', (code) => reject(new Error(`Chromium ended with ${code}: ${log}`)));
  });
  return {
    child,
    profile,
    /** Chromium's own debugging port. */
    ownUrl,
    async stop() {
      await endProcess(child);
      await profile.remove();
      await extension?.remove();
    },
  };
}

/** Relay and Chromium, joined by the extension. */
export async function startChain(options = {}) {
  const relay = await startRelay(options);
  const chromium = await startChromium({
    relayPort: relay.port,
    args: options.chromiumArgs,
    extensions: options.extensions,
  });
  await until('the extension connects', async () => (await relay.status()).extension);
  return {
    relay,
    chromium,
    cdpUrl: relay.cdpUrl,
    async stop() {
      await chromium.stop();
      await relay.stop();
    },
  };
}
