/**
 * Tabs that an agent opens are in a tab group with its name. Nothing else in the user's browser
 * changes: no tab of theirs, not what they see, and not where they put things.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { chromium as playwright } from 'playwright-core';

import { startAgent } from '../harness/agent.mjs';
import { inExtension, openTabs, useChain, userTabs } from '../harness/chain.mjs';
import { untilEqual } from '../harness/processes.mjs';

const shared = useChain({
  args: ['--client-mode', 'multi-client'],
  pages: { '/mine': '<title>mine</title>', '/agents': '<title>agents</title>' },
  tabs: (site) => [site.url('/mine')],
});

/** The groups of the browser: name and addresses of the tabs in each. */
const groups = () =>
  inExtension(shared.chain, async () => {
    const tabs = await chrome.tabs.query({});
    const found = await chrome.tabGroups.query({});
    return found.map(({ id, title }) => [
      title,
      tabs.filter(({ groupId }) => groupId === id).map(({ url }) => url),
    ]);
  });

const activeTab = () =>
  inExtension(shared.chain, async () => (await chrome.tabs.query({ active: true }))[0].id);

/** Connects a client that calls itself this, as agents do. */
async function connectAs(name, t) {
  const headers = name ? { 'X-Tabwire-Client': name } : {};
  const browser = await playwright.connectOverCDP(shared.chain.cdpUrl, { headers });
  t.after(() => browser.close());
  return browser.contexts()[0];
}

test('tabs of an agent are in a group with its name, which goes away with them', async (t) => {
  const before = [await activeTab(), await userTabs(shared.chain)];
  const context = await connectAs('claude-code 2.1', t);
  const pages = await Promise.all([context.newPage(), context.newPage()]);
  await untilEqual('both are in the group', groups, [
    ['claude-code', ['about:blank', 'about:blank']],
  ]);
  assert.equal(await activeTab(), before[0], 'the user sees the same tab');
  await pages[0].goto(shared.site.url('/agents'));
  assert.equal(await pages[0].title(), 'agents');
  await Promise.all(pages.map((page) => page.close()));
  await untilEqual('the group is gone', groups, []);
  assert.deepEqual([await activeTab(), await userTabs(shared.chain)], before);
});

test('a client that does not name itself has no group', async (t) => {
  const context = await connectAs(undefined, t);
  const plain = await context.newPage();
  const named = await connectAs('agent', t);
  const page = await named.newPage();
  await untilEqual('only the other is in a group', groups, [['agent', ['about:blank']]]);
  await Promise.all([plain.close(), page.close()]);
});

test('what the user does with the tabs and the group is left alone', async (t) => {
  const context = await connectAs('agent', t);
  const page = await context.newPage();
  await untilEqual('it is in the group', groups, [['agent', ['about:blank']]]);
  await inExtension(shared.chain, async () => {
    const [{ id }] = await chrome.tabGroups.query({});
    await chrome.tabGroups.update(id, { title: 'Shopping', collapsed: true });
  });
  const other = await context.newPage();
  await untilEqual('the next one is there, too', groups, [
    ['Shopping', ['about:blank', 'about:blank']],
  ]);
  const isCollapsed = async () => (await chrome.tabGroups.query({}))[0].collapsed;
  assert.equal(await inExtension(shared.chain, isCollapsed), true);
  await other.goto(shared.site.url('/agents'));
  await inExtension(
    shared.chain,
    async (url) => {
      const [{ id }] = await chrome.tabs.query({ url });
      await chrome.tabs.ungroup(id);
    },
    shared.site.url('/agents'),
  );
  await other.reload();
  await page.evaluate(() => 1);
  assert.deepEqual(await groups(), [['Shopping', ['about:blank']]]);
  await Promise.all([page.close(), other.close()]);
});

test("an agent's tabs are in a group with the name of its host, and the user's tabs in none", async () => {
  await openTabs(shared.chain, [shared.site.url('/mine')]);
  const { home, port } = shared.chain.relay;
  const agent = await startAgent({ home, port });
  const url = shared.site.url('/agents');
  const { text } = await agent.execute(
    `await page.goto('${url}'); await pages().find((tab) => tab.url().endsWith('mine')).evaluate(() => document.title)`,
  );
  assert.equal(text.split('\n')[0], 'mine');
  await untilEqual('the tab is in the group', groups, [['tests', [url]]]);
  await agent.stop();
  await untilEqual('nothing is left', groups, []);
});
