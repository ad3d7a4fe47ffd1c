/** The official MCP client, connected to a server as an agent's host starts it. Knows nothing of what the server does. */

import { fileURLToPath } from 'node:url';

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';

/** A file of a package that the tests have installed. */
export const installed = (file) =>
  fileURLToPath(new URL(`../node_modules/${file}`, import.meta.url));

/**
 * Starts a server and connects to it. `folder` is where it runs and has its caches and sockets, so that nothing of it is left;
 * `env` comes on top of the environment of the tests.
 */
export async function connectToServer([command, ...args], { folder, env, name = 'tests' } = {}) {
  const own = folder && { XDG_CACHE_HOME: folder, TMPDIR: folder };
  const transport = new StdioClientTransport({
    command,
    args,
    cwd: folder,
    env: { ...process.env, ...own, ...env },
    stderr: 'pipe',
  });
  const client = new Client({ name, version: '1' });
  let log = '';
  transport.stderr.on('data', (data) => (log += data));
  await client.connect(transport);
  return { client, pid: transport.pid, log: () => log };
}
