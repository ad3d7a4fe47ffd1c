/** What the relay receives about tabs: announcements, changes and removals. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { settle } from './fake_chrome.mjs';
import { answerStale, page, report, watch } from './watched_tabs.mjs';
import { newWorker } from './worker.mjs';

// ---- tabs opened by a page ----

test('announces a tab opened by a page with its opener, once its document has arrived', async () => {
  const { browser, sent } = await watch(page(1));
  browser.openTab(page(2, { url: '' }), 1);
  await settle();
  assert.deepEqual(sent, [], 'not with its initial empty document');
  browser.changeTab(2, { url: page(2).url, status: 'loading' });
  await settle();
  assert.deepEqual(sent, [], 'nor with just a URL');
  browser.chrome.webNavigation.onCommitted.fire({
    tabId: 2,
    frameId: 5,
    url: 'https://example.org/frame',
  });
  browser.chrome.webNavigation.onCommitted.fire({ tabId: 2, frameId: 0, url: page(2).url });
  await settle();
  assert.deepEqual(sent, [['tabCreated', report(2, { openerTabId: 1, status: 'loading' })]]);
});

test('announces the opener even if the document arrives before Chrome reports it', async () => {
  const { browser, sent } = await watch(page(1));
  browser.openTab(page(2));
  browser.chrome.webNavigation.onCommitted.fire({ tabId: 2, frameId: 0, url: page(2).url });
  browser.chrome.webNavigation.onCreatedNavigationTarget.fire({
    tabId: 2,
    sourceTabId: 1,
    url: page(2).url,
  });
  await settle();
  assert.deepEqual(sent, [['tabCreated', report(2, { openerTabId: 1 })]]);
});

test('announces a tab opened for a download', async () => {
  const { browser, sent } = await watch(page(1));
  browser.openTab(page(2, { url: '', title: '' }), 1);
  await settle();
  browser.chrome.webNavigation.onErrorOccurred.fire({
    tabId: 2,
    frameId: 0,
    url: 'https://example.org/download',
    error: 'net::ERR_ABORTED',
  });
  await settle();
  assert.deepEqual(
    sent.map(([, { tabId, url }]) => [tabId, url]),
    [[2, 'about:blank']],
  );
});

test('announces a tab opened with an empty document after a timeout', async (context) => {
  context.mock.timers.enable({ apis: ['setTimeout'] });
  const { browser, sent } = await watch(page(1));
  browser.openTab(page(2, { url: 'about:blank' }), 1);
  context.mock.timers.tick(100);
  await settle();
  assert.deepEqual(sent, []);
  context.mock.timers.tick(400);
  await settle();
  assert.deepEqual(
    sent.map(([, { tabId }]) => tabId),
    [2],
  );
});

// ---- changes while Chrome is describing a tab ----

test('reads a tab again if it changes while Chrome is answering', async () => {
  const { browser, sent } = await watch();
  answerStale(
    browser,
    'tabs.get',
    (id) => browser.tabs.get(id),
    () => browser.changeTab(2, { title: 'New title' }),
  );
  browser.openTab(page(2, { title: '' }));
  await settle();
  assert.deepEqual(sent, [['tabCreated', report(2, { title: 'New title' })]]);
});

test('announces a tab as loaded if it loads before Chrome is asked about it', async () => {
  const { browser, sent } = await watch();
  browser.stub('debugger.getTargets', () => {
    browser.changeTab(1, { status: 'complete' });
    return [];
  });
  browser.openTab(page(1, { status: 'loading' }));
  await settle();
  assert.deepEqual(
    sent.map(([method, { status }]) => [method, status]),
    [['tabCreated', 'complete']],
  );
});

test('announces a tab as loaded even if every answer is older than the event', async () => {
  const { browser, sent } = await watch();
  browser.stub('tabs.get', (id) => {
    const before = { ...browser.tabs.get(id) };
    browser.changeTab(id, { status: 'complete' });
    return before;
  });
  browser.openTab(page(1, { status: 'loading' }));
  await settle();
  assert.deepEqual(
    sent.map(([method, { status }]) => [method, status]),
    [['tabCreated', 'complete']],
  );
});

test('does not announce a tab that was closed before Chrome could describe it', async () => {
  const { browser, sent } = await watch();
  browser.openTab(page(1));
  browser.closeTab(1);
  await settle();
  assert.deepEqual(sent, []);
});

test('does not announce a tab that is closed while Chrome is describing it', async () => {
  const { browser, sent } = await watch();
  browser.stub('tabs.get', (id) => {
    const tab = browser.tabs.get(id);
    browser.closeTab(id);
    return tab;
  });
  browser.openTab(page(1));
  await settle();
  assert.deepEqual(sent, []);
});

// ---- restricted pages ----

test('sends nothing about a restricted tab', async () => {
  const { browser, sent } = await watch();
  browser.openTab(page(1, { url: 'chrome://newtab/' }));
  await settle();
  browser.calls.length = 0;
  browser.changeTab(1, { title: 'New Tab' });
  browser.closeTab(1);
  await settle();
  assert.deepEqual(sent, []);
  assert.deepEqual(browser.calls, [], 'and does not ask Chrome again until it navigates');
});

test('keeps a tab that goes to a restricted page, and reports when it does and when it leaves', async () => {
  const { browser, listTabs, sent } = await watch(page(1));
  await listTabs();
  browser.changeTab(1, { url: 'chrome://settings/', status: 'loading' });
  const committed = { tabId: 1, frameId: 0, url: 'chrome://settings/' };
  browser.chrome.webNavigation.onCommitted.fire(committed);
  browser.changeTab(1, { title: 'Settings', status: 'complete' });
  browser.changeTab(1, { url: 'chrome://version/', status: 'loading' });
  browser.changeTab(1, { url: page(1).url, status: 'loading' });
  browser.chrome.webNavigation.onCommitted.fire({ ...committed, url: page(1).url });
  browser.closeTab(1);
  await settle();
  const loading = (url, more) => ['tabUpdated', { tabId: 1, url, status: 'loading', ...more }];
  assert.deepEqual(sent, [
    loading('chrome://settings/', { restricted: true }),
    ['tabUpdated', { tabId: 1, title: 'Settings', status: 'complete' }],
    loading('chrome://version/'),
    loading(page(1).url, { restricted: false }),
    ['tabNavigated', { tabId: 1, url: page(1).url, sameDocument: false }],
    ['tabRemoved', { tabId: 1 }],
  ]);
});

test('does not report view-source as a navigation to the page itself', async () => {
  const { browser, listTabs, sent } = await watch(page(1));
  await listTabs();
  const url = `view-source:${page(1).url}`;
  browser.changeTab(1, { url });
  browser.chrome.webNavigation.onCommitted.fire({ tabId: 1, frameId: 0, url: page(1).url });
  await settle();
  assert.deepEqual(sent, [['tabUpdated', { tabId: 1, url, restricted: true }]]);
});

test('lists a restricted tab only if the relay had it, also after a restart', async () => {
  const { browser, listTabs } = await watch(page(1), page(2, { url: 'chrome://newtab/' }));
  await listTabs();
  const change = { url: 'chrome://settings/', title: 'Settings' };
  browser.changeTab(1, change);
  await settle();
  const restarted = await newWorker(browser)('tabs.js');
  for (const list of [listTabs, restarted.listTabs]) {
    const listed = JSON.parse(JSON.stringify(await list()));
    assert.deepEqual(listed, [report(1, { ...change, restricted: true })]);
  }
});

test('announces a tab that leaves a restricted page, once', async () => {
  const { browser, listTabs, sent } = await watch(page(1, { url: 'chrome://newtab/' }));
  await listTabs();
  browser.changeTab(1, { url: 'https://example.org/1', status: 'loading' });
  browser.changeTab(1, { url: 'https://example.org/1' });
  await settle();
  assert.deepEqual(sent, [['tabCreated', report(1, { status: 'loading' })]]);
});

// ---- changes ----

test('reports changes of URL, title and status, and nothing else', async () => {
  const { browser, listTabs, sent } = await watch(page(1));
  await listTabs();
  browser.changeTab(1, { url: 'https://example.org/next', status: 'loading' });
  browser.changeTab(1, { title: 'Next' });
  browser.changeTab(1, { status: 'complete' });
  browser.changeTab(1, { audible: true });
  assert.deepEqual(sent, [
    ['tabUpdated', { tabId: 1, url: 'https://example.org/next', status: 'loading' }],
    ['tabUpdated', { tabId: 1, title: 'Next' }],
    ['tabUpdated', { tabId: 1, status: 'complete', title: 'Next' }],
  ]);
});

test('reports a closed tab', async () => {
  const { browser, listTabs, sent } = await watch(page(1), page(2));
  await listTabs();
  browser.closeTab(1);
  assert.deepEqual(sent, [['tabRemoved', { tabId: 1 }]]);
});

test('reports a replaced tab with its old and new id', async () => {
  const { browser, listTabs, sent } = await watch(page(1));
  await listTabs();
  browser.tabs.delete(1);
  browser.addTab(page(2));
  browser.chrome.tabs.onReplaced.fire(2, 1);
  await settle();
  browser.changeTab(2, { title: 'New title' });
  browser.chrome.tabs.onRemoved.fire(1, {});
  assert.deepEqual(sent, [
    ['tabReplaced', { removedTabId: 1, ...report(2) }],
    ['tabUpdated', { tabId: 2, title: 'New title' }],
  ]);
});

test('withdraws a replaced tab if its replacement is closed or restricted', async () => {
  const { browser, listTabs, sent } = await watch(page(1), page(2));
  await listTabs();
  browser.chrome.tabs.onReplaced.fire(3, 1);
  browser.addTab(page(4, { url: 'chrome://settings/' }));
  browser.chrome.tabs.onReplaced.fire(4, 2);
  await settle();
  assert.deepEqual(sent, [
    ['tabRemoved', { tabId: 1 }],
    ['tabRemoved', { tabId: 2 }],
  ]);
});

// ---- navigation ----

test('after a failed navigation, a tab has its current URL until the next document', async () => {
  const { browser, describeTab } = await watch(
    page(1, { url: '', pendingUrl: 'https://example.org/failing' }),
  );
  const { onCommitted, onErrorOccurred } = browser.chrome.webNavigation;
  const url = async () => (await describeTab(1)).url;
  const error = 'net::ERR_CONNECTION_REFUSED';
  onErrorOccurred.fire({ tabId: 1, frameId: 3, url: 'https://example.org/frame', error });
  assert.equal(await url(), 'https://example.org/failing', 'an error in a frame does not count');
  onErrorOccurred.fire({ tabId: 1, frameId: 0, url: 'https://example.org/failing', error });
  assert.equal(await url(), 'about:blank');
  onCommitted.fire({ tabId: 1, frameId: 0, url: 'about:blank' });
  browser.tabs.get(1).pendingUrl = 'https://example.org/next';
  assert.equal(await url(), 'https://example.org/next');
});

test('reports navigations of the page, and whether the document is the same', async () => {
  const { browser, sent, listTabs } = await watch(page(1));
  await listTabs();
  const { onCommitted, onHistoryStateUpdated, onDOMContentLoaded } = browser.chrome.webNavigation;
  const at = (path, more = {}) => ({
    tabId: 1,
    frameId: 0,
    url: `https://example.org/${path}`,
    documentLifecycle: 'active',
    ...more,
  });
  onCommitted.fire(at('next'));
  onDOMContentLoaded.fire(at('next'));
  onHistoryStateUpdated.fire(at('state'));
  onCommitted.fire(at('frame', { frameId: 7 }));
  onCommitted.fire(at('prerendered', { documentLifecycle: 'prerender' }));
  onCommitted.fire(at('unreported', { tabId: 9 }));
  assert.deepEqual(sent, [
    ['tabNavigated', { tabId: 1, url: 'https://example.org/next', sameDocument: false }],
    ['tabUpdated', { tabId: 1, status: 'interactive' }],
    ['tabNavigated', { tabId: 1, url: 'https://example.org/state', sameDocument: true }],
  ]);
});
