/** What benchmarks do with their measurements. */

/** @param {number[]} values */
export function median(values) {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];
}

/** @param {() => Promise<unknown>} run @returns {Promise<number>} milliseconds */
export async function timed(run) {
  const started = performance.now();
  await run();
  return performance.now() - started;
}
