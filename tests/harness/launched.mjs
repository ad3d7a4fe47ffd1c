/**
 * Relays that launch browsers, the commands that ask them to, and the browsers, as a test finds
 * them: by the profiles in the relay's own home. Never looks at other processes.
 */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile, readdir, readlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';

import { CHROMIUM, TABWIRE, startRelay, temporaryFolder, until } from './processes.mjs';

const run = promisify(execFile);

/** Runs a command in the home of a relay. */
export const tabwire = (home, ...args) =>
  run(TABWIRE, args, { env: { ...process.env, TABWIRE_HOME: home.path, DISPLAY: '' } });

/** Runs a command that must fail, and returns its message. */
export const failing = (home, ...args) =>
  tabwire(home, ...args).then(
    () => assert.fail(`${args[0]} succeeded`),
    ({ stderr }) => stderr,
  );

/** A relay for `use`, stopped afterwards with all that it launched. Nothing temporary may be left. */
export async function withRelay(args, use) {
  const home = await temporaryFolder('launch');
  const relay = await startRelay({ home, args, env: { DISPLAY: '' } });
  try {
    await use(relay);
  } finally {
    const pids = await browserPids(home);
    await relay.stop({ keepHome: true });
    await Promise.all(pids.map(untilBrowserGone));
    assert.deepEqual(await list(path.join(home.path, 'temporary')), []);
    await home.remove();
  }
}

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

/** A program that starts Chromium. It counts how often it was started. */
export async function countedBrowser() {
  const folder = await temporaryFolder('browser');
  const [program, file] = ['chromium', 'starts'].map((name) => path.join(folder.path, name));
  const script = `#!/bin/sh\necho >> '${file}'\nexec '${CHROMIUM}' "$@"\n`;
  await writeFile(program, script, { mode: 0o755 });
  const starts = async () => (await readFile(file, 'utf8').catch(() => '')).length;
  return { program, starts, remove: folder.remove };
}

export const untilBrowserGone = (pid) =>
  until(`nothing is left of browser ${pid}`, () => !isBrowserRunning(pid));

/** Kills a browser as a crash would, with all of its processes. */
export async function killBrowser(pid) {
  process.kill(-pid, 'SIGKILL');
  await untilBrowserGone(pid);
}
