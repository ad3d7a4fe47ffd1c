/** The relay's calls: what they do and when they fail. `wire.test.mjs` checks their encoding. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeBrowser, settle } from './fake_chrome.mjs';
import { newWorker } from './worker.mjs';

async function start(...tabs) {
  const browser = new FakeBrowser(...tabs);
  const load = newWorker(browser);
  const { runCommand } = await load('commands.js');
  const { watchTabs } = await load('tab_events.js');
  watchTabs(() => {});
  return { browser, runCommand };
}

const page = (id, url = `https://example.org/${id}`) => ({ id, url });

test('rejects an unknown command by name', async () => {
  const { runCommand } = await start();
  await assert.rejects(runCommand('selfDestruct', {}), {
    message: 'Unknown command: selfDestruct',
  });
});

test('does not take inherited properties for commands', async () => {
  const { runCommand } = await start();
  for (const method of ['toString', 'constructor', '__proto__', 'hasOwnProperty']) {
    await assert.rejects(runCommand(method, {}), { message: `Unknown command: ${method}` });
  }
});

test('refuses to attach to a restricted page, without asking Chrome', async () => {
  const { browser, runCommand } = await start(
    page(1, 'chrome://settings/'),
    page(2, 'https://chromewebstore.google.com/'),
  );
  for (const tabId of [1, 2]) {
    await assert.rejects(
      runCommand('attachTab', { tabId }),
      /^Error: Cannot attach to this target: .* is a restricted page$/,
    );
  }
  assert.deepEqual(browser.callsTo('debugger.attach'), []);
});

test('loads a discarded tab, and attaches once its document has arrived', async () => {
  const { browser, runCommand } = await start({ ...page(1), discarded: true });
  const attached = runCommand('attachTab', { tabId: 1 });
  await settle();
  assert.deepEqual(browser.callsTo('tabs.reload').length, 1);
  assert.deepEqual(browser.callsTo('debugger.attach'), [], 'not to the empty document');
  browser.chrome.webNavigation.onCommitted.fire({ tabId: 1, frameId: 0, url: page(1).url });
  await attached;
  assert.equal(browser.callsTo('debugger.attach').length, 1);
});

test("attaching to a closed tab fails with Chrome's own message", async () => {
  const { runCommand } = await start();
  await assert.rejects(runCommand('attachTab', { tabId: 7 }), { message: 'No tab with id: 7.' });
});

test('attaches a created tab and describes it', async () => {
  const { browser, runCommand } = await start();
  const created = await runCommand('createTab', { url: 'https://example.org/new' });
  assert.deepEqual([...browser.attached], [created.tabId]);
  assert.deepEqual(
    { url: created.url, targetId: created.targetId, attached: created.attached },
    { url: 'https://example.org/new', targetId: `TARGET-${created.tabId}`, attached: true },
  );
});

test('creates a tab without a debugger if nobody is about to use it', async () => {
  const { browser, runCommand } = await start();
  const created = await runCommand('createTab', { url: 'https://example.org/new', attach: false });
  assert.equal(browser.attached.size, 0);
  assert.deepEqual([created.url, created.attached], ['https://example.org/new', false]);
});

test('creates an empty background tab by default', async () => {
  const { browser, runCommand } = await start();
  await runCommand('createTab');
  assert.deepEqual(browser.callsTo('tabs.create'), [[{ url: 'about:blank', active: false }]]);
});

test('refuses to create a tab with a restricted or relative URL', async () => {
  const { browser, runCommand } = await start();
  for (const url of ['chrome://settings/', 'CHROME://settings/', 'popup.html']) {
    await assert.rejects(runCommand('createTab', { url }), /Cannot open/);
  }
  assert.equal(browser.tabs.size, 0);
});

test('closes a created tab that cannot be attached', async () => {
  const { browser, runCommand } = await start();
  browser.stub('debugger.attach', () => {
    throw new Error('Cannot attach to this target.');
  });
  await assert.rejects(runCommand('createTab', { url: 'file:///home/x' }), {
    message: 'Cannot attach to this target.',
  });
  assert.equal(browser.tabs.size, 0);
});

test("keeps the code of Chrome's error for a command", async () => {
  const { browser, runCommand } = await start(page(1));
  const error = JSON.stringify({ code: -32601, message: "'Browser.close' wasn't found" });
  browser.stub('debugger.sendCommand', () => {
    throw new Error(error);
  });
  await assert.rejects(runCommand('cdpCommand', { tabId: 1, method: 'Browser.close' }), {
    message: error,
  });
});

test('sends empty parameters if a command has none', async () => {
  const { browser, runCommand } = await start(page(1));
  await runCommand('cdpCommand', { tabId: 1, method: 'Page.enable' });
  assert.deepEqual(browser.callsTo('debugger.sendCommand'), [[{ tabId: 1 }, 'Page.enable', {}]]);
});

test('refuses to navigate to a restricted page, in the page and in its frames', async () => {
  const { browser, runCommand } = await start(page(1));
  const navigate = (url, childSessionId) =>
    runCommand('cdpCommand', {
      tabId: 1,
      method: 'Page.navigate',
      params: { url },
      childSessionId,
    });
  for (const url of ['about:version', 'CHROME://settings/', `view-source:${page(1).url}`]) {
    await assert.rejects(navigate(url), /^Error: Cannot navigate to .* Chrome does not let/);
    await assert.rejects(navigate(url, 'CHILD'), /Cannot navigate to/);
  }
  assert.deepEqual(browser.callsTo('debugger.sendCommand'), []);
  // Chrome has its own answer to these.
  for (const url of ['https://example.org/2', 'about:blank', 'nonsense', undefined, 7]) {
    await navigate(url);
  }
  assert.equal(browser.callsTo('debugger.sendCommand').length, 5);
});

/** Starts to navigate a tab without a debugger, and returns the pending reply. */
async function navigateWithoutDebugger(url) {
  const { browser, runCommand } = await start(page(1, 'chrome://settings/'));
  const params = { url };
  const reply = runCommand('browserCommand', { method: 'Page.navigate', params, tabId: 1 });
  await settle();
  return { browser, reply };
}

