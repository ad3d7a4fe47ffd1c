/** Listing, creating and activating tabs for the relay. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { settle } from './fake_chrome.mjs';
import { answerStale, page, report, watch } from './watched_tabs.mjs';

const options = { url: 'https://example.org/new', newWindow: false, active: false };

// ---- lists ----

test('lists every tab with target, opener and state', async () => {
  const { browser, listTabs, attachments } = await watch(page(1));
  browser.openTab(page(2, { status: 'loading' }), 1);
  await attachments.attach(2);
  const listed = JSON.parse(JSON.stringify(await listTabs()));
  assert.deepEqual(listed, [
    report(1),
    report(2, { status: 'loading', openerTabId: 1, attached: true }),
  ]);
});

test("does not take Chrome's openerTabId for the opener", async () => {
  const { listTabs } = await watch(page(1), page(2, { openerTabId: 1 }));
  assert.deepEqual(
    (await listTabs()).map(({ openerTabId }) => openerTabId),
    [undefined, undefined],
  );
});

test('reports which tabs show a PDF, and which no longer do', async () => {
  const { browser, listTabs, sent } = await watch(page(1), page(2, { isPdf: true }));
  await listTabs();
  await settle();
  assert.deepEqual(sent.splice(0), [['tabUpdated', { tabId: 2, pdf: true }]]);
  assert.deepEqual(
    (await listTabs()).map(({ pdf }) => pdf),
    [undefined, true],
  );
  const zoomSettings = { mode: 'automatic' };
  browser.chrome.tabs.onZoomChange.fire({ tabId: 2, zoomSettings });
  assert.deepEqual(sent, [['tabUpdated', { tabId: 2, pdf: false }]]);
});

test('does not list restricted pages, even while they are loading', async () => {
  const { listTabs } = await watch(
    page(1),
    page(2, { url: 'chrome://settings/' }),
    page(3, { url: '', pendingUrl: 'chrome://newtab/' }),
  );
  assert.deepEqual(
    (await listTabs()).map(({ tabId }) => tabId),
    [1],
  );
});

test('lists a tab without a URL with its pending URL, or as an empty page', async () => {
  const { listTabs } = await watch(
    page(1, { url: '', pendingUrl: 'https://example.org/soon' }),
    page(2, { url: '' }),
  );
  assert.deepEqual(
    (await listTabs()).map(({ url }) => url),
    ['https://example.org/soon', 'about:blank'],
  );
});

test('lists a tab that Chrome has no target for', async () => {
  const { listTabs } = await watch(page(1, { status: 'unloaded', targetId: null }));
  assert.equal((await listTabs())[0].targetId, undefined);
});

test('reads the tabs again if one changes while Chrome is answering', async () => {
  const { browser, listTabs } = await watch(page(1, { title: '' }));
  answerStale(
    browser,
    'tabs.query',
    () => [...browser.tabs.values()],
    () => browser.changeTab(1, { title: 'New title' }),
  );
  assert.deepEqual(
    (await listTabs()).map(({ title }) => title),
    ['New title'],
  );
});

/** Runs `act` after the target ids have been read for a list, and before the tabs are read. */
async function whileListing({ browser, listTabs }, act) {
  let finish;
  const targets = await browser.chrome.debugger.getTargets();
  browser.stub(
    'debugger.getTargets',
    () => new Promise((resolve) => (finish = () => resolve(targets))),
  );
  const listing = listTabs();
  await settle();
  act();
  await settle();
  browser.stub('debugger.getTargets', undefined);
  finish();
  const listed = await listing;
  await settle();
  return listed;
}

test('announces a tab that appears during a list afterwards, with its target', async () => {
  const watched = await watch(page(1));
  const listed = await whileListing(watched, () => watched.browser.openTab(page(2)));
  assert.deepEqual(
    listed.map(({ tabId }) => tabId),
    [1],
  );
  assert.deepEqual(watched.sent, [['tabCreated', report(2)]]);
  watched.browser.changeTab(2, { title: 'New title' });
  assert.deepEqual(watched.sent.at(-1), ['tabUpdated', { tabId: 2, title: 'New title' }]);
});

test('lists the new URL of a tab that navigates during a list', async () => {
  const watched = await watch(page(1));
  const listed = await whileListing(watched, () =>
    watched.browser.changeTab(1, { url: 'https://example.org/next' }),
  );
  assert.deepEqual(
    listed.map(({ url }) => url),
    ['https://example.org/next'],
  );
  assert.deepEqual(watched.sent, []);
});

