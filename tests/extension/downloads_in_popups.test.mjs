/** Downloads in popups: whose they are, before and after an agent uses the popup. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { settle } from './fake_chrome.mjs';
import { created, startWatching as start, URL } from './watched_downloads.mjs';

test('a popup whose first request is a download: reported in the page that opened it', async () => {
  const { browser, sent, downloads } = await start();
  browser.openTab({ id: 3, url: URL }, 1);
  browser.chrome.webNavigation.onErrorOccurred.fire({ tabId: 3, frameId: 0, url: URL });
  downloads.start(URL);
  const [[method, { guid, ...params }]] = sent;
  assert.equal(method, 'downloadCreated');
  assert.match(guid, /^[0-9a-f-]{36}$/);
  const { frameId: _none, ...expected } = created(guid, { openerTabId: 1 })[1];
  assert.deepEqual({ guid, ...params }, expected);
});

test('a download in a popup with a page is reported there', async () => {
  const { browser, sent, downloads } = await start();
  browser.openTab({ id: 3, url: 'https://example.org/popup' }, 1);
  const { onCommitted, onErrorOccurred } = browser.chrome.webNavigation;
  onCommitted.fire({ tabId: 3, frameId: 0, url: 'https://example.org/popup' });
  await settle();
  onErrorOccurred.fire({ tabId: 3, frameId: 0, url: URL });
  downloads.start(URL);
  const { tabId, openerTabId } = sent[0][1];
  assert.deepEqual({ tabId, openerTabId }, { tabId: 3, openerTabId: 1 });
});

/** Tab 1, which is in use, opens tab 3 with a page. Returns what a later download there reports. */
async function downloadInPopup(use) {
  const started = await start();
  const { browser, sent, downloads } = started;
  const { onCommitted, onErrorOccurred } = browser.chrome.webNavigation;
  browser.chrome.tabs.onActivated.fire({ tabId: 3, windowId: 7 });
  browser.openTab({ id: 3, url: 'https://example.org/popup' }, 1);
  onCommitted.fire({ tabId: 3, frameId: 0, url: 'https://example.org/popup' });
  await settle();
  await use(started);
  onErrorOccurred.fire({ tabId: 3, frameId: 0, url: URL });
  const id = downloads.start(URL);
  await settle();
  return { sent, filename: downloads.items.get(id).filename };
}

test('a tab that the user opens from a tab in use, and goes to, is the user’s', async () => {
  const { sent, filename } = await downloadInPopup(({ browser }) =>
    browser.chrome.tabs.onActivated.fire({ tabId: 3, windowId: 7 }),
  );
  assert.deepEqual(sent, []);
  assert.equal(filename, '/home/user/Downloads/report.txt');
});

test('downloads in a popup are the opener’s for a few seconds only', async (t) => {
  t.mock.timers.enable({ apis: ['Date'] });
  for (const [ms, expected] of [
    [4_900, ['downloadCreated']],
    [5_100, []],
  ]) {
    const { sent } = await downloadInPopup(() => t.mock.timers.tick(ms));
    const methods = sent.map(([method]) => method);
    assert.deepEqual(methods, expected, `${ms} ms`);
  }
});

test('an agent that uses the popup gets its later downloads', async (t) => {
  t.mock.timers.enable({ apis: ['Date'] });
  const { sent } = await downloadInPopup(async ({ attachments }) => {
    t.mock.timers.tick(60_000);
    await attachments.attach(3);
  });
  assert.equal(sent[0]?.[1].tabId, 3);
});

test('a popup whose first request is a slow download: the opener’s', async (t) => {
  t.mock.timers.enable({ apis: ['Date'] });
  const { browser, sent, downloads } = await start();
  browser.openTab({ id: 3, url: URL }, 1);
  t.mock.timers.tick(20_000);
  browser.chrome.webNavigation.onErrorOccurred.fire({ tabId: 3, frameId: 0, url: URL });
  downloads.start(URL);
  assert.equal(sent[0]?.[1].openerTabId, 1);
});

test('a popup of a tab that no agent uses is the user’s', async () => {
  const { browser, sent, downloads } = await start();
  browser.openTab({ id: 3, url: URL }, 2);
  browser.chrome.webNavigation.onErrorOccurred.fire({ tabId: 3, frameId: 0, url: URL });
  downloads.start(URL);
  assert.deepEqual(sent, []);
});
