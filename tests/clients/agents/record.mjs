/** The record of the last comparison, what it must show, and the tables in docs/agents.md that show it. */

import { readFileSync, writeFileSync } from 'node:fs';

import { format } from 'prettier';

import { KEYS, SERVERS } from './servers.mjs';

const FILE = new URL('results.json', import.meta.url);
const DOCUMENT = new URL('../../../docs/agents.md', import.meta.url);
const [BEGIN, END] = ['<!-- comparison: begin -->', '<!-- comparison: end -->'];
const [OURS, ...PEERS] = KEYS;

export const readRecord = () => JSON.parse(readFileSync(FILE, 'utf8'));

export async function writeRecord(record) {
  const text = await format(JSON.stringify(record), { parser: 'json', printWidth: 100 });
  writeFileSync(FILE, text);
}

const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);
const totalOf = ({ tasks }, key, figure) =>
  sum(Object.values(tasks).map((task) => task[key][figure]));

/** Where a peer is better, or something is missing in our snapshots: lines to show. */
export function shortcomings(record) {
  const { tools, pages, tasks } = record;
  const sizes = [
    ['tool list', tools],
    ...Object.entries(pages),
    ['all tasks', byServer((key) => ({ characters: totalOf(record, key, 'characters') }))],
  ];
  const larger = sizes.flatMap(([name, row]) =>
    PEERS.filter((key) => row[key].characters < row[OURS].characters).map(
      (key) => `${name}: ${row[key].characters} characters with ${SERVERS[key].name}`,
    ),
  );
  const missing = Object.entries(pages).flatMap(([name, row]) =>
    [...row[OURS].missing.elements, ...row[OURS].missing.texts].map(
      (what) => `${name}: no ${what}`,
    ),
  );
  const shown = Object.entries(tasks).filter(([, row]) => row[OURS].showsSecret);
  return [...larger, ...missing, ...shown.map(([name]) => `${name}: shows the secret`)];
}

const byServer = (measure) => Object.fromEntries(KEYS.map((key) => [key, measure(key)]));
const number = (value) => value.toLocaleString('en-US');
const seconds = (ms) => (ms / 1_000).toFixed(1);

/** Numbers to the right, everything else to the left. */
function renderRows(rows) {
  const widths = rows[0].map((_cell, column) =>
    Math.max(4, ...rows.map((row) => row[column].length)),
  );
  const pad = (cell, column) =>
    column === 0 ? cell.padEnd(widths[column]) : cell.padStart(widths[column]);
  const line = (cells) => `| ${cells.map(pad).join(' | ')} |`;
  const rule = widths.map((width, column) =>
    column === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`,
  );
  return [line(rows[0]), line(rule), ...rows.slice(1).map(line)];
}

/** The text that a snapshot lacks is said below the table. */
function renderSizes({ servers, tools, pages }) {
  const notes = [];
  const size = (name, key, { characters, missing }) => {
    const lost = missing && [...missing.elements, ...missing.texts];
    if (!lost?.length) {
      return number(characters);
    }
    const what = lost.map((text) => `\`${text}\``).join(', ');
    notes.push(`${notes.length + 1}. ${SERVERS[key].name}, ${name}: without ${what}.`);
    return `${number(characters)} [${notes.length}]`;
  };
  const rows = [
    ['characters', ...KEYS.map((key) => `${SERVERS[key].name} ${servers[key]}`)],
    ['tool list', ...KEYS.map((key) => size('tool list', key, tools[key]))],
    ...Object.entries(pages).map(([name, row]) => [
      `snapshot: ${name}`,
      ...KEYS.map((key) => size(name, key, row[key])),
    ]),
  ];
  return [...renderRows(rows), ...(notes.length ? ['', ...notes] : [])];
}

function renderTasks(record) {
  const { tasks } = record;
  const cells = (costs) =>
    ['calls', 'characters', 'ms'].flatMap((figure) =>
      KEYS.map((key) => {
        const value = costs(key, figure);
        return figure === 'ms' ? seconds(value) : number(value);
      }),
    );
  const letters = ['T', 'P', 'C'];
  const titles = ['calls', 'characters', 'seconds'].flatMap((title) =>
    letters.map((letter) => `${title} ${letter}`),
  );
  const rows = Object.entries(tasks).map(([name, row]) => [
    `${name}${KEYS.some((key) => row[key].showsSecret) ? ' *' : ''}`,
    ...cells((key, figure) => row[key][figure]),
  ]);
  const total = cells((key, figure) => totalOf(record, key, figure));
  return renderRows([['task', ...titles], ...rows, ['**total**', ...total]]);
}

/** What shows a secret to the model. */
function renderSecretNote({ tasks }) {
  const showing = KEYS.filter((key) => Object.values(tasks).some((row) => row[key].showsSecret));
  const names = showing.map((key) => SERVERS[key].name).join(' and ');
  return showing.length > 0 ? ['', `\\* With ${names}, the model is given the password.`] : [];
}

const describeRounds = ({ rounds }) =>
  rounds === 1
    ? 'Each task ran once.'
    : `Of ${rounds} runs of a task, the one with the median time is shown.`;

/** The part of docs/agents.md that the program writes. */
export const renderTables = (record) =>
  [
    `Measured on ${record.date} with Chromium ${record.chromium}. ${describeRounds(record)}`,
    '',
    ...renderSizes(record),
    '',
    'T is tabwire mcp, P is @playwright/mcp, C is chrome-devtools-mcp.',
    '',
    ...renderTasks(record),
    ...renderSecretNote(record),
  ].join('\n');

export function readTables() {
  const text = readFileSync(DOCUMENT, 'utf8');
  return text.slice(text.indexOf(BEGIN) + BEGIN.length, text.indexOf(END)).trim();
}

export function writeTables(tables) {
  const text = readFileSync(DOCUMENT, 'utf8');
  const [before, after] = [text.split(BEGIN)[0], text.split(END)[1]];
  writeFileSync(DOCUMENT, `${before}${BEGIN}\n\n${tables}\n\n${END}${after}`);
}