test('does not list a tab that is closed during the list', async () => {
  const { browser, listTabs } = await watch(page(1), page(2));
  const snapshot = await browser.chrome.tabs.query({});
  browser.stub('tabs.query', () => {
    browser.closeTab(2);
    return snapshot;
  });
  assert.deepEqual(
    (await listTabs()).map(({ tabId }) => tabId),
    [1],
  );
});

// ---- create ----

test('creates a tab in the background and does not announce it', async () => {
  const { browser, createTab, sent } = await watch(page(1));
  const tabId = await createTab(options);
  await settle();
  assert.deepEqual(browser.callsTo('tabs.create'), [
    [{ url: 'https://example.org/new', active: false }],
  ]);
  assert.ok(browser.tabs.has(tabId));
  assert.deepEqual(sent, []);
  assert.deepEqual(browser.callsTo('tabs.get'), []);
});

test('reports changes of a created tab', async () => {
  const { browser, createTab, sent } = await watch();
  const tabId = await createTab(options);
  browser.changeTab(tabId, { title: 'New' });
  browser.closeTab(tabId);
  assert.deepEqual(sent, [
    ['tabUpdated', { tabId, title: 'New' }],
    ['tabRemoved', { tabId }],
  ]);
});

/** Runs `act` while Chrome is creating a tab for the relay. */
async function whileCreating({ browser, createTab }, act) {
  let finish;
  browser.stub('tabs.create', ({ url }) => {
    const tab = browser.openTab({ url });
    return new Promise((resolve) => (finish = () => resolve(tab)));
  });
  const created = createTab(options);
  await act();
  await settle();
  finish();
  const tabId = await created;
  await settle();
  return tabId;
}

test('announces only the tabs that the user opens while one is created', async () => {
  const watched = await watch();
  await whileCreating(watched, () => watched.browser.openTab(page(2)));
  assert.deepEqual(watched.sent, [['tabCreated', report(2)]]);
});

test('announces a tab that leaves a restricted page while another is created', async () => {
  const watched = await watch(page(1, { url: 'chrome://newtab/' }));
  await watched.listTabs();
  await whileCreating(watched, () =>
    watched.browser.changeTab(1, { url: 'https://example.org/1' }),
  );
  assert.deepEqual(watched.sent, [['tabCreated', report(1)]]);
});

test('announces neither of two tabs that are created concurrently', async () => {
  const watched = await watch();
  const second = {};
  await whileCreating(watched, () => {
    second.created = watched.createTab({ ...options, newWindow: true });
  });
  await second.created;
  await settle();
  assert.equal(watched.browser.tabs.size, 2);
  assert.deepEqual(watched.sent, []);
});

test('announces tabs that appeared while creating one failed', async () => {
  const { browser, createTab, sent } = await watch();
  for (const call of ['tabs.create', 'windows.create']) {
    browser.stub(call, async () => {
      browser.openTab(page(call.length));
      throw new Error('Tabs cannot be edited right now');
    });
  }
  await assert.rejects(createTab(options), /Tabs cannot be edited right now/);
  await settle();
  assert.deepEqual(
    sent.map(([method]) => method),
    ['tabCreated', 'tabCreated'],
  );
});

test('focuses a new window only if the tab is to be active', async () => {
  const { browser, createTab } = await watch();
  await createTab({ ...options, newWindow: true });
  await createTab({ ...options, newWindow: true, active: true });
  assert.deepEqual(browser.callsTo('windows.create'), [
    [{ url: options.url, focused: false }],
    [{ url: options.url, focused: true }],
  ]);
  assert.deepEqual(browser.callsTo('tabs.create'), []);
});

test('opens a window if there is none for the tab', async () => {
  const { browser, createTab } = await watch();
  browser.stub('tabs.create', () => {
    throw new Error('No current window');
  });
  const tabId = await createTab(options);
  assert.equal(browser.tabs.get(tabId).windowId, 2);
});

test('rejects if Chrome does not open a window', async () => {
  const { browser, createTab } = await watch();
  browser.stub('windows.create', () => undefined);
  await assert.rejects(createTab({ ...options, newWindow: true }), /Chrome did not open a window/);
});

// ---- activate ----

test('activating a tab focuses its window', async () => {
  const { browser, activateTab } = await watch(page(1));
  await activateTab(1);
  assert.deepEqual(browser.callsTo('tabs.update'), [[1, { active: true }]]);
  assert.deepEqual(browser.callsTo('windows.update'), [[7, { focused: true }]]);
});
