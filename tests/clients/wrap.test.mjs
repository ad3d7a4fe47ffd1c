/**
 * Other people's MCP servers in the user's browser, through `tabwire wrap`: unmodified @playwright/mcp and
 * chrome-devtools-mcp, with the official MCP client. They send nothing to the internet.
 */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';

import { workerOf } from '../harness/agent.mjs';
import { attachedUrls, untilDetached, useChain, userTabs } from '../harness/chain.mjs';
import {
  DEVTOOLS_MCP,
  FORM,
  PLAYWRIGHT_MCP,
  READ_COUNT,
  countWithDevtoolsMcp,
  found,
  pressWithDevtoolsMcp,
  startServer,
} from '../harness/mcp_server.mjs';
import { TABWIRE, isRunning, until } from '../harness/processes.mjs';

const shared = useChain({
  pages: { '/reading': '<title>Reading</title>Half read', '/form': FORM },
  tabs: (site) => [site.url('/reading'), site.url('/form')],
});

/** Starts a server through `tabwire wrap`, and checks that nothing but the user's tabs is left when `use` is done. */
async function withServer(program, use) {
  const before = await userTabs(shared.chain);
  const env = { TABWIRE_HOME: shared.chain.relay.home.path };
  const { tool, close, pid } = await startServer([TABWIRE, 'wrap', '--', ...program], env);
  const server = await workerOf(pid);
  try {
    await use({ server, tool });
  } finally {
    await close();
  }
  await until('the server and `wrap` have exited', () => ![pid, server].some(isRunning));
  await shared.chain.relay.waitForClients(0);
  assert.deepEqual(await userTabs(shared.chain), before);
  await untilDetached(shared.chain);
}

const commandLine = (pid) =>
  execFileSync('ps', ['-ww', '-o', 'command=', '-p', String(pid)], { encoding: 'utf8' });

const token = async () =>
  (await readFile(path.join(shared.chain.relay.home.path, 'auth-token'), 'utf8')).trim();

/** Presses the button in the user's tab, then opens and closes a tab, all with the tools of @playwright/mcp. */
async function usePlaywrightMcp(tool) {
  const count = async () =>
    Number(found(await tool('browser_evaluate', { function: READ_COUNT }), /"(\d+)"/));
  const tabs = await tool('browser_tabs', { action: 'list' });
  assert.match(tabs, /\[Reading\]\(.*\/reading\)/);
  // It reads the title of every tab for this list. An empty tab is attached: it may have a title of its own.
  const attached = await attachedUrls(shared.chain);
  assert.deepEqual(
    attached.filter((url) => url !== 'about:blank'),
    [],
  );
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
  withServer([...PLAYWRIGHT_MCP, '--cdp-endpoint', '{cdp_url}'], ({ tool }) =>
    usePlaywrightMcp(tool),
  ));

test('@playwright/mcp reads the URL from its environment, so no argument has the token', () => {
  const script = 'PLAYWRIGHT_MCP_CDP_ENDPOINT=$TABWIRE_CDP_URL exec "$@"';
  return withServer(['sh', '-c', script, 'sh', ...PLAYWRIGHT_MCP], async ({ tool, server }) => {
    await usePlaywrightMcp(tool);
    const line = commandLine(server);
    assert.ok(!line.includes(await token()), line);
  });
});

test('chrome-devtools-mcp works in a tab of the user and in one of its own', () =>
  withServer([...DEVTOOLS_MCP, '--wsEndpoint', '{cdp_url}'], async ({ tool }) => {
    const pages = await tool('list_pages');
    assert.match(pages, /Reading \(.*\/reading\)/);
    const pageId = Number(found(pages, /(\d+): Form/));
    await tool('select_page', { pageId });
    await pressWithDevtoolsMcp(tool, pageId);
    const opened = await tool('new_page', { url: shared.site.url('/form') });
    const own = Number(found(opened, /(\d+): Form .*\[selected\]/));
    assert.equal(await countWithDevtoolsMcp(tool, own), 0);
    // It selects the first tab by itself. The tab that nobody selected is not in use.
    const attached = await attachedUrls(shared.chain);
    assert.ok(!attached.includes(shared.site.url('/reading')), `${attached}`);
    await tool('close_page', { pageId: own });
  }));
