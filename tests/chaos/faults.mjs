/** The ways in which a fault test breaks a chain of relay, extension and Chromium. */

import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';

import { EXTENSION_ID, startRelay, until } from '../harness/processes.mjs';
import { connectRaw } from '../harness/raw_client.mjs';

const isWorker = ({ type, url }) => type === 'service_worker' && url.includes(EXTENSION_ID);

/** A fault that happens as soon as the returned function is called, so that a test can measure. */
/** @typedef {() => void} Fault */

/**
 * Looks at the extension's worker through Chromium's own port, without attaching to it, which would
 * keep it alive.
 */
async function withWorker(chain, use) {
  const own = await connectRaw(chain.chromium.ownUrl);
  const targetId = await until('the worker runs', async () => {
    const { targetInfos } = await own.send('Target.getTargets');
    return targetInfos.find(isWorker)?.targetId;
  });
  return use(own, targetId);
}

/** Chrome stops the worker, as it does with one that is idle. @returns {Promise<Fault>} */
export const workerStop = (chain) =>
  withWorker(chain, (own, targetId) => () => {
    own.request('Target.closeTarget', { targetId }).finally(() => own.kill());
  });

/** The extension reloads itself, as when the user clicks on Reload. @returns {Promise<Fault>} */
export const reload = (chain) =>
  withWorker(chain, async (own, targetId) => {
    const { sessionId } = await own.send('Target.attachToTarget', { targetId, flatten: true });
    return () => {
      // Chrome does not reply any more.
      own.request('Runtime.evaluate', { expression: 'chrome.runtime.reload()' }, sessionId);
      setTimeout(() => own.kill(), 1_000).unref();
    };
  });

/**
 * The extension is updated: its folder has another version when it reloads itself.
 * @param {string} version @returns {Promise<Fault>}
 */
export async function update(chain, version) {
  const file = path.join(chain.chromium.extension, 'manifest.json');
  const manifest = JSON.parse(await readFile(file, 'utf8'));
  await writeFile(file, JSON.stringify({ ...manifest, version }));
  return reload(chain);
}

/** The extension's process dies, as by a crash. Linux only. @returns {Promise<Fault>} */
export async function workerCrash(chain) {
  const pid = await until('the extension has a process', () => extensionProcess(chain));
  return () => process.kill(pid, 'SIGKILL');
}

function extensionProcess(chain) {
  const isExtension = (pid) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('--extension-process');
    } catch {
      return false; // It has just exited.
    }
  };
  return familyOf(chain.chromium.child.pid).find(isExtension);
}

/** A process and all of its descendants. */
export function familyOf(pid) {
  const { stdout } = spawnSync('ps', ['-eo', 'pid=,ppid='], { encoding: 'utf8' });
  const pairs = stdout
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number));
  const family = [pid];
  // Grows while it is read.
  for (const parent of family) {
    family.push(...pairs.filter(([, ppid]) => ppid === parent).map(([child]) => child));
  }
  return family;
}

/** Stops processes for a while, as a machine that sleeps does. */
export async function whileAsleep(pids, run) {
  const signalAll = (signal) => {
    for (const pid of pids) {
      try {
        process.kill(pid, signal);
      } catch {
        // It has exited.
      }
    }
  };
  signalAll('SIGSTOP');
  try {
    await run();
  } finally {
    signalAll('SIGCONT');
  }
}

/** Kills the relay, as a crash would. */
export async function killRelay(chain) {
  const exited = once(chain.relay.child, 'exit');
  chain.relay.child.kill('SIGKILL');
  await exited;
}

/** Starts the relay again, with its home and its port. */
export async function startRelayAgain(chain, args) {
  const { home, port } = chain.relay;
  chain.relay = await startRelay({ home, port, args });
  chain.cdpUrl = chain.relay.cdpUrl;
}

/** The browser dies, as by a crash. @returns {Promise<Fault>} */
export const chromiumCrash = async (chain) => () => chain.chromium.child.kill('SIGKILL');

/** Starts a browser again that was killed, with its profile. */
export async function startChromiumAgain(chain) {
  await until('the browser has exited', () => chain.chromium.child.signalCode !== null);
  await chain.chromium.startAgain();
}
