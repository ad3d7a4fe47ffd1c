/** What the benchmarks make of their measurements, and what Linux tells of a process. */

import { readdir, readFile } from 'node:fs/promises';

/** @param {number[]} values */
export function median(values) {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];
}

/** Milliseconds that a process has had a processor, with all its threads; `NaN` where it cannot be told. @param {number} pid */
export async function processorTime(pid) {
  const threads = await readdir(`/proc/${pid}/task`).catch(() => []);
  const times = await Promise.all(
    threads.map((thread) =>
      readFile(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').catch(() => 'NaN'),
    ),
  );
  return times.length === 0
    ? NaN
    : times.reduce((sum, text) => sum + Number(text.split(' ')[0]), 0) / 1e6;
}

/** Megabytes of memory that a process has; `NaN` where it cannot be told. @param {number} pid */
export async function residentMemory(pid) {
  const text = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  return Number(/VmRSS:\s+(\d+) kB/.exec(text)?.[1] ?? NaN) / 1024;
}
