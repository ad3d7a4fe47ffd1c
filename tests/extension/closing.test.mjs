/** Closing tabs for agents: a page is never asked, and nothing is attached where nothing could ask. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeBrowser, settle } from './fake_chrome.mjs';
import { newWorker } from './worker.mjs';

async function start(tab) {
  const browser = new FakeBrowser({ id: 1, url: 'https://example.org/', ...tab }, { id: 2 });
  const load = newWorker(browser);
  const { runCommand } = await load('commands.js');
  const { watchTabs } = await load('tab_events.js');
  watchTabs(() => {});
  const { setPaused } = await load('pause.js');
  return {
    browser,
    pause: () => setPaused(true),
    attach: () => runCommand('attachTab', { tabId: 1 }),
    close: () => runCommand('closeTab', { tabId: 1 }),
    /** How Chrome was asked to close something. */
    closed: () =>
      browser.calls
        .filter(([name, , method]) => name === 'tabs.remove' || method === 'Target.closeTarget')
        .map(([name, tab, , params]) => (name === 'tabs.remove' ? tab : params.targetId)),
  };
}

const NO_PAGE = {
  discarded: { discarded: true },
  restricted: { url: 'chrome://settings/' },
};

for (const isUsed of [false, true]) {
  test(`closes the page of a tab that is ${isUsed ? '' : 'not '}in use`, async () => {
    const { browser, attach, close, closed } = await start();
    if (isUsed) {
      await attach();
    }
    await close();
    assert.deepEqual(closed(), ['TARGET-1']);
    assert.equal(browser.callsTo('debugger.attach').length, 1);
    assert.deepEqual([...browser.tabs.keys()], [2]);
  });
}

for (const [name, tab] of Object.entries(NO_PAGE)) {
  test(`closes a ${name} tab without attaching to it`, async () => {
    const { browser, close, closed } = await start(tab);
    await close();
    assert.deepEqual(closed(), [1]);
    assert.deepEqual(browser.callsTo('debugger.attach'), []);
    assert.deepEqual([...browser.tabs.keys()], [2]);
  });
}

test('is done when Chrome has agreed, and further calls join until the tab is gone', async () => {
  const { browser, close, closed } = await start();
  let agree;
  browser.stub('debugger.sendCommand', (_tab, method) =>
    method === 'Target.closeTarget'
      ? new Promise((resolve) => (agree = resolve))
      : { targetInfo: { targetId: 'TARGET-1' } },
  );
  let done = 0;
  const closes = [close(), close()].map((each) => each.then(() => (done += 1)));
  await settle();
  assert.equal(done, 0);
  agree({ success: true });
  await Promise.all(closes);
  await close();
  assert.deepEqual(closed(), ['TARGET-1']);
  browser.closeTab(1);
  await assert.rejects(close());
});

const REFUSED = {
  'to attach': { call: 'debugger.attach', detached: 0 },
  'to close the page': { call: 'debugger.sendCommand', detached: 1 },
};

for (const [name, { call, detached }] of Object.entries(REFUSED)) {
  test(`closes the tab directly if Chrome refuses ${name}`, async () => {
    const { browser, close, closed } = await start();
    browser.stub(call, () => {
      throw new Error('Not allowed');
    });
    await close();
    assert.equal(closed().at(-1), 1);
    assert.deepEqual([...browser.tabs.keys()], [2]);
    assert.equal(browser.callsTo('debugger.detach').length, detached);
  });
}

test('a tab that is already closing is not an error', async () => {
  const { browser, close, closed } = await start();
  browser.stub('debugger.sendCommand', () => {
    browser.closeTab(1);
    throw new Error('Detached while handling command.');
  });
  await close();
  assert.deepEqual(closed(), []);
});

test('a tab is not closed if the user stops agents while Chrome looks it up', async () => {
  const { browser, close, closed, pause } = await start();
  browser.stub('tabs.get', async () => {
    pause();
    return { id: 1, url: 'https://example.org/' };
  });
  await assert.rejects(close(), /The person stopped this/);
  assert.deepEqual(closed(), []);
  assert.deepEqual(browser.callsTo('debugger.attach'), []);
});
