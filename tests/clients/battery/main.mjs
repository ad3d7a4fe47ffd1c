/**
 * Runs the battery through the relay and on Chromium's own port, records the outcomes, and writes the table
 * in docs/clients.md. Fails if a client can do less through the relay, or leaves something behind.
 * Arguments are parts of the names of clients; without any, all are run.
 */

import { clients } from './clients.mjs';
import {
  forRecord,
  readRecord,
  renderTable,
  shortcomings,
  writeRecord,
  writeTable,
} from './record.mjs';
import { runBattery } from './run.mjs';

const wanted = process.argv.slice(2);
const isWanted = ({ name }) =>
  wanted.length === 0 || wanted.some((part) => name.toLowerCase().includes(part.toLowerCase()));

const record = readRecord();
let isWorse = false;
for (const client of clients.filter(isWanted)) {
  console.log(`==> ${client.name}`);
  await client.install?.();
  const started = Date.now();
  // Each way has a browser of its own, so both go on at a time.
  const [own, relay] = await Promise.all([
    runBattery(client, 'own port'),
    runBattery(client, 'relay'),
  ]);
  record[client.name] = {
    version: client.version(),
    relay: forRecord(client, 'relay', relay),
    'own port': forRecord(client, 'own port', own),
  };
  await writeRecord(record);
  const worse = shortcomings(client, relay, own);
  isWorse ||= worse.length > 0;
  const lines = worse.length ? worse : ['as on the own port or better'];
  console.log(lines.map((line) => `    ${line}`).join('\n'));
  console.log(`    ${Math.round((Date.now() - started) / 1000)} s`);
}
writeTable(renderTable(clients, record));
process.exitCode = isWorse ? 1 : 0;
