/**
 * Other people's MCP servers in the user's browser, through `tabwire wrap`: unmodified @playwright/mcp and
 * chrome-devtools-mcp, with the official MCP client. They send nothing to the internet.
 */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';

import { asAgent, workerOf } from '../harness/agent.mjs';
import { attachedUrls, inExtension, untilDetached, useChain } from '../harness/chain.mjs';
import { TABWIRE, isRunning, temporaryFolder, until } from '../harness/processes.mjs';

/** The button counts how often it was pressed. */
const FORM = `<title>Form</title><button onclick="document.querySelector('output').textContent++">Press</button>
  <output>0</output>`;
const READ_COUNT = "() => document.querySelector('output').textContent";

const installed = (file) => fileURLToPath(new URL(`../node_modules/${file}`, import.meta.url));
const PLAYWRIGHT_MCP = installed('@playwright/mcp/cli.js');
const DEVTOOLS_MCP = installed('chrome-devtools-mcp/build/src/bin/chrome-devtools-mcp.js');

const shared = useChain({
  pages: { '/reading': '<title>Reading</title>Half read', '/form': FORM },
  tabs: (site) => [site.url('/reading'), site.url('/form')],
});

/** Where the servers run and have their caches and sockets, so that nothing of them is left. */
const folder = await temporaryFolder('wrap');
after(() => folder.remove());

const userTabs = () =>
  inExtension(shared.chain, async () =>
    (await chrome.tabs.query({})).map(({ id, url }) => ({ id, url })),
  );

/** Starts a server through `tabwire wrap`, and checks that nothing but the user's tabs is left when `use` is done. */
async function withServer(program, use) {
  const before = await userTabs();
  const transport = new StdioClientTransport({
    command: TABWIRE,
    args: ['wrap', '--', ...program],
    cwd: folder.path,
    env: {
      ...process.env,
      TABWIRE_HOME: shared.chain.relay.home.path,
      XDG_CACHE_HOME: folder.path,
      TMPDIR: folder.path,
      CHROME_DEVTOOLS_MCP_NO_UPDATE_CHECKS: '1',
    },
    stderr: 'ignore',
  });
  const client = new Client({ name: 'tests', version: '1' });
  await client.connect(transport);
  const wrap = transport.pid;
  const server = await workerOf(wrap);
  const { call } = asAgent(client);
  try {
    await use({
      server,
      /** Calls a tool that must succeed, and returns its text. */
      async tool(name, args) {
        const { text, isError } = await call(name, args);
        assert.ok(!isError, text);
        return text;
      },
    });
  } finally {
    await client.close();
  }
  await until('the server and `wrap` have exited', () => ![wrap, server].some(isRunning));
  await shared.chain.relay.waitForClients(0);
  assert.deepEqual(await userTabs(), before);
  await untilDetached(shared.chain);
}

const commandLine = (pid) =>
  execFileSync('ps', ['-ww', '-o', 'command=', '-p', String(pid)], { encoding: 'utf8' });

const token = async () =>
  (await readFile(path.join(shared.chain.relay.home.path, 'auth-token'), 'utf8')).trim();

/** The first group of a match that has to be there. */
function found(text, pattern) {
  const match = pattern.exec(text);
  assert.ok(match, `${pattern} is not in: ${text}`);
  return match[1];
}

/** Presses the button in the user's tab, then opens and closes a tab, all with the tools of @playwright/mcp. */
async function usePlaywrightMcp(tool) {
  const count = async () =>
    Number(found(await tool('browser_evaluate', { function: READ_COUNT }), /"(\d+)"/));
  const tabs = await tool('browser_tabs', { action: 'list' });
  assert.match(tabs, /\[Reading\]\(.*\/reading\)/);
  const index = Number(found(tabs, /(\d+): (?:\(current\) )?\[Form\]/));
  await tool('browser_tabs', { action: 'select', index });
  const before = await count();
  const target = found(await tool('browser_snapshot'), /button "Press".* \[ref=(\w+)\]/);
  await tool('browser_click', { target, element: 'Press' });
  assert.equal(await count(), before + 1);
  await tool('browser_tabs', { action: 'new', url: shared.site.url('/form') });
  assert.equal(await count(), 0);
  await tool('browser_tabs', { action: 'close' });
}

test('@playwright/mcp works in a tab of the user and in one of its own', () =>
  withServer(['node', PLAYWRIGHT_MCP, '--cdp-endpoint', '{cdp_url}'], ({ tool }) =>
    usePlaywrightMcp(tool),
  ));

test('@playwright/mcp reads the URL from its environment, so no argument has the token', () => {
  const script = 'PLAYWRIGHT_MCP_CDP_ENDPOINT=$TABWIRE_CDP_URL exec node "$0"';
  return withServer(['sh', '-c', script, PLAYWRIGHT_MCP], async ({ tool, server }) => {
    await usePlaywrightMcp(tool);
    const line = commandLine(server);
    assert.ok(!line.includes(await token()), line);
  });
});

test('chrome-devtools-mcp works in a tab of the user and in one of its own', () =>
  withServer(
    [
      'node',
      DEVTOOLS_MCP,
      '--wsEndpoint',
      '{cdp_url}',
      '--no-usage-statistics',
      '--no-performance-crux',
    ],
    async ({ tool }) => {
      const count = async (pageId) =>
        Number(found(await tool('evaluate_script', { pageId, function: READ_COUNT }), /"(\d+)"/));
      const pages = await tool('list_pages');
      assert.match(pages, /Reading \(.*\/reading\)/);
      const pageId = Number(found(pages, /(\d+): Form/));
      await tool('select_page', { pageId });
      const before = await count(pageId);
      const uid = found(await tool('take_snapshot', { pageId }), /uid=(\w+) button "Press"/);
      await tool('click', { pageId, uid });
      assert.equal(await count(pageId), before + 1);
      const opened = await tool('new_page', { url: shared.site.url('/form') });
      const own = Number(found(opened, /(\d+): Form .*\[selected\]/));
      assert.equal(await count(own), 0);
      // It selects the first tab by itself. The tab that nobody selected is not in use.
      const attached = await attachedUrls(shared.chain);
      assert.ok(!attached.includes(shared.site.url('/reading')), `${attached}`);
      await tool('close_page', { pageId: own });
    },
  ));
