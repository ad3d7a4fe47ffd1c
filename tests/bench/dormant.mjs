/**
 * Dormant tabs: what connecting costs with many of them (`dormant_connect.mjs`), and what the first
 * command to one costs (`dormant_first_command.mjs`). This file runs both and prints the figures.
 *
 *   cargo build --release && node tests/bench/dormant.mjs [--json] [--tabs N]
 */

import './release_binary.mjs';

import { FEW, compareConnects } from './dormant_connect.mjs';
import { compareFirstCommands } from './dormant_first_command.mjs';

/** @param {number} value @param {number} digits */
const figure = (value, digits) => (Number.isNaN(value) ? 'n/a' : value.toFixed(digits));
const line = (...[name, ...cells]) =>
  console.log(name.padEnd(32) + cells.map((cell) => cell.padStart(12)).join(''));

/**
 * One line of a comparison of few and many tabs.
 * @param {string} label
 * @param {number} small
 * @param {number} large
 * @param {number} added
 */
function printComparison(label, small, large, added) {
  const ratio = Number.isNaN(large) ? '' : `${(large / small).toFixed(1)}x`;
  line(label, figure(small, 1), figure(large, 1), ratio, figure((large - small) / added, 3));
}

/** @param {Awaited<ReturnType<typeof compareConnects>>} rows @param {number} many */
function printConnects(rows, many) {
  line('milliseconds per connect', `${FEW} tabs`, `${many} tabs`, 'ratio', 'per tab');
  for (const { name, few, many: withMany } of rows) {
    for (const [key, label] of [
      ['time', name],
      ['relay', '  processor: relay'],
      ['client', '  processor: client'],
    ]) {
      if (withMany[key] !== undefined) {
        printComparison(label, few[key], withMany[key], many - FEW);
      }
    }
  }
  const [{ few, many: withMany }, , own] = rows;
  line('debuggers attached by connecting', String(few.debuggers), String(withMany.debuggers));
  line('  by Playwright to own port', String(own.few.debuggers), String(own.many.debuggers));
  line('relay memory, MB', figure(few.memory, 1), figure(withMany.memory, 1));
}

/** @param {Awaited<ReturnType<typeof compareFirstCommands>>} rows */
function printFirstCommands(rows) {
  line('milliseconds', 'first', 'attach', 'live', 'ratio', 'target', '', 'own port', 'to own');
  for (const { name, first, attach, live, ratio, target, met, ownPort, toOwn } of rows) {
    const times = [first, attach, live].map((time) => time.toFixed(2));
    line(
      name,
      ...times,
      `${ratio.toFixed(2)}x`,
      `<= ${target}x`,
      met ? 'met' : 'MISSED',
      ownPort.toFixed(2),
      `${toOwn.toFixed(2)}x`,
    );
  }
  console.log('ratio: (first - attach) / live; to own: (first - attach) / own port');
}

const many = Number(process.argv[process.argv.indexOf('--tabs') + 1]) || 500;

const firstCommands = await compareFirstCommands();
const connects = await compareConnects(many);
if (process.argv.includes('--json')) {
  console.log(JSON.stringify({ connects, firstCommands }, null, 2));
} else {
  printConnects(connects, many);
  console.log();
  printFirstCommands(firstCommands);
}
