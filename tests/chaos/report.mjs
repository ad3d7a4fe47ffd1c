/** The rows of the table that `make chaos` prints and writes into docs/reliability.md. */

import { appendFileSync } from 'node:fs';

/**
 * Records what a fault test measured. Does nothing in `make test`, which repeats too seldom to give figures.
 *
 * @param {{ fault: string, asked: string, measured: string, met: boolean }} row `fault` says what was done
 *   and how often, `asked` and `measured` give the same figures in the same order
 */
export function reportRow(row) {
  const file = process.env.TABWIRE_CHAOS_REPORT;
  if (file) appendFileSync(file, `${JSON.stringify(row)}\n`);
}

/** The middle and the worst of some durations in milliseconds, as the table shows them. */
export function middleAndWorst(durations) {
  const sorted = durations.toSorted((a, b) => a - b);
  const middle = sorted[Math.floor(sorted.length / 2)];
  return { middle, worst: sorted.at(-1) };
}

/** How long the next command may take after any fault. */
const MAX_HEALED_MS = 5_000;

/**
 * Records how soon something healed.
 * @param {string} fault
 * @param {{ answered: number, healed: number }[]} results How many milliseconds after each fault the last
 *   command in flight was answered, and the next command succeeded.
 * @param {number} maxAnsweredMs
 * @param {string} [end] How what was in flight ends.
 */
export function reportHealing(fault, results, maxAnsweredMs, end = 'answered') {
  const answered = middleAndWorst(results.map((result) => result.answered));
  const healed = middleAndWorst(results.map((result) => result.healed));
  const measured = [
    `${end} in ${answered.middle.toFixed(0)} ms (worst ${answered.worst.toFixed(0)} ms)`,
    `next command after ${seconds(healed.middle)} (worst ${seconds(healed.worst)})`,
  ].join(', ');
  console.log(`${fault}: ${measured}`);
  reportRow({
    fault,
    asked: `in flight ${end} in ${maxAnsweredMs} ms, next command in 5 s`,
    measured,
    met: answered.worst <= maxAnsweredMs && healed.worst <= MAX_HEALED_MS,
  });
}

const seconds = (ms) => `${(ms / 1000).toFixed(2)} s`;

/** Prints how far a long test has come. */
export function progress(what, done, total) {
  if (done % 10 === 0 && done < total) console.log(`${what}: ${done} of ${total}`);
}
