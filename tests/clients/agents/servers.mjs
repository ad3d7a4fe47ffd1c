/** The three MCP servers, each started as its users start it, with the official MCP client. Counts what their calls cost. */

import { readFileSync } from 'node:fs';
import { chmod, writeFile } from 'node:fs/promises';
import path from 'node:path';

import { prepareRunner } from '../../harness/agent.mjs';
import { connectToServer, installed } from '../../harness/mcp_client.mjs';
import { CHROMIUM, startChain, TABWIRE, temporaryFolder } from '../../harness/processes.mjs';
import { PASSWORD } from './pages/site.mjs';

const versionOf = (name) =>
  JSON.parse(readFileSync(installed(`${name}/package.json`), 'utf8')).version;
const ourVersion = () => {
  const manifest = new URL('../../../Cargo.toml', import.meta.url);
  return /^version = "(.*)"/m.exec(readFileSync(manifest, 'utf8'))[1];
};

/** The key is how tasks name a server. */
export const SERVERS = {
  tabwire: { name: 'tabwire mcp', version: ourVersion },
  playwright: { name: '@playwright/mcp', version: () => versionOf('@playwright/mcp') },
  devtools: { name: 'chrome-devtools-mcp', version: () => versionOf('chrome-devtools-mcp') },
};
export const KEYS = Object.keys(SERVERS);

/** Chromium has no sandbox for root. */
const noSandbox = (argument) => (process.getuid?.() === 0 ? [argument] : []);

const COMMANDS = {
  playwright: ({ secrets }) => ({
    command: process.execPath,
    args: [
      installed('@playwright/mcp/cli.js'),
      ...['--headless', '--isolated', '--executable-path', CHROMIUM, '--secrets', secrets],
      ...noSandbox('--no-sandbox'),
    ],
  }),
  devtools: () => ({
    command: process.execPath,
    args: [
      installed('chrome-devtools-mcp/build/src/bin/chrome-devtools-mcp.js'),
      ...['--headless', '--isolated', '--executablePath', CHROMIUM, '--no-usage-statistics'],
      ...['--no-performance-crux', ...noSandbox('--chromeArg=--no-sandbox')],
    ],
    env: { CHROME_DEVTOOLS_MCP_NO_UPDATE_CHECKS: '1' },
  }),
};

/** Relay, browser and extension first, as they are on the user's machine. */
async function ourCommand({ secrets }) {
  // As large as the pages of the others.
  const chain = await startChain({ chromiumArgs: ['--window-size=1280,800'] });
  await prepareRunner(chain.relay.home);
  return {
    command: TABWIRE,
    args: ['mcp', '--port', String(chain.relay.port), '--secrets', secrets],
    env: { TABWIRE_HOME: chain.relay.home.path },
    stop: () => chain.stop(),
  };
}

/** Starts a server in a folder of its own, which has the user's secrets. */
export async function startServer(key) {
  const folder = await temporaryFolder('agents');
  const secrets = path.join(folder.path, 'secrets.env');
  await writeFile(secrets, `MAIL_PASSWORD=${PASSWORD}\n`);
  await chmod(secrets, 0o600);
  const { command, args, env, stop } = await (COMMANDS[key] ?? ourCommand)({ secrets });
  const { client } = await connectToServer([command, ...args], {
    folder: folder.path,
    env: { HOME: folder.path, ...env },
    name: 'comparison',
  });
  const { tools } = await client.listTools();
  return {
    key,
    folder: folder.path,
    tools: { count: tools.length, characters: charactersOfTools(tools, client.getInstructions()) },
    meter: () => startMeter(client),
    async stop() {
      await client.close();
      await stop?.();
      await folder.remove();
    },
  };
}

/** What a model is given before it makes a call: the tools as they are sent, and the server's instructions. */
const charactersOfTools = (tools, instructions = '') =>
  JSON.stringify(tools).length + instructions.length;

/** Counts the calls of one task: the characters of names, arguments and text in the results, and the time. */
function startMeter(client) {
  const cost = { calls: 0, sent: 0, received: 0, images: 0, ms: 0 };
  /** Everything that the model sees. @type {string[]} */
  const seen = [];
  const call = async (name, args = {}) => {
    const started = performance.now();
    const result = await client.callTool({ name, arguments: args }, undefined, { timeout: 90_000 });
    cost.ms += performance.now() - started;
    const text = result.content.map((part) => part.text ?? '').join('\n');
    const images = result.content.filter(({ type }) => type === 'image');
    seen.push(JSON.stringify(args), text);
    cost.calls += 1;
    cost.sent += name.length + JSON.stringify(args).length;
    cost.received += text.length;
    cost.images += images.length;
    return { text, images, isError: result.isError === true };
  };
  return {
    cost,
    /** Whether the model has seen a text. */
    showed: (text) => seen.some((part) => part.includes(text)),
    call,
    /** Calls a tool that must succeed, and returns its text. */
    async tool(name, args) {
      const { text, isError } = await call(name, args);
      if (isError) {
        throw new Error(`${name} ${JSON.stringify(args)}: ${text.slice(0, 2_000)}`);
      }
      return text;
    },
  };
}
