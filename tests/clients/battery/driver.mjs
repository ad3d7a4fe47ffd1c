/**
 * The loop of a driver: a program that carries out the battery's operations with one client. It reads
 * the name of an operation per line from stdin and prints one line of JSON for each: `value`, `error`,
 * or `missing` if the client offers no such thing.
 */

import { createInterface } from 'node:readline';

/** What the runner passes: the `address` of the browser, the `site`, and a `folder` for files. */
export const given = JSON.parse(process.env.TABWIRE_BATTERY ?? '{}');

/** An address on the site. */
export const at = (path) => `${given.site}${path}`;

const write = process.stdout.write.bind(process.stdout);
const print = (line) => write(`${JSON.stringify(line)}\n`);
// Libraries print to stdout, too. Only results may arrive there.
process.stdout.write = process.stderr.write.bind(process.stderr);

/** @param {Record<string, () => Promise<unknown>>} operations */
export async function serve(operations) {
  for await (const name of createInterface({ input: process.stdin })) {
    if (!operations[name]) {
      print({ missing: true });
      continue;
    }
    try {
      print({ value: (await operations[name]()) ?? true });
    } catch (error) {
      print({ error: String(error?.message ?? error) });
    }
  }
  process.exit();
}
