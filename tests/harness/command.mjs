/** Runs `tabwire` commands against the relay of a test, as a user would. */

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

import { TABWIRE } from './processes.mjs';

/** What a command prints. Rejects if it fails. */
export async function tabwire({ home }, ...args) {
  const env = { ...process.env, TABWIRE_HOME: home.path };
  return (await promisify(execFile)(TABWIRE, args, { env })).stdout;
}

/** Opens a port that needs no token and returns its number. `port`: 0 picks a free one. */
export async function openPort(relay, { port = 0, time = '10m' } = {}) {
  // Needed where nobody can be identified. It changes nothing on Linux.
  const anywhere = '--without-user-check';
  const args = ['open-port', '--json', anywhere, '--port', String(port), '--for', time];
  return JSON.parse(await tabwire(relay, ...args)).port;
}
