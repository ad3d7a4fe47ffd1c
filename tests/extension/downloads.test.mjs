/** Which downloads are an agent's, and what happens to them. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { settle } from './fake_chrome.mjs';
import { changed, created, GUID, OWN, startWatching as start, URL } from './watched_downloads.mjs';
import { newWorker } from './worker.mjs';

test('a download that was taken is saved in its own folder and erased when the relay has it', async () => {
  const { begin, sent, downloads, controlDownload } = await start();
  const id = begin();
  assert.deepEqual(sent, [created()]);
  assert.equal(downloads.items.get(id).filename, '', 'Chrome waits for the decision');
  await controlDownload(GUID, 'take');
  assert.equal(downloads.items.get(id).filename, OWN);
  downloads.complete(id);
  await settle();
  assert.deepEqual(sent.slice(1), [changed('completed', 38, { path: OWN })]);
  await controlDownload(GUID, 'finish');
  assert.deepEqual([...downloads.items], []);
});

test('a decision that arrives before Chrome asks for a name counts', async () => {
  const { begin, downloads, controlDownload } = await start();
  const id = begin(GUID, URL, { asks: false });
  await controlDownload(GUID, 'take');
  downloads.askForName(id, 'report.txt');
  assert.equal(downloads.items.get(id).filename, OWN);
  // Chrome asks again when an interrupted download goes on.
  downloads.askForName(id, 'report.txt');
  assert.equal(downloads.items.get(id).filename, OWN);
});

test('a download that the relay leaves is the user’s', async () => {
  for (const action of ['leave', 'watch']) {
    const { begin, sent, downloads, controlDownload } = await start();
    const id = begin();
    await controlDownload(GUID, action);
    downloads.complete(id);
    await settle();
    const { filename } = downloads.items.get(id);
    assert.equal(filename, '/home/user/Downloads/report.txt');
    const reported = action === 'watch' ? [changed('completed', 38, { path: filename })] : [];
    assert.deepEqual(sent.slice(1), reported);
  }
});

test('Chrome chooses the name if the relay does not decide', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { begin, downloads } = await start();
  const id = begin();
  t.mock.timers.tick(3_000);
  assert.equal(downloads.items.get(id).filename, '/home/user/Downloads/report.txt');
});

test('the user’s downloads are not reported and not touched', async () => {
  const { sent, downloads, browser, onNavigationAborted, begin } = await start();
  // In a tab that no agent uses: with and without a navigation.
  onNavigationAborted(2, URL);
  const ids = [downloads.start(URL), downloads.start(URL)];
  // By another extension, in the moment when an agent's download begins.
  ids.push(begin(GUID, URL, { byExtensionId: 'other' }));
  // The announcement was not for this one.
  ids.push(begin(GUID, URL, { url: 'https://other/', finalUrl: 'https://other/' }));
  await settle();
  for (const id of ids) {
    assert.equal(downloads.items.get(id).filename, '/home/user/Downloads/report.txt');
  }
  assert.deepEqual(sent, []);
  assert.deepEqual(browser.callsTo('downloads.erase'), []);
});

test('an old announcement does not claim the user’s download', async (t) => {
  t.mock.timers.enable({ apis: ['Date'] });
  const { sent, downloads, onDebuggerEvent } = await start();
  onDebuggerEvent(1, 'Page.downloadWillBegin', { guid: GUID, url: URL });
  t.mock.timers.tick(2_000);
  downloads.start(URL);
  assert.deepEqual(sent, []);
});

test('a download in a tab of the user’s does not use an announcement of the same address', async () => {
  const { announce, browser, sent, downloads } = await start();
  announce();
  browser.chrome.webNavigation.onErrorOccurred.fire({ tabId: 2, frameId: 0, url: URL });
  const users = downloads.start(URL);
  await settle();
  assert.deepEqual(sent, []);
  assert.equal(downloads.items.get(users).filename, '/home/user/Downloads/report.txt');
  downloads.start(URL);
  assert.deepEqual(sent, [created()]);
});

test('downloads of the same address at once keep their ids', async () => {
  const { begin, sent, downloads } = await start();
  begin('a');
  const users = downloads.start(URL);
  begin('b');
  assert.deepEqual(sent, [created('a'), created('b')]);
  assert.equal(downloads.items.get(users).filename, '/home/user/Downloads/report.txt');
});

test('downloads that are announced before Chrome creates any keep their ids', async () => {
  const { announce, sent, downloads } = await start();
  const second = 'https://example.org/second';
  announce('a');
  announce('b', second);
  announce('c', URL, 4);
  [URL, second, URL].forEach((url) => downloads.start(url));
  const expected = [created('a'), created('b', { url: second }), created('c', { tabId: 4 })];
  assert.deepEqual(sent, expected);
  const users = [URL, second].map((url) => downloads.start(url));
  assert.deepEqual(sent, expected, 'each announcement is for one download');
  for (const id of users) {
    assert.equal(downloads.items.get(id).filename, '/home/user/Downloads/report.txt');
  }
});

test('a redirected download is found by its last address', async () => {
  const { begin, sent } = await start();
  begin(GUID, URL, { url: 'https://example.org/redirect' });
  assert.deepEqual(sent, [created()]);
});

test('nothing is watched unless an agent wants it', async () => {
  const { begin, sent, downloads, watchDownloads } = await start({ isWatching: false });
  assert.ok(!downloads.isWatched);
  begin();
  assert.deepEqual(sent, []);
  watchDownloads(true);
  assert.ok(downloads.isWatched);
  watchDownloads(false);
  assert.ok(!downloads.isWatched);
});

test('a download in progress is still watched when no agent is left', async () => {
  const { begin, downloads, sent, watchDownloads, controlDownload } = await start();
  const id = begin();
  await controlDownload(GUID, 'take');
  watchDownloads(false);
  downloads.complete(id);
  await settle();
  assert.deepEqual(sent.at(-1), changed('completed', 38, { path: OWN }));
  await controlDownload(GUID, 'finish');
  assert.ok(!downloads.isWatched);
});

test('the debugger’s own events about downloads are not forwarded', async () => {
  const { onDebuggerEvent } = await start();
  assert.ok(onDebuggerEvent(1, 'Page.downloadWillBegin', {}));
  assert.ok(onDebuggerEvent(1, 'Page.downloadProgress', {}));
  assert.ok(!onDebuggerEvent(1, 'Page.frameNavigated', {}));
});

test('the debugger’s own events are forwarded if no agent has asked for downloads', async () => {
  const { onDebuggerEvent, begin, controlDownload, watchDownloads } = await start();
  begin();
  await controlDownload(GUID, 'take');
  await watchDownloads(false);
  assert.ok(!onDebuggerEvent(1, 'Page.downloadWillBegin', { guid: 'other' }));
  assert.ok(!onDebuggerEvent(1, 'Page.downloadProgress', { guid: 'other' }));
  assert.ok(onDebuggerEvent(1, 'Page.downloadProgress', { guid: GUID }), 'the relay reports it');
});

test('cancelling removes the file and the entry', async () => {
  for (const isComplete of [false, true]) {
    const { begin, sent, downloads, controlDownload, browser } = await start();
    const id = begin();
    await controlDownload(GUID, 'take');
    if (isComplete) {
      downloads.complete(id);
      await settle();
    }
    await controlDownload(GUID, 'cancel');
    await settle();
    assert.deepEqual([...downloads.items], []);
    assert.deepEqual(browser.callsTo('downloads.removeFile'), [[id]]);
    assert.equal(sent.at(-1)[1].state, 'canceled');
    assert.equal(sent.filter(([, { state }]) => state === 'canceled').length, 1);
  }
});

test('a download is not cancelled before Chrome has moved it, which creates the folder again', async () => {
  for (const act of ['controlDownload', 'cancelDownloads']) {
    const worker = await start();
    const id = worker.begin(GUID, URL, { moves: false });
    await worker.controlDownload(GUID, 'take');
    const ended = worker[act](GUID, 'cancel');
    await settle();
    assert.deepEqual(worker.browser.callsTo('downloads.cancel'), []);
    worker.downloads.move(id);
    await ended;
    assert.deepEqual(worker.browser.callsTo('downloads.cancel'), [[id]]);
    assert.deepEqual([...worker.downloads.items], []);
    assert.ok(act === 'controlDownload' || !worker.downloads.isWatched);
  }
});

test('a download that Chrome never moves is cancelled anyway', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { begin, downloads, controlDownload } = await start();
  begin(GUID, URL, { moves: false });
  await controlDownload(GUID, 'take');
  const ended = controlDownload(GUID, 'cancel');
  t.mock.timers.tick(3_000);
  await ended;
  assert.deepEqual([...downloads.items], []);
});

test('an interrupted download is reported as canceled and removed from the list', async () => {
  const { begin, sent, downloads, controlDownload } = await start();
  const id = begin();
  await controlDownload(GUID, 'take');
  downloads.interrupt(id);
  await settle();
  assert.deepEqual(sent.slice(1), [changed('canceled', 0, { path: OWN })]);
  assert.deepEqual([...downloads.items], []);
});

test('progress is reported when there is any', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { begin, sent, downloads, controlDownload } = await start();
  const id = begin();
  await controlDownload(GUID, 'take');
  for (const bytes of [10, 10, 20]) {
    downloads.items.get(id).bytesReceived = bytes;
    t.mock.timers.tick(500);
    await settle();
  }
  assert.deepEqual(sent.slice(1), [changed('inProgress', 10), changed('inProgress', 20)]);
  downloads.complete(id);
  await settle();
  await controlDownload(GUID, 'finish');
  t.mock.timers.tick(5_000);
  await settle();
  assert.equal(sent.length, 4);
});

test('while an agent wants downloads, the sites of its tabs may start several', async () => {
  const { browser, watchDownloads, cancelDownloads } = await start();
  const { onCommitted } = browser.chrome.webNavigation;
  const settings = (name) => browser.callsTo(`contentSettings.automaticDownloads.${name}`);
  const allow = (primaryPattern) => [{ primaryPattern, setting: 'allow' }];
  await settle();
  assert.deepEqual(settings('set'), [allow('https://example.org/*')]);
  browser.openTab({ id: 3, url: 'https://other.example/' });
  await settle();
  for (const [tabId, url] of [
    [1, 'http://127.0.0.1:8080/page'],
    [1, 'https://example.org/again'],
    [3, 'https://users.example/'],
  ]) {
    onCommitted.fire({ tabId, frameId: 0, url });
  }
  await settle();
  assert.deepEqual(settings('set').slice(1), [allow('http://127.0.0.1:8080/*')]);
  await watchDownloads(false);
  await cancelDownloads();
  assert.deepEqual(settings('clear'), [[{}]]);
  onCommitted.fire({ tabId: 1, frameId: 0, url: 'https://later.example/' });
  await settle();
  assert.equal(settings('set').length, 2);
});

test('a site is not allowed to start several downloads after the agent has left', async () => {
  const { browser, onTabUsed, watchDownloads } = await start();
  const settings = [];
  let finish;
  browser.stub('contentSettings.automaticDownloads.clear', () => settings.push('clear'));
  browser.stub('contentSettings.automaticDownloads.set', async ({ primaryPattern }) => {
    await new Promise((resolve) => (finish = resolve));
    settings.push(primaryPattern);
  });
  // Chrome has not yet answered when the agent leaves.
  const slow = onTabUsed(1, 'https://slow.example/');
  await settle();
  const left = watchDownloads(false);
  await settle();
  assert.deepEqual(settings, []);
  finish();
  await Promise.all([slow, left]);
  assert.deepEqual(settings, ['https://slow.example/*', 'clear']);
});

test('a tab whose address arrives after the agent has left is not allowed either', async () => {
  const { browser, onTabUsed, watchDownloads } = await start();
  await settle();
  const allowed = () => browser.callsTo('contentSettings.automaticDownloads.set').length;
  const before = allowed();
  let answer;
  browser.stub('tabs.get', () => new Promise((resolve) => (answer = resolve)));
  const used = onTabUsed(1);
  await watchDownloads(false);
  answer({ url: 'https://late.example/' });
  await used;
  assert.equal(allowed(), before);
});

test('without a relay, what was taken for agents is removed, and the next relay learns of its folder', async () => {
  const { begin, sent, downloads, controlDownload, cancelDownloads, reportLeft } = await start();
  begin();
  await controlDownload(GUID, 'take');
  const users = downloads.start('https://example.org/other');
  await cancelDownloads();
  assert.deepEqual([...downloads.items.keys()], [users]);
  assert.ok(!downloads.isWatched);
  sent.length = 0;
  await reportLeft();
  assert.deepEqual(sent, [changed('canceled', 0, { totalBytes: 0, path: OWN })]);
  await reportLeft();
  assert.equal(sent.length, 1, 'once');
});

test('a relay that is back while downloads are being removed learns of their folders, too', async () => {
  const { begin, sent, controlDownload, cancelDownloads, reportLeft } = await start();
  begin();
  await controlDownload(GUID, 'take');
  sent.length = 0;
  const cancelled = cancelDownloads();
  await reportLeft();
  assert.deepEqual(sent, [changed('canceled', 0, { totalBytes: 0, path: OWN })]);
  await cancelled;
});

test('a restarted worker removes what the last one had taken', async () => {
  const { begin, downloads, controlDownload, browser } = await start();
  begin();
  await controlDownload(GUID, 'take');
  const users = downloads.start('https://example.org/other');
  await settle();
  const worker = await newWorker(browser)('downloads.js');
  const sent = [];
  worker.reportDownloadsTo((method, params) => sent.push([method, params.path]));
  await worker.discardLeftovers();
  assert.deepEqual([...downloads.items.keys()], [users]);
  await worker.reportLeft();
  assert.deepEqual(sent, [['downloadChanged', OWN]]);
});
