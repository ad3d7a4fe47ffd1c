/** An agent: the official MCP client, with a `tabwire mcp` of its own at the other end. */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, symlink } from 'node:fs/promises';
import path from 'node:path';
import { after } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';

import { TABWIRE } from './processes.mjs';

/** One home that has the runner and its packages; the homes of tests point there, so that npm runs once. */
const PREPARED = path.join(
  path.dirname(fileURLToPath(import.meta.url)),
  '../node_modules/.tabwire-home',
);

let prepared;

/** The folder of the runner with its packages, as the binary under test unpacks it. */
export function runnerFolder() {
  prepared ??= (async () => {
    await mkdir(PREPARED, { recursive: true, mode: 0o700 });
    const { stdout } = await promisify(execFile)(TABWIRE, ['mcp', '--install'], {
      env: { ...process.env, TABWIRE_HOME: PREPARED },
    });
    return /Ready: (.*)/.exec(stdout)[1];
  })();
  return prepared;
}

/** Gives a home the runner, as its first use would. */
export async function prepareRunner(home) {
  await runnerFolder();
  await symlink(path.join(PREPARED, 'runner'), path.join(home.path, 'runner')).catch((error) => {
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
  const transport = new StdioClientTransport({
    command: TABWIRE,
    args: ['mcp', ...(port === undefined ? [] : ['--port', String(port)]), ...args],
    env: { ...process.env, TABWIRE_HOME: home.path, ...env },
    stderr: 'pipe',
  });
  const client = new Client({ name: 'tests', version: '1' });
  let log = '';
  transport.stderr?.on('data', (data) => (log += data));
  await client.connect(transport);
  return asAgent(client, { log: () => log, pid: transport.pid });
}

/** What tests ask of an agent, whichever way it is connected. */
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
    /** Runs code; `timeout` in seconds. */
    execute: (code, { timeout, ...options } = {}) =>
      call('execute', timeout === undefined ? { code } : { code, timeout }, options),
    reset: (options) => call('reset', {}, options),
    stop: () => client.close(),
  };
}

/** The worker of a server: its one child that is Node. */
export async function workerOf(pid) {
  const { stdout } = await promisify(execFile)('pgrep', ['-P', String(pid), 'node']).catch(() => ({
    stdout: '',
  }));
  return Number(stdout.trim().split('\n')[0]) || undefined;
}

/** The memory of a process, in MB. */
export async function memoryOf(pid) {
  const { stdout } = await promisify(execFile)('ps', ['-o', 'rss=', '-p', String(pid)]);
  return Number(stdout) / 1024;
}

/** An agent that the tests of one file share, on their chain; it starts at its first use and ends after them. */
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
    execute: async (...of) => (await start()).execute(...of),
    reset: async (...of) => (await start()).reset(...of),
    /** Runs code that has to succeed. */
    async run(...of) {
      const result = await (await start()).execute(...of);
      assert.ok(!result.isError, result.text);
      return result;
    },
    /** Runs code that has to fail. */
    async fails(...of) {
      const result = await (await start()).execute(...of);
      assert.ok(result.isError, `it did not fail: ${result.text}`);
      return result;
    },
  };
}
