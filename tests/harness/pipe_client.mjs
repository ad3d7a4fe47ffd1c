/**
 * `tabwire pipe` as a client starts it: CDP messages go to its descriptor 3 and arrive on its
 * descriptor 4, each followed by a zero byte.
 */

import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';

import { CHROMIUM, TABWIRE, capture } from './processes.mjs';

const environment = (home) => ({ ...process.env, TABWIRE_HOME: home.path, DISPLAY: '' });

/** Writes the script that clients launch as their browser, and returns its path. */
export function writeScript(home, args = []) {
  const script = path.join(home.path, 'browser');
  const env = environment(home);
  execFileSync(TABWIRE, ['pipe', '--script', script, ...args], { env, stdio: 'ignore' });
  return script;
}

/** What launches Debian's Chromium if there is nothing to join. */
export const LAUNCH = ['--launch', CHROMIUM];

/**
 * Starts `tabwire pipe` and sends requests to it.
 * @param {{ home: { path: string }, options?: string[], args?: string[] }} start
 */
export function startPipe({ home, options = LAUNCH, args = ['--headless=new'] }) {
  const child = spawn(TABWIRE, ['pipe', ...options, '--', ...args], {
    env: environment(home),
    stdio: ['ignore', 'pipe', 'pipe', 'pipe', 'pipe'],
  });
  const pending = new Map();
  let received = '';
  child.stdio[3].on('error', () => {});
  child.stdio[4].on('data', (data) => {
    const messages = (received + data).split('\0');
    received = messages.pop();
    for (const { id, result } of messages.map((text) => JSON.parse(text))) {
      pending.get(id)?.(result);
      pending.delete(id);
    }
  });
  let lastId = 0;
  return {
    child,
    output: capture(child),
    exited: once(child, 'exit'),
    /** When nobody holds its descriptors any more. Libraries wait for this. */
    closed: once(child, 'close'),
    /** Resolves with the result. */
    send: (method, params = {}) =>
      new Promise((resolve) => {
        lastId += 1;
        pending.set(lastId, resolve);
        child.stdio[3].write(`${JSON.stringify({ id: lastId, method, params })}\0`);
      }),
    /** Leaves as a client does that is killed. */
    leave: () => {
      child.stdio[3].destroy();
      child.stdio[4].destroy();
    },
  };
}
