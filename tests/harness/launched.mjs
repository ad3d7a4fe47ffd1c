/**
 * The browsers that a relay has launched, as a test finds them: by the profiles in the relay's own
 * home. Never looks at other processes.
 */

import assert from 'node:assert/strict';
import { readFile, readdir, readlink } from 'node:fs/promises';
import path from 'node:path';

import { until } from './processes.mjs';

const list = (folder) => readdir(folder).catch(() => []);

/** The process ids of the browsers that have opened a profile in this home, running or not. */
export async function browserPids(home) {
  const pids = [];
  for (const kind of ['launched', 'temporary']) {
    for (const name of await list(path.join(home.path, kind))) {
      const lock = path.join(home.path, kind, name, 'profile/SingletonLock');
      const link = await readlink(lock).catch(() => '');
      const pid = Number(link.split('-').at(-1));
      if (pid > 0) {
        pids.push(pid);
      }
    }
  }
  return pids;
}

/** Whether a process is left of a browser. Each browser is a process group of its own. */
export function isBrowserRunning(pid) {
  try {
    process.kill(-pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** The browsers of this home that are running. */
export const runningBrowsers = async (home) => (await browserPids(home)).filter(isBrowserRunning);

/** The one browser that is running in this home. */
export const browserPid = (home) =>
  until('one browser is running', async () => {
    const running = await runningBrowsers(home);
    return running.length === 1 && running[0];
  });

/**
 * Checks that the relay has noted what a browser with a temporary profile executes, and not a script
 * that started it. Only Linux shows that.
 */
export async function assertExecutableNoted(home, pid) {
  if (process.platform !== 'linux') {
    return;
  }
  const [name] = await list(path.join(home.path, 'temporary'));
  const noted = await readFile(path.join(home.path, 'temporary', name, 'process.json'), 'utf8');
  assert.equal(JSON.parse(noted).executable, await readlink(`/proc/${pid}/exe`));
}

export const untilBrowserGone = (pid) =>
  until(`nothing is left of browser ${pid}`, () => !isBrowserRunning(pid));

/** Kills a browser as a crash would, with all of its processes. */
export async function killBrowser(pid) {
  process.kill(-pid, 'SIGKILL');
  await untilBrowserGone(pid);
}
