/** The tab groups of agents. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeBrowser, settle } from './fake_chrome.mjs';
import { newWorker } from './worker.mjs';

const url = 'https://example.org/';

async function start(browser = new FakeBrowser()) {
  browser.windows.set(1, { type: 'normal' });
  browser.windows.set(2, { type: 'normal' });
  const { runCommand } = await newWorker(browser)('commands.js');
  const create = async (group, more = {}) => {
    const { tabId } = await runCommand('createTab', { url, group, ...more });
    await settle();
    return tabId;
  };
  return { browser, create };
}

const groupOf = (browser, tabId) => browser.groups.get(browser.tabs.get(tabId).groupId);

test('tabs of an agent are in one group with its name, and those of another in another', async () => {
  const { browser, create } = await start();
  const tabs = [await create('claude-code'), await create('claude-code'), await create('other')];
  const titles = tabs.map((tabId) => groupOf(browser, tabId).title);
  assert.deepEqual(titles, ['claude-code', 'claude-code', 'other']);
  assert.equal(browser.groups.size, 2);
});

test('tabs that are created at the same time share a group', async () => {
  const { browser, create } = await start();
  await Promise.all([create('agent'), create('agent'), create('agent')]);
  assert.equal(browser.groups.size, 1);
});

test('each window has a group of its own', async () => {
  const { browser, create } = await start();
  await create('agent');
  const inWindow = await create('agent', { newWindow: true });
  assert.equal(groupOf(browser, inWindow).windowId, 2);
  assert.equal(browser.groups.size, 2);
});

test('a group survives a restart of the service worker', async () => {
  const { browser, create } = await start();
  await create('agent');
  const again = await start(browser);
  await again.create('agent');
  assert.equal(browser.groups.size, 1);
});

test('a tab without a group, in a popup window, or moved into a group by then stays as it is', async () => {
  const { browser, create } = await start();
  await create(undefined);
  browser.windows.set(1, { type: 'popup' });
  await create('agent');
  browser.windows.set(1, { type: 'normal' });
  browser.stub('tabs.get', (id) => ({ ...browser.tabs.get(id), groupId: 5 }));
  await create('agent');
  assert.deepEqual(browser.callsTo('tabs.group'), []);
});

test('a group that the user renamed is kept, and one that they moved away is left alone', async () => {
  const { browser, create } = await start();
  const first = await create('agent');
  groupOf(browser, first).title = 'Shopping';
  const second = await create('agent');
  assert.equal(groupOf(browser, second).title, 'Shopping');
  groupOf(browser, first).windowId = 2;
  const third = await create('agent');
  assert.equal(groupOf(browser, third).title, 'agent');
  assert.equal(groupOf(browser, first).title, 'Shopping');
});

test('a group that is gone is created again', async () => {
  const { browser, create } = await start();
  browser.closeTab(await create('agent'));
  const tabId = await create('agent');
  assert.equal(groupOf(browser, tabId).title, 'agent');
});

test('the reply does not wait for the group, and an error of Chrome does not reach it', async () => {
  const { browser, create } = await start();
  let hasGrouped = false;
  browser.stub('tabs.group', async () => {
    await new Promise((resolve) => setTimeout(resolve, 20));
    hasGrouped = true;
    throw new Error('Tabs cannot be edited right now');
  });
  assert.equal(typeof (await create('agent')), 'number');
  assert.equal(hasGrouped, false);
});
