/**
 * The record of the battery: what every client could do through the relay and on Chromium's own port when
 * `make test-clients` ran last. Judges outcomes and renders the table in docs/clients.md.
 */

import { readFileSync, writeFileSync } from 'node:fs';

import { format } from 'prettier';

import { operations } from './operations.mjs';

const FILE = new URL('results.json', import.meta.url);
const DOCUMENT = new URL('../../../docs/clients.md', import.meta.url);
const [BEGIN, END] = ['<!-- battery: begin -->', '<!-- battery: end -->'];

/** By client: `version`, and the outcomes `relay` and `own port`. */
export const readRecord = () => JSON.parse(readFileSync(FILE, 'utf8'));

export async function writeRecord(record) {
  const text = await format(JSON.stringify(record, null, 2), { parser: 'json', printWidth: 100 });
  writeFileSync(FILE, text);
}

/** Whether a client is expected to change this. */
export const mayChange = (client, line) =>
  client.mayChange?.some((pattern) => pattern.test(line)) ?? false;

/** What a client left behind that it may not: lines to show. */
const leftovers = (client, { changed, left }) => [
  ...left.map((url) => `still attached: ${url}`),
  ...changed.filter((line) => !mayChange(client, line)),
];

/**
 * An outcome as it is kept. What a client may change differs from run to run, such as which tab is in front, so
 * only that it did is kept; on Chromium's own port, only which properties changed.
 */
export function forRecord(client, way, { changed, ...outcome }) {
  const [told, others] = [true, false].map((isAllowed) =>
    changed.filter((line) => mayChange(client, line) === isAllowed),
  );
  const properties = others.map((line) => line.split(':')[0].split(' ').at(-1));
  return {
    ...outcome,
    changed: way === 'relay' ? others : [...new Set(properties)].sort(),
    changedAsTold: told.length > 0,
  };
}

/**
 * What is worse through the relay than on Chromium's own port, as lines to show. If a client did not connect
 * there, nothing excuses a failure.
 */
export function shortcomings(client, relay, own) {
  const excuses = (cell) => cell !== 'ok' && cell !== 'not connected';
  const cells = operations
    .filter(({ name }) => relay.cells[name] !== 'ok' && !excuses(own.cells[name]))
    .map(({ name, title }) => `${title}: ${relay.cells[name]}`);
  const allowed = client.attaches ?? 0;
  const attached = `connecting attached ${relay.attached} tabs, not ${allowed}`;
  return [...cells, ...(relay.attached > allowed ? [attached] : []), ...leftovers(client, relay)];
}

/** What is worse in an outcome through the relay than in the recorded one, as lines to show. */
export function regressions(client, relay, recorded) {
  const cells = operations
    .filter(({ name }) => recorded.cells[name] === 'ok' && relay.cells[name] !== 'ok')
    .map(({ name, title }) => `${title}: ${relay.cells[name]}`);
  const attached = `connecting attached ${relay.attached} tabs, not ${recorded.attached}`;
  const known = leftovers(client, recorded);
  return [
    ...cells,
    ...(relay.attached > recorded.attached ? [attached] : []),
    ...leftovers(client, relay).filter((line) => !known.includes(line)),
  ];
}

/** Numbers what has to be said about a cell below the table. */
function startNotes() {
  const notes = [];
  return {
    add: (text) => `[${notes.includes(text) ? notes.indexOf(text) + 1 : notes.push(text)}]`,
    lines: () => notes.map((text, index) => `${index + 1}. ${text}`),
  };
}

/** A Markdown table whose columns are aligned in the source, too. */
function renderRows(rows) {
  const widths = rows[0].map((_cell, column) => Math.max(...rows.map((row) => row[column].length)));
  const line = (cells) =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column])).join(' | ')} |`;
  const rule = widths.map((width) => '-'.repeat(width));
  return [line(rows[0]), line(rule), ...rows.slice(1).map(line)];
}

function renderCell(relay, own, note) {
  if (relay === 'missing') {
    return '–';
  }
  if (relay === 'ok') {
    return own === 'ok' ? 'ok' : 'ok+';
  }
  const text = `\`${relay.replaceAll('`', "'")}\``;
  return own === 'ok' ? `fails ${note(text)}` : `same ${note(text)}`;
}

/** Whether a client has left everything as it was, except for what it may change. */
function renderAfterwards(client, relay, note) {
  const lines = leftovers(client, relay);
  if (lines.length > 0) {
    return `changed ${note(lines.join('; '))}`;
  }
  return relay.changedAsTold ? `as told ${note(client.notes.afterwards)}` : 'as before';
}

function renderClient(client, { version, relay, 'own port': own }, notes) {
  const noteOn = (title) => (text) => notes.add(`${client.name}, ${title}: ${text}`);
  const reason = relay.attached > 0 && client.notes?.attached;
  const attached = `${relay.attached}${reason ? ` ${noteOn('attached')(reason)}` : ''}`;
  const cells = operations.map(({ name, title }) =>
    renderCell(relay.cells[name], own.cells[name], noteOn(title)),
  );
  const after = renderAfterwards(client, relay, noteOn('after'));
  return [`${client.name} ${version}`, attached, ...cells, after];
}

/** The table, and how each client is started. */
export function renderTable(clients, record) {
  const notes = startNotes();
  const known = clients.filter(({ name }) => record[name]);
  const titles = ['client', 'attached', ...operations.map(({ title }) => title), 'after'];
  const rows = known.map((client) => renderClient(client, record[client.name], notes));
  const lines = known.map(({ name, line }) => [name, `\`${line}\``]);
  return [
    ...renderRows([titles, ...rows]),
    '',
    ...(notes.lines().length ? [...notes.lines(), ''] : []),
    ...renderRows([['client', 'the line to type'], ...lines]),
  ].join('\n');
}

/** The part of docs/clients.md that the battery writes. */
export function readTable() {
  const text = readFileSync(DOCUMENT, 'utf8');
  return text.slice(text.indexOf(BEGIN) + BEGIN.length, text.indexOf(END)).trim();
}

export function writeTable(table) {
  const text = readFileSync(DOCUMENT, 'utf8');
  const [before, after] = [text.split(BEGIN)[0], text.split(END)[1]];
  writeFileSync(DOCUMENT, `${before}${BEGIN}\n\n${table}\n\n${END}${after}`);
}
