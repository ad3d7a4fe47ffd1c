/**
 * The record of the battery: what every client could do through the relay and on Chromium's own port when
 * `make test-clients` ran last. Judges outcomes and renders the table in docs/clients.md.
 */

import { readFileSync, writeFileSync } from 'node:fs';

import { operations } from './operations.mjs';

const FILE = new URL('results.json', import.meta.url);
const DOCUMENT = new URL('../../../docs/clients.md', import.meta.url);
const [BEGIN, END] = ['<!-- battery: begin -->', '<!-- battery: end -->'];

/** By client: `version`, and the outcomes `relay` and `own port`. */
export const readRecord = () => JSON.parse(readFileSync(FILE, 'utf8'));

export const writeRecord = (record) => writeFileSync(FILE, `${JSON.stringify(record, null, 2)}\n`);

/** What a client left behind that it may not: lines to show. */
function leftovers(client, { changed, left }) {
  const isAllowed = (line) => client.mayChange?.some((pattern) => pattern.test(line));
  return [
    ...left.map((url) => `still attached: ${url}`),
    ...changed.filter((line) => !isAllowed(line)),
  ];
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

const row = (cells) => `| ${cells.join(' | ')} |`;

/** Numbers what has to be said about a cell below the table. */
function startNotes() {
  const notes = [];
  return {
    add: (text) => `[${notes.includes(text) ? notes.indexOf(text) + 1 : notes.push(text)}]`,
    lines: () => notes.map((text, index) => `${index + 1}. ${text}`),
  };
}

function renderCell(relay, own, note) {
  if (relay === 'missing') {
    return '—';
  }
  if (relay === 'ok') {
    return own === 'ok' ? 'ok' : '**ok**';
  }
  return `fails ${note(`\`${relay.replaceAll('`', "'")}\``)}`;
}

function renderClient(client, { version, relay, 'own port': own }, notes) {
  const cells = operations.map(({ name }) =>
    renderCell(relay.cells[name], own.cells[name], (text) =>
      notes.add(
        `${client.name}: ${text}${own.cells[name] === relay.cells[name] ? ', as on the own port' : ''}`,
      ),
    ),
  );
  const changes = [...relay.left.map((url) => `attached to ${url}`), ...relay.changed];
  const after = changes.length
    ? notes.add(`${client.name} leaves: ${changes.join('; ')}`)
    : 'unchanged';
  return row([`${client.name} ${version}`, relay.attached, ...cells, after]);
}

/** The table, and how each client is started. */
export function renderTable(clients, record) {
  const notes = startNotes();
  const known = clients.filter(({ name }) => record[name]);
  const titles = ['client', 'attached', ...operations.map(({ title }) => title), 'afterwards'];
  const rows = known.map((client) => renderClient(client, record[client.name], notes));
  return [
    row(titles),
    row(titles.map(() => '---')),
    ...rows,
    '',
    ...(notes.lines().length ? [...notes.lines(), ''] : []),
    '| client | the line to type |',
    '| --- | --- |',
    ...known.map(({ name, line }) => row([name, `\`${line}\``])),
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
