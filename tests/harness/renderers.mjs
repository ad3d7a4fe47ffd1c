/** Finds and stops the renderer process of a page, for tests of pages that do not respond. */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';

import { onOwnPort } from './chain.mjs';
import { residentMemory } from './process_stats.mjs';
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

/** Far more than a renderer's memory grows by itself. */
const MARK_MB = 256;

/**
 * The process that runs the page or frame at this path. CDP does not report it, so the frame fills
 * a large buffer, and the renderer that grows by its size is the one.
 */
export function rendererOf(chain, path) {
  return onOwnPort(chain, async (_browser, context) => {
    const frames = () => context.pages().flatMap((page) => page.frames());
    const frame = await until(`${path} is open`, () =>
      frames().find((candidate) => candidate.url().endsWith(path)),
    );
    const pids = renderers(chain);
    const before = await Promise.all(pids.map((pid) => residentMemory(pid)));
    await frame.evaluate((megabytes) => {
      window.mark = new Uint8Array(megabytes << 20).fill(1);
    }, MARK_MB);
    const after = await Promise.all(pids.map((pid) => residentMemory(pid)));
    // Frees the memory at once. Otherwise it could be freed during the next search, and hide that
    // growth.
    await frame.evaluate(() => void window.mark.buffer.transfer(0));
    const grown = pids.filter((_pid, index) => after[index] - before[index] > MARK_MB / 2);
    assert.equal(grown.length, 1, `exactly one renderer runs ${path}`);
    return grown[0];
  });
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
