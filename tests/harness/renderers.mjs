/** The processes that run pages, for tests that stop them. */

import { readdirSync, readFileSync } from 'node:fs';

import { asPerson } from './chain.mjs';

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
  return readdirSync('/proc').filter((name) => /^\d+$/.test(name) && isRenderer(name)).map(Number);
}

/** The process that runs the page at this path: the one without which it does not answer, and with which it does. */
export function rendererOf(chain, path) {
  return asPerson(chain, async (_, own) => {
    const page = own.pages().find((page) => page.url().endsWith(path));
    const answers = () => Promise.race([page.evaluate(() => true), new Promise((resolve) => setTimeout(resolve, 1_000, false))]);
    await page.evaluate(() => true);
    for (const pid of renderers(chain)) {
      process.kill(pid, 'SIGSTOP');
      const isSilent = !(await answers());
      process.kill(pid, 'SIGCONT');
      await page.evaluate(() => true);
      if (isSilent) {
        return pid;
      }
    }
    throw new Error(`no renderer of ${path}`);
  });
}
