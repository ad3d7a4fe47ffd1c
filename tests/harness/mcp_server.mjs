/**
 * Other people's MCP servers, started as an agent's host starts them, with the official MCP client. They
 * send nothing to the internet.
 */

import assert from 'node:assert/strict';
import { after } from 'node:test';

import { asAgent } from './agent.mjs';
import { connectToServer, installed } from './mcp_client.mjs';
import { temporaryFolder } from './processes.mjs';

export const PLAYWRIGHT_MCP = ['node', installed('@playwright/mcp/cli.js')];
export const DEVTOOLS_MCP = [
  'node',
  installed('chrome-devtools-mcp/build/src/bin/chrome-devtools-mcp.js'),
  '--no-usage-statistics',
  '--no-performance-crux',
];

/** A page with a button that counts how often it was pressed. */
export const FORM = `<title>Form</title><button onclick="document.querySelector('output').textContent++">Press</button>
  <output>0</output>`;
export const READ_COUNT = "() => document.querySelector('output').textContent";

/** Where the servers run and have their caches and sockets, so that nothing of them is left. */
const folder = await temporaryFolder('mcp-server');
after(() => folder.remove());

/** Starts a server and connects to it. */
export async function startServer(command, env) {
  const { client, pid } = await connectToServer(command, {
    folder: folder.path,
    env: { CHROME_DEVTOOLS_MCP_NO_UPDATE_CHECKS: '1', ...env },
  });
  const { call } = asAgent(client);
  return {
    pid,
    close: () => client.close(),
    /** Calls a tool that must succeed, and returns its text. */
    async tool(name, args) {
      const { text, isError } = await call(name, args);
      assert.ok(!isError, text);
      return text;
    },
  };
}

/** The first group of a match that has to be there. */
export function found(text, pattern) {
  const match = pattern.exec(text);
  assert.ok(match, `${pattern} is not in: ${text}`);
  return match[1];
}

/** Presses the button in a page, with the tools of chrome-devtools-mcp. */
export async function pressWithDevtoolsMcp(tool, pageId) {
  const before = await countWithDevtoolsMcp(tool, pageId);
  const uid = found(await tool('take_snapshot', { pageId }), /uid=(\w+) button "Press"/);
  await tool('click', { pageId, uid });
  assert.equal(await countWithDevtoolsMcp(tool, pageId), before + 1);
}

export const countWithDevtoolsMcp = async (tool, pageId) =>
  Number(found(await tool('evaluate_script', { pageId, function: READ_COUNT }), /"(\d+)"/));
