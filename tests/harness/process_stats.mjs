/**
 * What Linux reports about a process: processor time and memory. Values are `NaN` where /proc is
 * not available.
 */

import { readdir, readFile } from 'node:fs/promises';

/**
 * Milliseconds of processor time that a process has used, over all its threads.
 * @param {number} pid
 */
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

/**
 * Megabytes: `VmRSS` is resident now, `VmHWM` the peak.
 * @param {number} pid
 * @param {'VmRSS' | 'VmHWM'} field
 */
export async function residentMemory(pid, field = 'VmRSS') {
  const text = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  return Number(new RegExp(`${field}:\\s+(\\d+) kB`).exec(text)?.[1] ?? NaN) / 1024;
}
