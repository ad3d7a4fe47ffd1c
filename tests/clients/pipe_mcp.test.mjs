/** chrome-devtools-mcp, which launches its browser over a pipe, with `tabwire pipe` as that browser. */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { untilDetached, useChain, userTabs } from '../harness/chain.mjs';
import {
  DEVTOOLS_MCP,
  FORM,
  found,
  pressWithDevtoolsMcp,
  startServer,
} from '../harness/mcp_server.mjs';
import { LAUNCH, writeScript } from '../harness/pipe_client.mjs';
import { isRunning, temporaryFolder, until } from '../harness/processes.mjs';

const shared = useChain({
  pages: { '/reading': '<title>Reading</title>Half read', '/form': FORM },
  tabs: (site) => [site.url('/reading'), site.url('/form')],
});

/** Starts the server with this script as its browser, and waits for its end when `use` is done. */
async function withServer(script, args, use) {
  const server = await startServer([...DEVTOOLS_MCP, '--executablePath', script, ...args]);
  try {
    await use(server);
  } finally {
    await server.close();
  }
  await until('the server has exited', () => !isRunning(server.pid));
}

test("works in the relay's browser and leaves it as it was", async () => {
  const before = await userTabs(shared.chain);
  await withServer(writeScript(shared.chain.relay.home), ['--isolated'], async ({ tool }) => {
    const pages = await tool('list_pages');
    assert.match(pages, /Reading \(.*\/reading\)/);
    const pageId = Number(found(pages, /(\d+): Form/));
    await pressWithDevtoolsMcp(tool, pageId);
  });
  await shared.chain.relay.waitForClients(0);
  assert.deepEqual(await userTabs(shared.chain), before);
  await untilDetached(shared.chain);
});

test('works in a browser of its own, which ends with it', async () => {
  const home = await temporaryFolder('pipe');
  const args = ['--headless', '--isolated'];
  await withServer(writeScript(home, LAUNCH), args, async ({ tool }) => {
    const opened = await tool('new_page', { url: shared.site.url('/form') });
    await pressWithDevtoolsMcp(tool, Number(found(opened, /(\d+): Form .*\[selected\]/)));
  });
  await home.remove();
});
