/** Finds and stops the renderer process of a page, for tests of pages that do not respond. */

import { readdirSync, readFileSync } from 'node:fs';

import { onOwnPort } from './chain.mjs';
import { processorTime } from './process_stats.mjs';
import { until } from './processes.mjs';

/** Why tests that stop a renderer are skipped on other systems. */
export const skip = process.platform === 'linux' ? false : 'needs /proc to find renderer processes';

function renderers(chain) {
  const isRenderer = (pid) => {
    try {
      const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8');
      return command.includes('--type=renderer') && command.includes(chain.chromium.profile.path);
    } catch {
      return false; // It has just exited.
    }
  };
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && isRenderer(name))
    .map(Number);
}

/**
 * The process that runs the page or frame at this path. CDP does not report it, so the frame is made to compute, and the
 * renderer that uses the most processor time meanwhile is the one.
 */
export function rendererOf(chain, path) {
  return onOwnPort(chain, async (_browser, context) => {
    const frames = () => context.pages().flatMap((page) => page.frames());
    const frame = await until(`${path} is open`, () =>
      frames().find((candidate) => candidate.url().endsWith(path)),
    );
    const pids = renderers(chain);
    const before = await Promise.all(pids.map(processorTime));
    await frame.evaluate(compute);
    const after = await Promise.all(pids.map(processorTime));
    const used = pids.map((_pid, index) => after[index] - before[index] || 0);
    return pids[used.indexOf(Math.max(...used))];
  });
}

/** Runs in the page. It takes a few hundred milliseconds of processor time; an idle renderer uses next to none. */
function compute() {
  let sum = 0;
  for (let n = 0; n < 50_000_000; n += 1) {
    sum = (sum * 31 + n) % 1_000_003;
  }
  return sum;
}

/** Stops a process while `run` runs. `run` may resume it earlier with the function it receives. */
export async function whileStopped(pid, run) {
  process.kill(pid, 'SIGSTOP');
  try {
    await run(() => process.kill(pid, 'SIGCONT'));
  } finally {
    process.kill(pid, 'SIGCONT');
  }
}
