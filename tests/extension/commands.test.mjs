/** What the relay may ask for, and what it is refused. How the calls are written is in `wire.test.mjs`. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeBrowser } from './fake_chrome.mjs';
import { startLife } from './life.mjs';

async function start(...tabs) {
  const browser = new FakeBrowser(...tabs);
  const { runCommand } = await startLife(browser)('commands.js');
  return { browser, runCommand };
}

const page = (id, url = `https://example.org/${id}`) => ({ id, url });

test('a command that is not known is refused by name', async () => {
  const { runCommand } = await start();
  await assert.rejects(runCommand('selfDestruct', {}), {
    message: 'Unknown command: selfDestruct',
  });
});

test('what every object has is no command', async () => {
  const { runCommand } = await start();
  for (const method of ['toString', 'constructor', '__proto__', 'hasOwnProperty']) {
    await assert.rejects(runCommand(method, {}), { message: `Unknown command: ${method}` });
  }
});

test('attaching to a restricted page is refused before Chrome is asked', async () => {
  const { browser, runCommand } = await start(
    page(1, 'chrome://settings/'),
    page(2, 'https://chromewebstore.google.com/'),
  );
  for (const tabId of [1, 2]) {
    await assert.rejects(
      runCommand('attachTab', { tabId }),
      /Cannot attach to this target: .* Chrome keeps from extensions/,
    );
  }
  assert.deepEqual(browser.callsOf('debugger.attach'), []);
});

test('a discarded tab is loaded, and attached to when its document is there', async () => {
  const browser = new FakeBrowser({ ...page(1), discarded: true });
  const life = startLife(browser);
  const [{ runCommand }, { watchTabs }] = [await life('commands.js'), await life('tabs.js')];
  watchTabs(() => {});
  const attached = runCommand('attachTab', { tabId: 1 });
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(browser.callsOf('tabs.reload').length, 1);
  assert.deepEqual(
    browser.callsOf('debugger.attach'),
    [],
    'its empty document is not what the client means',
  );
  browser.chrome.webNavigation.onCommitted.fire({ tabId: 1, frameId: 0, url: page(1).url });
  await attached;
  assert.equal(browser.callsOf('debugger.attach').length, 1);
});

test('attaching to a tab that has gone is refused with the words of Chrome', async () => {
  const { runCommand } = await start();
  await assert.rejects(runCommand('attachTab', { tabId: 7 }), { message: 'No tab with id: 7.' });
});

test('a tab that is asked for comes attached and described', async () => {
  const { browser, runCommand } = await start();
  const created = await runCommand('createTab', { url: 'https://example.org/new' });
  assert.deepEqual([...browser.attached], [created.tabId]);
  assert.deepEqual(
    { url: created.url, targetId: created.targetId, attached: created.attached },
    { url: 'https://example.org/new', targetId: `TARGET-${created.tabId}`, attached: true },
  );
});

test('a tab that is asked for without an address is empty and in the background', async () => {
  const { browser, runCommand } = await start();
  await runCommand('createTab');
  assert.deepEqual(browser.callsOf('tabs.create'), [[{ url: 'about:blank', active: false }]]);
});

test('no tab is opened on a restricted page, or on what is no address', async () => {
  const { browser, runCommand } = await start();
  for (const url of ['chrome://settings/', 'CHROME://settings/', 'popup.html']) {
    await assert.rejects(runCommand('createTab', { url }), /Cannot open/);
  }
  assert.equal(browser.tabs.size, 0);
});

test('a new tab that cannot be attached is closed again, because nobody would know of it', async () => {
  const { browser, runCommand } = await start();
  browser.answer('debugger.attach', () => {
    throw new Error('Cannot attach to this target.');
  });
  await assert.rejects(runCommand('createTab', { url: 'file:///home/x' }), {
    message: 'Cannot attach to this target.',
  });
  assert.equal(browser.tabs.size, 0);
});

test("Chrome's refusal of a command reaches the relay with its code", async () => {
  const { browser, runCommand } = await start(page(1));
  const refusal = JSON.stringify({ code: -32601, message: "'Browser.close' wasn't found" });
  browser.answer('debugger.sendCommand', () => {
    throw new Error(refusal);
  });
  await assert.rejects(runCommand('cdpCommand', { tabId: 1, method: 'Browser.close' }), {
    message: refusal,
  });
});

test('a command without parameters is sent with none', async () => {
  const { browser, runCommand } = await start(page(1));
  await runCommand('cdpCommand', { tabId: 1, method: 'Page.enable' });
  assert.deepEqual(browser.callsOf('debugger.sendCommand'), [[{ tabId: 1 }, 'Page.enable', {}]]);
});

test('detaching, closing and activating act on the tab that is named, and on no other', async () => {
  const { browser, runCommand } = await start(page(1), page(2), page(3));
  await runCommand('attachTab', { tabId: 1 });
  await runCommand('attachTab', { tabId: 2 });
  await runCommand('detachTab', { tabId: 1 });
  assert.deepEqual([...browser.attached], [2]);
  await runCommand('closeTab', { tabId: 3 });
  assert.deepEqual([...browser.tabs.keys()], [1, 2]);
  await runCommand('activateTab', { tabId: 2 });
  assert.deepEqual(browser.callsOf('tabs.update'), [[2, { active: true }]]);
});