test('navigates a tab without a debugger, and replies when its document has arrived', async () => {
  const { browser, reply } = await navigateWithoutDebugger(page(1).url);
  assert.deepEqual(browser.callsTo('tabs.update'), [[1, { url: page(1).url }]]);
  browser.chrome.webNavigation.onCommitted.fire({ tabId: 1, frameId: 0, url: page(1).url });
  assert.deepEqual(await reply, {});
  assert.deepEqual(browser.callsTo('debugger.attach'), []);
});

test('reports why a tab without a debugger could not be navigated', async () => {
  const { browser, reply } = await navigateWithoutDebugger('https://gone.example/');
  const error = 'net::ERR_NAME_NOT_RESOLVED';
  browser.chrome.webNavigation.onErrorOccurred.fire({ tabId: 1, frameId: 0, url: '', error });
  assert.deepEqual(await reply, { errorText: error });
});

test('the next navigation of a tab without a debugger ends the one before', async () => {
  const { browser, runCommand } = await start(page(1, 'chrome://settings/'));
  const { onCommitted, onErrorOccurred } = browser.chrome.webNavigation;
  const [slow, fast] = ['https://slow.example/', 'https://fast.example/'];
  const error = 'net::ERR_ABORTED';
  const navigate = (url) =>
    runCommand('browserCommand', { method: 'Page.navigate', params: { url }, tabId: 1 });
  const first = navigate(slow);
  await settle();
  const second = navigate(fast);
  assert.deepEqual(await first, { errorText: error });
  Object.assign(browser.tabs.get(1), { pendingUrl: fast, status: 'loading' });
  onErrorOccurred.fire({ tabId: 1, frameId: 0, url: slow, error });
  await settle();
  onCommitted.fire({ tabId: 1, frameId: 0, url: fast });
  assert.deepEqual(await second, {});
});

test('a redirected navigation without a debugger that ends in a download fails', async () => {
  const { browser, reply } = await navigateWithoutDebugger('https://example.org/redirect');
  const error = 'net::ERR_ABORTED';
  const url = 'https://example.org/file';
  browser.chrome.webNavigation.onErrorOccurred.fire({ tabId: 1, frameId: 0, url, error });
  assert.deepEqual(await reply, { errorText: error });
});

test('does not navigate a tab without a debugger to a restricted or invalid address', async () => {
  for (const [url, message] of [
    ['chrome://version/', /Chrome does not let extensions/],
    ['example.org', /^Error: Cannot navigate to invalid URL$/],
  ]) {
    const { browser, runCommand } = await start(page(1, 'chrome://settings/'));
    const call = { method: 'Page.navigate', params: { url }, tabId: 1 };
    await assert.rejects(runCommand('browserCommand', call), message);
    assert.deepEqual(browser.callsTo('tabs.update'), []);
  }
});

test('detaches, closes and activates only the given tab', async () => {
  const { browser, runCommand } = await start(page(1), page(2), page(3));
  await runCommand('attachTab', { tabId: 1 });
  await runCommand('attachTab', { tabId: 2 });
  await runCommand('detachTab', { tabId: 1 });
  assert.deepEqual([...browser.attached], [2]);
  await runCommand('closeTab', { tabId: 3 });
  assert.deepEqual([...browser.tabs.keys()], [1, 2]);
  await runCommand('activateTab', { tabId: 2 });
  assert.deepEqual(browser.callsTo('tabs.update'), [[2, { active: true }]]);
});
