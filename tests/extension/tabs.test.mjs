/** The browser's tabs as the relay is told of them. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeBrowser, turn } from './fake_chrome.mjs';
import { startLife } from './life.mjs';

/** A browser with these tabs, and a worker that watches them. `told` is what the relay would hear. */
async function watch(...tabs) {
  const browser = new FakeBrowser(...tabs);
  const load = startLife(browser);
  const module = await load('tabs.js');
  const told = [];
  module.watchTabs((method, params) => told.push([method, JSON.parse(JSON.stringify(params))]));
  return { browser, told, ...module, attachments: await load('attachments.js') };
}

const page = (id, more = {}) => ({
  id,
  url: `https://example.org/${id}`,
  title: `Page ${id}`,
  windowId: 7,
  ...more,
});
const report = (id, more = {}) => ({
  tabId: id,
  url: `https://example.org/${id}`,
  title: `Page ${id}`,
  targetId: `TARGET-${id}`,
  status: 'complete',
  windowId: 7,
  attached: false,
  ...more,
});
const wish = { url: 'https://example.org/new', newWindow: false, active: false };

// ---- lists ----

test('the list has every tab with its target, opener and state', async () => {
  const { browser, listTabs, attachments } = await watch(page(1));
  browser.openTab(page(2, { status: 'loading' }), 1);
  await attachments.attach(2);
  const listed = JSON.parse(JSON.stringify(await listTabs()));
  assert.deepEqual(listed, [
    report(1),
    report(2, { status: 'loading', openerTabId: 1, attached: true }),
  ]);
});

test('the tab that was in front when another was opened is not its opener', async () => {
  const { listTabs } = await watch(page(1), page(2, { openerTabId: 1 }));
  assert.deepEqual(
    (await listTabs()).map(({ openerTabId }) => openerTabId),
    [undefined, undefined],
  );
});

