/**
 * A program of another user that listens on the relay's port and tries to get at the browser. It
 * knows everything but the secret.
 */

import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';

import { endProcess, until } from './processes.mjs';

const PROGRAM = fileURLToPath(new URL('squatter_program.mjs', import.meta.url));
export const NOBODY = 65534;

/** Why tests with another user are skipped. */
export const skip =
  process.getuid?.() === 0 ? false : 'needs root, to run a program as another user';

/** Listens on a port, as soon as that is free. `tabId` is the tab that it tries to use. */
export async function startSquatter({ port, tabId }) {
  const child = fork(PROGRAM, [String(port), String(NOBODY)]);
  const squatter = {
    /** The user that it runs as. */
    user: undefined,
    tricks: Infinity,
    /** How many connections the extension has opened and closed. */
    connections: 0,
    /** Every byte that it received, requests and frames, as Latin-1. */
    bytes: '',
    /** Every message that it received. */
    messages: [],
    untilTried: () =>
      until('the squatter has tried everything', () => squatter.connections >= squatter.tricks),
    stop: () => endProcess(child),
  };
  child.on('message', ({ message, bytes = '', ...facts }) => {
    squatter.bytes += bytes;
    squatter.messages.push(...(message === undefined ? [] : [message]));
    Object.assign(squatter, facts);
  });
  child.send({ tabId });
  await until('the squatter is listening', () => {
    if (child.exitCode !== null) {
      throw new Error(`the squatter exited with ${child.exitCode}`);
    }
    return squatter.user !== undefined;
  });
  return squatter;
}
