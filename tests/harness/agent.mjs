/**
 * Agents for tests: the official MCP client, each connected to a `tabwire mcp` of its own. Installs the runner once for all
 * of them. Knows nothing of browsers.
 */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, symlink } from 'node:fs/promises';
import path from 'node:path';
import { after } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { connectToServer } from './mcp_client.mjs';
import { TABWIRE } from './processes.mjs';

/** A home with an installed runner. The homes of tests link to it, so that npm runs only once. */
const PREPARED_HOME = path.join(
  path.dirname(fileURLToPath(import.meta.url)),
  '../node_modules/.tabwire-home',
);

let prepared;

/** The folder of the runner and its packages, as installed by the binary under test. */
export function runnerFolder() {
  prepared ??= (async () => {
    await mkdir(PREPARED_HOME, { recursive: true, mode: 0o700 });
    const { stdout } = await promisify(execFile)(TABWIRE, ['mcp', '--install'], {
      env: { ...process.env, TABWIRE_HOME: PREPARED_HOME },
    });
    return /Ready: (.*)/.exec(stdout)[1];
  })();
  return prepared;
}

/** Installs the runner in a home. */
export async function prepareRunner(home) {
  await runnerFolder();
  const link = path.join(home.path, 'runner');
  await symlink(path.join(PREPARED_HOME, 'runner'), link).catch((error) => {
    if (error.code !== 'EEXIST') {
      throw error;
    }
  });
}

/** Starts `tabwire mcp` in a home and connects to it. */
export async function startAgent({ home, port, args = [], env = {}, runner = true }) {
  if (runner) {
    await prepareRunner(home);
  }
  const command = [
    TABWIRE,
    'mcp',
    ...(port === undefined ? [] : ['--port', String(port)]),
    ...args,
  ];
  const server = await connectToServer(command, { env: { TABWIRE_HOME: home.path, ...env } });
  return asAgent(server.client, server);
}

/** Wraps an MCP client, whatever its transport, in the calls that tests make. */
export function asAgent(client, { log = () => '', pid = undefined } = {}) {
  const call = async (name, args, options) => {
    const result = await client.callTool({ name, arguments: args }, undefined, {
      timeout: 60_000,
      ...options,
    });
    return {
      ...result,
      text: result.content
        .filter(({ type }) => type === 'text')
        .map(({ text }) => text)
        .join('\n'),
      images: result.content.filter(({ type }) => type === 'image'),
      error: result.structuredContent?.error,
    };
  };
  return {
    client,
    log,
    pid,
    /** Calls any tool. */
    call: (name, args = {}, options = {}) => call(name, args, options),
    /** Runs code; `timeout` is in seconds. */
    execute: (code, { timeout, ...options } = {}) =>
      call('execute', timeout === undefined ? { code } : { code, timeout }, options),
    reset: (options) => call('reset', {}, options),
    stop: () => client.close(),
  };
}

/** The pid of a server's worker: its only child that runs Node. */
export async function workerOf(pid) {
  const { stdout } = await promisify(execFile)('pgrep', ['-P', String(pid), 'node']).catch(() => ({
    stdout: '',
  }));
  return Number(stdout.trim().split('\n')[0]) || undefined;
}

/** The resident memory of a process, in MB. */
export async function memoryOf(pid) {
  const { stdout } = await promisify(execFile)('ps', ['-o', 'rss=', '-p', String(pid)]);
  return Number(stdout) / 1024;
}

/** An agent shared by the tests of a file, on their chain. Starts at its first use and stops after the tests. */
export function useAgent(shared, args = []) {
  let started;
  const start = () =>
    (started ??= startAgent({
      home: shared.chain.relay.home,
      port: shared.chain.relay.port,
      args,
    }));
  after(async () => (await started)?.stop());
  return {
    started: start,
    execute: async (...call) => (await start()).execute(...call),
    reset: async (...call) => (await start()).reset(...call),
    /** Runs code that must succeed. */
    async run(...call) {
      const result = await (await start()).execute(...call);
      assert.ok(!result.isError, result.text);
      return result;
    },
    /** Runs code that must fail. */
    async fails(...call) {
      const result = await (await start()).execute(...call);
      assert.ok(result.isError, `it succeeded: ${result.text}`);
      return result;
    },
  };
}
