/**
 * `tabwire up` as a new user runs it: the lines it prints work as printed, and it leaves nothing
 * running.
 */

import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import {
  CHROMIUM,
  TABWIRE,
  capture,
  endProcess,
  isRunning,
  temporaryFolder,
  until,
} from '../harness/processes.mjs';

const run = promisify(execFile);
const QUIET = ['--disable-background-networking', '--disable-component-update', '--disable-sync'];

/** Starts `tabwire up` for `use`, then stops it and removes its home. */
async function withUp(args, use) {
  const home = await temporaryFolder('up');
  const child = spawn(TABWIRE, ['up', '--port', '0', '--headless', ...args, '--', ...QUIET], {
    env: { ...process.env, TABWIRE_HOME: home.path },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  try {
    await use({ home, child, printed: capture(child) });
  } finally {
    await endProcess(child);
    await home.remove();
  }
}

/** Waits for the last line, which says how to stop. */
const untilReady = ({ printed }) =>
  until('`up` is ready', () => /Ctrl-C/.test(printed()), 30_000).catch((error) => {
    throw new Error(`${error.message}; it printed: ${printed()}`);
  });

/** Runs the three lines of JavaScript in what `up` printed, next to the packages of the tests. */
async function runPrintedLines(printed) {
  const lines = printed.split('\n');
  const first = lines.findIndex((line) => line.startsWith('import '));
  const folder = await mkdtemp(path.join(path.dirname(fileURLToPath(import.meta.url)), '.try-'));
  try {
    const script = path.join(folder, 'try.mjs');
    await writeFile(script, lines.slice(first, first + 3).join('\n'));
    return (await run('node', [script], { timeout: 30_000 })).stdout.trim();
  } finally {
    await rm(folder, { recursive: true });
  }
}

test('the printed lines work as printed, and Ctrl-C stops relay and browser', () =>
  withUp(['--browser', CHROMIUM], async (up) => {
    await untilReady(up);
    assert.equal(await runPrintedLines(up.printed()), "[ '' ]", 'one blank tab');
    assert.ok(!up.printed().includes('token='), 'the token is in the file, not on the screen');
    const { stdout } = await run('pgrep', ['-P', String(up.child.pid)]);
    const browserPid = Number(stdout.split('\n')[0]);
    assert.ok(isRunning(browserPid));
    up.child.kill('SIGINT');
    const [code] = await once(up.child, 'exit');
    assert.equal(code, 0);
    assert.ok(!isRunning(browserPid));
    assert.ok(!existsSync(path.join(up.home.path, 'state.json')));
  }));

test('loads the extension over the debugging pipe, as branded Chrome requires', () =>
  withUp(['--browser', CHROMIUM, '--load-by', 'pipe'], untilReady));

test('reports a browser that is not installed and names the next step', () =>
  withUp(['--browser', 'no-such-browser'], async ({ child, printed }) => {
    const [code] = await once(child, 'exit');
    assert.equal(code, 1);
    assert.match(printed(), /No browser 'no-such-browser' found\. Run `tabwire browsers`/);
  }));

test('reports a browser that exits at once, and stops the relay', () =>
  withUp(['--browser', '/bin/false'], async ({ home, child, printed }) => {
    const [code] = await once(child, 'exit');
    assert.equal(code, 1);
    assert.match(printed(), /The browser exited before its extension connected/);
    assert.ok(!existsSync(path.join(home.path, 'state.json')));
  }));
