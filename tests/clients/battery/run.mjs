/**
 * Carries out the battery with one client, through the relay or on Chromium's own port, each time in a
 * new browser. Returns an outcome: a cell per operation, which tabs were attached after connecting, and
 * what is left when the client has gone.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { isDeepStrictEqual } from 'node:util';

import { openPort } from '../../harness/command.mjs';
import { endProcess, temporaryFolder, until } from '../../harness/processes.mjs';
import { operations } from './operations.mjs';
import { mayChange } from './record.mjs';
import { differences, startScene } from './scene.mjs';

/** Only keeps a client that hangs from stopping the battery. */
const OPERATION_TIMEOUT_MS = 20_000;
/** How long a driver may take to exit. */
const EXIT_TIMEOUT_MS = 6_000;
/** How long the browser may take to settle after a client has gone. On its own port, changes stay. */
const SETTLE_TIMEOUT_MS = { relay: 6_000, 'own port': 500 };

/** The cell of an operation that was not carried out, because connecting failed. */
const NOT_CONNECTED = 'not connected';

/** Where the client finds the browser, in every form that a client may want. */
async function addressOf({ chain }, way, { usesOpenPort }) {
  if (way === 'own port') {
    const { host, port } = new URL(chain.chromium.ownUrl);
    return { ws: chain.chromium.ownUrl, http: `http://${host}`, host, port: Number(port) };
  }
  const token = await readFile(path.join(chain.relay.home.path, 'auth-token'), 'utf8');
  const http = `http://127.0.0.1:${chain.relay.port}/?token=${token.trim()}`;
  const address = { ws: chain.cdpUrl, http, home: chain.relay.home.path };
  if (!usesOpenPort) {
    return address;
  }
  const port = await openPort(chain.relay);
  return { ...address, host: `127.0.0.1:${port}`, port };
}

/** Settings that keep clients from calling home, and all files in the folder of the test. */
const environment = (client, folder, battery) => ({
  ...process.env,
  HOME: folder,
  TMPDIR: folder,
  XDG_CACHE_HOME: folder,
  XDG_CONFIG_HOME: folder,
  XDG_RUNTIME_DIR: folder,
  PYTHONDONTWRITEBYTECODE: '1',
  DO_NOT_TRACK: '1',
  ...client.env,
  TABWIRE_BATTERY: JSON.stringify(battery),
});

/** A driver as a process that takes one operation at a time. */
function startDriver({ command }, env) {
  const [program, ...args] = command;
  const child = spawn(program, args, { env, cwd: env.HOME, stdio: ['pipe', 'pipe', 'pipe'] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  let errors = '';
  child.stderr.on('data', (data) => (errors += data));
  child.stdin.on('error', () => {});
  return {
    async run(name) {
      child.stdin.write(`${name}\n`);
      let timer;
      const late = new Promise((resolve) => {
        timer = setTimeout(resolve, OPERATION_TIMEOUT_MS, { error: 'timed out', isDead: true });
      });
      const line = lines
        .next()
        .then(({ value, done }) =>
          done
            ? { error: `exited: ${errors.trim().slice(-600)}`, isDead: true }
            : JSON.parse(value),
        );
      return Promise.race([line, late]).finally(() => clearTimeout(timer));
    },
    async end() {
      child.stdin.end();
      const exited = child.exitCode === null && child.signalCode === null && once(child, 'exit');
      const timer = setTimeout(() => endProcess(child), EXIT_TIMEOUT_MS);
      await exited;
      clearTimeout(timer);
    },
    kill: () => endProcess(child, 'SIGKILL'),
  };
}

/** What a driver's line means: `ok`, `missing`, or what went wrong. */
function judge(scene, operation, { value, error, missing }) {
  if (missing) {
    return 'missing';
  }
  if (error !== undefined) {
    return error;
  }
  try {
    const actual = operation.read ? operation.read(scene, value) : value;
    const expected = operation.expected?.(scene) ?? true;
    const shown = () => `got ${JSON.stringify(actual)}, expected ${JSON.stringify(expected)}`;
    return isDeepStrictEqual(actual, expected) ? 'ok' : shown();
  } catch (unreadable) {
    return `unreadable result: ${unreadable.message}`;
  }
}

/** Without what changes from run to run, so that outcomes can be compared and kept. */
const anonymous = (scene, text) =>
  text
    .replaceAll(String(scene.site.port), 'PORT')
    .replaceAll(/token=[\w-]+/g, 'token=…')
    .replaceAll(/\b[0-9A-F]{32}\b/g, 'ID')
    .replaceAll(/\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g, 'ID')
    .split('\n')[0]
    .slice(0, 300);

/** Waits a moment for `read` to return nothing that matters, and returns what it still returns then. */
async function whatRemains(read, timeoutMs, matters = () => true) {
  let remaining = [];
  const isSettled = async () => !(remaining = await read()).some(matters);
  await until('nothing remains', isSettled, timeoutMs).catch(() => {});
  return remaining;
}

/** Carries out the operations. After one that hangs, the next goes on with a new driver. */
async function runOperations(scene, client, env, isWanted) {
  const outcome = { cells: {}, attached: undefined };
  let driver = startDriver(client, env);
  for (const operation of operations.filter(({ name }) => isWanted(name))) {
    const line = await driver.run(operation.name);
    outcome.cells[operation.name] = anonymous(scene, judge(scene, operation, line));
    if (operation.name === 'connect') {
      outcome.attached = (await scene.attached()).length;
      if (line.error) {
        break;
      }
    }
    if (line.isDead) {
      await driver.kill();
      await scene.closeOtherTabs();
      driver = startDriver(client, env);
      await driver.run('connect');
    }
  }
  await driver.end();
  for (const { name } of operations) {
    outcome.cells[name] ??= NOT_CONNECTED;
  }
  return outcome;
}

/** @param {'relay' | 'own port'} way */
async function runInScene(client, way, isWanted, options) {
  const folder = await temporaryFolder('battery');
  const scene = await startScene(options);
  try {
    const before = await scene.look();
    const address = await addressOf(scene, way, client);
    const battery = { address, site: scene.site.url(''), folder: folder.path };
    const env = environment(client, folder.path, battery);
    const outcome = await runOperations(scene, client, env, isWanted);
    const look = async () => differences(before, await scene.look());
    const changed = await whatRemains(
      look,
      SETTLE_TIMEOUT_MS[way],
      (line) => !mayChange(client, line),
    );
    const left = await whatRemains(scene.attached, SETTLE_TIMEOUT_MS[way]);
    const readable = (lines) => lines.map((line) => anonymous(scene, line));
    return { ...outcome, changed: readable(changed), left: readable(left) };
  } finally {
    await scene.stop();
    await folder.remove();
  }
}

/**
 * Some clients cannot connect to Chromium's own port while a tab is discarded. There the other operations are
 * carried out without such a tab, so that there is something to compare with.
 * @param {'relay' | 'own port'} way
 * @param {(operation: string) => boolean} [isWanted] which operations to carry out, by their names
 */
export async function runBattery(client, way, isWanted = () => true) {
  const outcome = await runInScene(client, way, isWanted);
  if (way === 'relay' || isConnected(outcome)) {
    return outcome;
  }
  const second = await runInScene(client, way, isWanted, { discards: false });
  const { connect } = outcome.cells;
  return { ...second, cells: { ...second.cells, connect } };
}

const isConnected = ({ cells }) => cells.title !== NOT_CONNECTED;
