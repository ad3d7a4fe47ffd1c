/**
 * Compares `tabwire mcp` with @playwright/mcp and chrome-devtools-mcp. Prints the tables, and exits with 1 if a peer needs
 * fewer characters where it must not. With `--write`, updates results.json and docs/agents.md; `--rounds=1` runs each task
 * once and not three times. Further arguments choose pages and tasks by parts of their names, to try them out.
 *
 *   make bench-agents
 *   node tests/clients/agents/main.mjs "long form" drag
 */

import { execFileSync } from 'node:child_process';

import { CHROMIUM } from '../../harness/processes.mjs';
import { readRecord, renderTables, shortcomings, writeRecord, writeTables } from './record.mjs';
import { compareServers } from './run.mjs';
import { KEYS, SERVERS } from './servers.mjs';

const given = process.argv.slice(2);
const rounds = Number(given.find((argument) => argument.startsWith('--rounds='))?.slice(9) ?? 3);
const parts = given.filter((argument) => !argument.startsWith('--'));

if (parts.length > 0) {
  const wants = (name) => parts.some((part) => name.includes(part));
  await compareServers({ wants, print: console.log });
} else {
  const version = execFileSync(CHROMIUM, ['--version'], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const record = {
    date: new Date().toISOString().slice(0, 10),
    chromium: /[\d.]+/.exec(version)[0],
    servers: Object.fromEntries(KEYS.map((key) => [key, SERVERS[key].version()])),
    rounds,
    ...(await compareServers({ rounds })),
  };
  console.log(renderTables(record));
  if (given.includes('--write')) {
    await writeRecord(record);
    writeTables(renderTables(readRecord()));
  }
  const worse = shortcomings(record);
  console.log(worse.join('\n'));
  process.exitCode = worse.length === 0 ? 0 : 1;
}
