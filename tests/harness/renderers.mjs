/** The processes that run pages, for tests that stop them. */

import { readdirSync, readFileSync } from 'node:fs';

import { asPerson } from './chain.mjs';
import { until } from './processes.mjs';

/** Why tests that stop a renderer are left out. */
export const skip = process.platform === 'linux' ? false : 'processes are looked up in /proc';

function renderers(chain) {
  const isRenderer = (pid) => {
    try {
      const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8');
      return command.includes('--type=renderer') && command.includes(chain.chromium.profile.path);
    } catch {
      return false; // It has just ended.
    }
  };
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && isRenderer(name))
    .map(Number);
}

/** The process that runs the page or frame at this path: the one without which it does not answer, and with which it does. */
export function rendererOf(chain, path) {
  return asPerson(chain, async (_, own) => {
    const frames = () => own.pages().flatMap((page) => page.frames());
    const frame = await until(`${path} is there`, () =>
      frames().find((frame) => frame.url().endsWith(path)),
    );
    const answers = () =>
      Promise.race([
        frame.evaluate(() => true),
        new Promise((resolve) => setTimeout(resolve, 1_000, false)),
      ]);
    await frame.evaluate(() => true);
    for (const pid of renderers(chain)) {
      process.kill(pid, 'SIGSTOP');
      const isSilent = !(await answers());
      process.kill(pid, 'SIGCONT');
      await frame.evaluate(() => true);
      if (isSilent) {
        return pid;
      }
    }
    throw new Error(`no renderer of ${path}`);
  });
}

/** Stops a process for as long as `run` takes, which may let it go on before. */
export async function whileStopped(pid, run) {
  process.kill(pid, 'SIGSTOP');
  try {
    await run(() => process.kill(pid, 'SIGCONT'));
  } finally {
    process.kill(pid, 'SIGCONT');
  }
}
