/**
 * The core and everything that parses bytes, without a process around them: random simulations and the
 * fuzz targets, for as long as `make chaos` has. `cargo test` runs 400 simulations, and repeats the
 * inputs that fuzzing has found.
 */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';

import { capture, ROOT } from '../harness/processes.mjs';
import { IS_FULL } from './counts.mjs';
import { reportRow } from './report.mjs';

const SEEDS = 100_000;
const SECONDS = 60;
const TARGETS = [
  'core_client',
  'core_extension',
  'handshake',
  'http_guard',
  'websocket_read',
  'websocket_write',
];
const OPTIONS = { skip: !IS_FULL, timeout: 3_600_000 };

async function cargo(args, { cwd = ROOT, env = {} } = {}) {
  const child = spawn('cargo', args, { cwd, env: { ...process.env, ...env } });
  const output = capture(child);
  const [code] = await once(child, 'close');
  assert.equal(code, 0, output());
  return output();
}

test(`${SEEDS} simulations of the core`, OPTIONS, async () => {
  const args = ['test', '--profile', 'chaos', '--package', 'tabwire-core', '--lib', 'any_order'];
  const output = await cargo(args, { env: { TABWIRE_SEEDS: String(SEEDS) } });
  const [, seconds] = output.match(/ok\. 1 passed.* finished in ([\d.]+)s/);
  reportRow({
    fault: `${SEEDS} simulations of the core`,
    asked: 'no promise broken',
    measured: `none broken, in ${Math.round(Number(seconds))} s`,
    met: true,
  });
});

for (const target of TARGETS) {
  test(`${target} is fuzzed for ${SECONDS} seconds`, OPTIONS, async () => {
    await mkdir(path.join(ROOT, 'fuzz/corpus', target), { recursive: true });
    const folders = ['corpus', 'seeds'].map((folder) => path.join(folder, target));
    const limits = [`-max_total_time=${SECONDS}`, '-print_final_stats=1'];
    const args = ['fuzz', 'run', '--sanitizer', 'none', target, ...folders, '--', ...limits];
    const output = await cargo(args, {
      cwd: path.join(ROOT, 'fuzz'),
      env: { RUSTC_BOOTSTRAP: '1' },
    });
    const [, inputs] = output.match(/number_of_executed_units: ([1-9]\d*)/);
    reportRow({
      fault: `fuzzing ${target} for ${SECONDS} s`,
      asked: 'no crash, no broken promise',
      measured: `none in ${inputs} inputs`,
      met: true,
    });
  });
}