test('the list leaves out restricted pages, also one that is still on its way', async () => {
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

test('a tab without an address yet is listed where it is going, or as an empty page', async () => {
  const { listTabs } = await watch(
    page(1, { url: '', pendingUrl: 'https://example.org/soon' }),
    page(2, { url: '' }),
  );
  assert.deepEqual(
    (await listTabs()).map(({ url }) => url),
    ['https://example.org/soon', 'about:blank'],
  );
});

test('a tab whose navigation came to nothing is where it is, until the next document', async () => {
  const { browser, describeTab } = await watch(
    page(1, { url: '', pendingUrl: 'https://example.org/nothing' }),
  );
  const { onCommitted, onErrorOccurred } = browser.chrome.webNavigation;
  const at = async () => (await describeTab(1)).url;
  onErrorOccurred.fire({ tabId: 1, frameId: 3, url: 'https://example.org/frame' });
  assert.equal(await at(), 'https://example.org/nothing', 'a frame in it is not the tab');
  onErrorOccurred.fire({ tabId: 1, frameId: 0, url: 'https://example.org/nothing' });
  assert.equal(await at(), 'about:blank');
  onCommitted.fire({ tabId: 1, frameId: 0, url: 'about:blank' });
  browser.tabs.get(1).pendingUrl = 'https://example.org/next';
  assert.equal(await at(), 'https://example.org/next');
});

/** What this call answers first was so before the person did `act`, and is learned after that. */
function answerLate(browser, call, answer, act) {
  let isFirst = true;
  browser.answer(call, async (...args) => {
    const seen = JSON.parse(JSON.stringify(answer(...args)));
    if (isFirst) {
      isFirst = false;
      act();
    }
    return seen;
  });
}

test('a change that is told while a tab is looked at is not lost', async () => {
  const { browser, told } = await watch();
  answerLate(
    browser,
    'tabs.get',
    (id) => browser.tabs.get(id),
    () => browser.changeTab(2, { title: 'At last' }),
  );
  browser.openTab(page(2, { title: '' }));
  await turn();
  assert.deepEqual(told, [['tabCreated', report(2, { title: 'At last' })]]);
});

test('nor one that is told while all are listed', async () => {
  const { browser, listTabs } = await watch(page(1, { title: '' }));
  answerLate(
    browser,
    'tabs.query',
    () => [...browser.tabs.values()],
    () => browser.changeTab(1, { title: 'At last' }),
  );
  assert.deepEqual(
    (await listTabs()).map(({ title }) => title),
    ['At last'],
  );
});

test('a tab that Chrome has no target for is listed without one', async () => {
  const { listTabs } = await watch(page(1, { status: 'unloaded', targetId: null }));
  assert.equal((await listTabs())[0].targetId, undefined);
});

/** Lets the person act between the two looks that a list is made of. */
async function whileListing({ browser, listTabs }, act) {
  let finish;
  const targets = await browser.chrome.debugger.getTargets();
  browser.answer(
    'debugger.getTargets',
    () => new Promise((resolve) => (finish = () => resolve(targets))),
  );
  const listing = listTabs();
  await turn();
  act();
  await turn();
  browser.answer('debugger.getTargets', undefined);
  finish();
  const listed = await listing;
  await turn();
  return listed;
}

test('a tab that appears while the list is made is announced after it, with its target', async () => {
  const watched = await watch(page(1));
  const listed = await whileListing(watched, () => watched.browser.openTab(page(2)));
  assert.deepEqual(
    listed.map(({ tabId }) => tabId),
    [1],
  );
  assert.deepEqual(watched.told, [['tabCreated', report(2)]]);
  watched.browser.changeTab(2, { title: 'Known' });
  assert.deepEqual(watched.told.at(-1), ['tabUpdated', { tabId: 2, title: 'Known' }]);
});

test('a tab that navigates while the list is made is in it, where it is now', async () => {
  const watched = await watch(page(1));
  const listed = await whileListing(watched, () =>
    watched.browser.changeTab(1, { url: 'https://example.org/next' }),
  );
  assert.deepEqual(
    listed.map(({ url }) => url),
    ['https://example.org/next'],
  );
  assert.deepEqual(watched.told, []);
});

test('a tab that is closed while the list is made is not in it', async () => {
  const { browser, listTabs } = await watch(page(1), page(2));
  const snapshot = await browser.chrome.tabs.query({});
  browser.answer('tabs.query', () => {
    browser.closeTab(2);
    return snapshot;
  });
  assert.deepEqual(
    (await listTabs()).map(({ tabId }) => tabId),
    [1],
  );
});

// ---- what the person does ----

test('a tab that a page opens is announced whole, with its opener, when what it was opened for is there', async () => {
  const { browser, told } = await watch(page(1));
  browser.openTab(page(2, { url: '' }), 1);
  await turn();
  assert.deepEqual(told, [], 'its empty document is nothing to show');
  browser.changeTab(2, { url: page(2).url, status: 'loading' });
  await turn();
  assert.deepEqual(told, [], 'nor is an address alone');
  browser.chrome.webNavigation.onCommitted.fire({
    tabId: 2,
    frameId: 5,
    url: 'https://example.org/frame',
  });
  browser.chrome.webNavigation.onCommitted.fire({ tabId: 2, frameId: 0, url: page(2).url });
  await turn();
  assert.deepEqual(told, [['tabCreated', report(2, { openerTabId: 1, status: 'loading' })]]);
});

test('a tab whose document is there before Chrome says what opened it is announced with its opener', async () => {
  const { browser, told } = await watch(page(1));
  browser.openTab(page(2));
  browser.chrome.webNavigation.onCommitted.fire({ tabId: 2, frameId: 0, url: page(2).url });
  browser.chrome.webNavigation.onCreatedNavigationTarget.fire({
    tabId: 2,
    sourceTabId: 1,
    url: page(2).url,
  });
  await turn();
  assert.deepEqual(told, [['tabCreated', report(2, { openerTabId: 1 })]]);
});

test('a tab that a page opens for what is no page is announced too', async () => {
  const { browser, told } = await watch(page(1));
  browser.openTab(page(2, { url: '', title: '' }), 1);
  await turn();
  browser.chrome.webNavigation.onErrorOccurred.fire({
    tabId: 2,
    frameId: 0,
    url: 'https://example.org/download',
    error: 'net::ERR_ABORTED',
  });
  await turn();
  assert.deepEqual(
    told.map(([, { tabId, url }]) => [tabId, url]),
    [[2, 'about:blank']],
  );
});

test('a tab that a page opens for a script shows its empty document after a moment', async (context) => {
  context.mock.timers.enable({ apis: ['setTimeout'] });
  const { browser, told } = await watch(page(1));
  browser.openTab(page(2, { url: 'about:blank' }), 1);
  context.mock.timers.tick(100);
  await turn();
  assert.deepEqual(told, []);
  context.mock.timers.tick(400);
  await turn();
  assert.deepEqual(
    told.map(([, { tabId }]) => tabId),
    [2],
  );
});

test('a tab that loads while it is looked at is announced as loaded, because nothing tells that later', async () => {
  const { browser, told } = await watch();
  browser.answer('debugger.getTargets', () => {
    browser.changeTab(1, { status: 'complete' });
    return [];
  });
  browser.openTab(page(1, { status: 'loading' }));
  await turn();
  assert.deepEqual(
    told.map(([method, { status }]) => [method, status]),
    [['tabCreated', 'complete']],
  );
});

test('a tab whose loading is learned before the answer that says it loads is announced as loaded', async () => {
  const { browser, told } = await watch();
  browser.answer('tabs.get', (id) => {
    const before = { ...browser.tabs.get(id) };
    browser.changeTab(id, { status: 'complete' });
    return before;
  });
  browser.openTab(page(1, { status: 'loading' }));
  await turn();
  assert.deepEqual(
    told.map(([method, { status }]) => [method, status]),
    [['tabCreated', 'complete']],
  );
});

test('a restricted tab is not announced, and nothing it does is told', async () => {
  const { browser, told } = await watch();
  browser.openTab(page(1, { url: 'chrome://newtab/' }));
  await turn();
  browser.calls.length = 0;
  browser.changeTab(1, { title: 'New Tab' });
  browser.closeTab(1);
  await turn();
  assert.deepEqual(told, []);
  assert.deepEqual(browser.calls, [], 'nor is it looked at again before it goes elsewhere');
});

test('a tab that was closed before it could be looked at is not announced', async () => {
  const { browser, told } = await watch();
  browser.openTab(page(1));
  browser.closeTab(1);
  await turn();
  assert.deepEqual(told, []);
});

test('a tab that is closed while it is looked at is not announced, because its end would not be told', async () => {
  const { browser, told } = await watch();
  browser.answer('tabs.get', (id) => {
    const tab = browser.tabs.get(id);
    browser.closeTab(id);
    return tab;
  });
  browser.openTab(page(1));
  await turn();
  assert.deepEqual(told, []);
});

test('what changes is told, and nothing else', async () => {
  const { browser, listTabs, told } = await watch(page(1));
  await listTabs();
  browser.changeTab(1, { url: 'https://example.org/next', status: 'loading' });
  browser.changeTab(1, { title: 'Next' });
  browser.changeTab(1, { status: 'complete' });
  browser.changeTab(1, { audible: true });
  assert.deepEqual(told, [
    ['tabUpdated', { tabId: 1, url: 'https://example.org/next', status: 'loading' }],
    ['tabUpdated', { tabId: 1, title: 'Next' }],
    ['tabUpdated', { tabId: 1, status: 'complete' }],
  ]);
});

test('a tab that goes to a restricted page is taken back, once', async () => {
  const { browser, listTabs, told } = await watch(page(1));
  await listTabs();
  browser.changeTab(1, { url: 'chrome://settings/', status: 'loading' });
  browser.changeTab(1, { title: 'Settings', status: 'complete' });
  browser.closeTab(1);
  await turn();
  assert.deepEqual(told, [['tabRemoved', { tabId: 1 }]]);
});

test('a tab that leaves a restricted page is announced, once', async () => {
  const { browser, listTabs, told } = await watch(page(1, { url: 'chrome://newtab/' }));
  await listTabs();
  browser.changeTab(1, { url: 'https://example.org/1', status: 'loading' });
  browser.changeTab(1, { url: 'https://example.org/1' });
  await turn();
  assert.deepEqual(told, [['tabCreated', report(1, { status: 'loading' })]]);
});

test('a tab that is closed is told', async () => {
  const { browser, listTabs, told } = await watch(page(1), page(2));
  await listTabs();
  browser.closeTab(1);
  assert.deepEqual(told, [['tabRemoved', { tabId: 1 }]]);
});

test('a replaced tab is told as the old and the new one', async () => {
  const { browser, listTabs, told } = await watch(page(1));
  await listTabs();
  browser.tabs.delete(1);
  browser.addTab(page(2));
  browser.chrome.tabs.onReplaced.fire(2, 1);
  await turn();
  browser.changeTab(2, { title: 'Known' });
  browser.chrome.tabs.onRemoved.fire(1, {});
  assert.deepEqual(told, [
    ['tabReplaced', { removedTabId: 1, ...report(2) }],
    ['tabUpdated', { tabId: 2, title: 'Known' }],
  ]);
});

test('a tab is only taken back when what replaced it has gone or is restricted', async () => {
  const { browser, listTabs, told } = await watch(page(1), page(2));
  await listTabs();
  browser.chrome.tabs.onReplaced.fire(3, 1);
  browser.addTab(page(4, { url: 'chrome://settings/' }));
  browser.chrome.tabs.onReplaced.fire(4, 2);
  await turn();
  assert.deepEqual(told, [
    ['tabRemoved', { tabId: 1 }],
    ['tabRemoved', { tabId: 2 }],
  ]);
});

// ---- tabs on request ----

test('a tab that was asked for opens behind the others and is not announced', async () => {
  const { browser, createTab, told } = await watch(page(1));
  const tabId = await createTab(wish);
  await turn();
  assert.deepEqual(browser.callsOf('tabs.create'), [
    [{ url: 'https://example.org/new', active: false }],
  ]);
  assert.ok(browser.tabs.has(tabId));
  assert.deepEqual(told, []);
  assert.deepEqual(browser.callsOf('tabs.get'), [], 'nor is it looked at');
});

test('what becomes of a tab that was asked for is told', async () => {
  const { browser, createTab, told } = await watch();
  const tabId = await createTab(wish);
  browser.changeTab(tabId, { title: 'New' });
  browser.closeTab(tabId);
  assert.deepEqual(told, [
    ['tabUpdated', { tabId, title: 'New' }],
    ['tabRemoved', { tabId }],
  ]);
});

/** Lets the person act while a tab is being created on request. */
async function whileCreating({ browser, createTab }, act) {
  let finish;
  browser.answer('tabs.create', ({ url }) => {
    const tab = browser.openTab({ url });
    return new Promise((resolve) => (finish = () => resolve(tab)));
  });
  const created = createTab(wish);
  await act();
  await turn();
  finish();
  const tabId = await created;
  await turn();
  return tabId;
}

test('tabs that the person opens meanwhile are announced, and only those', async () => {
  const watched = await watch();
  await whileCreating(watched, () => watched.browser.openTab(page(2)));
  assert.deepEqual(watched.told, [['tabCreated', report(2)]]);
});

test('a tab that leaves a restricted page meanwhile is announced', async () => {
  const watched = await watch(page(1, { url: 'chrome://newtab/' }));
  await watched.listTabs();
  await whileCreating(watched, () =>
    watched.browser.changeTab(1, { url: 'https://example.org/1' }),
  );
  assert.deepEqual(watched.told, [['tabCreated', report(1)]]);
});

test('of two that were asked for at once, neither is announced', async () => {
  const watched = await watch();
  const second = {};
  await whileCreating(watched, () => {
    second.created = watched.createTab({ ...wish, newWindow: true });
  });
  await second.created;
  await turn();
  assert.equal(watched.browser.tabs.size, 2);
  assert.deepEqual(watched.told, []);
});

test('when none can be created, tabs that appeared meanwhile are announced all the same', async () => {
  const { browser, createTab, told } = await watch();
  for (const call of ['tabs.create', 'windows.create']) {
    browser.answer(call, async () => {
      browser.openTab(page(call.length));
      throw new Error('Tabs cannot be edited right now');
    });
  }
  await assert.rejects(createTab(wish), /Tabs cannot be edited right now/);
  await turn();
  assert.deepEqual(
    told.map(([method]) => method),
    ['tabCreated', 'tabCreated'],
  );
});

test('a new window opens without taking the focus, unless that was asked for', async () => {
  const { browser, createTab } = await watch();
  await createTab({ ...wish, newWindow: true });
  await createTab({ ...wish, newWindow: true, active: true });
  assert.deepEqual(browser.callsOf('windows.create'), [
    [{ url: wish.url, focused: false }],
    [{ url: wish.url, focused: true }],
  ]);
  assert.deepEqual(browser.callsOf('tabs.create'), []);
});

test('without a window to open it in, the tab gets one of its own', async () => {
  const { browser, createTab } = await watch();
  browser.answer('tabs.create', () => {
    throw new Error('No current window');
  });
  const tabId = await createTab(wish);
  assert.equal(browser.tabs.get(tabId).windowId, 2);
});

test('a window that Chrome does not open is an error', async () => {
  const { browser, createTab } = await watch();
  browser.answer('windows.create', () => undefined);
  await assert.rejects(createTab({ ...wish, newWindow: true }), /Chrome opened no window/);
});

test('activating a tab brings its window to the front', async () => {
  const { browser, activateTab } = await watch(page(1));
  await activateTab(1);
  assert.deepEqual(browser.callsOf('tabs.update'), [[1, { active: true }]]);
  assert.deepEqual(browser.callsOf('windows.update'), [[7, { focused: true }]]);
});

test('a navigation of the tab itself is told, with whether the document is the same; one of a frame in it is not', async () => {
  const { browser, told, listTabs } = await watch(page(1));
  await listTabs();
  const { onCommitted, onHistoryStateUpdated, onDOMContentLoaded } = browser.chrome.webNavigation;
  onCommitted.fire({
    tabId: 1,
    frameId: 0,
    url: 'https://example.org/next',
    documentLifecycle: 'active',
  });
  onDOMContentLoaded.fire({
    tabId: 1,
    frameId: 0,
    url: 'https://example.org/next',
    documentLifecycle: 'active',
  });
  onHistoryStateUpdated.fire({
    tabId: 1,
    frameId: 0,
    url: 'https://example.org/state',
    documentLifecycle: 'active',
  });
  onCommitted.fire({
    tabId: 1,
    frameId: 7,
    url: 'https://example.org/frame',
    documentLifecycle: 'active',
  });
  onCommitted.fire({
    tabId: 1,
    frameId: 0,
    url: 'https://example.org/maybe',
    documentLifecycle: 'prerender',
  });
  onCommitted.fire({
    tabId: 9,
    frameId: 0,
    url: 'https://example.org/unknown',
    documentLifecycle: 'active',
  });
  assert.deepEqual(told, [
    ['tabNavigated', { tabId: 1, url: 'https://example.org/next', sameDocument: false }],
    ['tabUpdated', { tabId: 1, status: 'interactive' }],
    ['tabNavigated', { tabId: 1, url: 'https://example.org/state', sameDocument: true }],
  ]);
});
