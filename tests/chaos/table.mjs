/**
 * Prints the rows that the fault tests recorded. With `--write`, also writes them into docs/reliability.md.
 *
 *     node table.mjs REPORT [--write]
 */

import { readFileSync, writeFileSync } from 'node:fs';

const DOCUMENT = new URL('../../docs/reliability.md', import.meta.url);
const BEGIN = '<!-- chaos: begin -->';
const END = '<!-- chaos: end -->';

const rows = readFileSync(process.argv[2], 'utf8')
  .split('\n')
  .filter(Boolean)
  .map((line) => JSON.parse(line))
  .toSorted((a, b) => a.fault.localeCompare(b.fault));

const table = [
  '| Fault | Asked | Measured | Met |',
  '|---|---|---|---|',
  ...rows.map(
    (row) => `| ${row.fault} | ${row.asked} | ${row.measured} | ${row.met ? 'yes' : '**no**'} |`,
  ),
].join('\n');

console.log(table);
if (process.argv[3] === '--write') {
  const text = readFileSync(DOCUMENT, 'utf8');
  const [before, after] = [text.split(BEGIN)[0], text.split(END)[1]];
  writeFileSync(DOCUMENT, `${before}${BEGIN}\n\n${table}\n\n${END}${after}`);
}
process.exitCode = rows.every((row) => row.met) ? 0 : 1;
