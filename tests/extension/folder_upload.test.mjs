/** Uploading a folder from a tab that is not visible, which Chrome would cancel silently. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeBrowser } from './fake_chrome.mjs';
import { newWorker } from './worker.mjs';

async function start({ active = false, state = 'normal', attributes = [] } = {}) {
  const browser = new FakeBrowser({ id: 1, url: 'https://example.org/', windowId: 7, active });
  browser.windows.set(7, { state });
  browser.stub('debugger.sendCommand', (_target, method) =>
    method === 'DOM.describeNode' ? { node: { attributes } } : { done: method },
  );
  const { runCommand } = await newWorker(browser)('commands.js');
  const params = { files: ['/tmp/folder'], objectId: '1.2.3' };
  const method = 'DOM.setFileInputFiles';
  return { browser, choose: () => runCommand('cdpCommand', { tabId: 1, method, params }) };
}

const FOLDER = ['type', 'file', 'webkitdirectory', ''];
const sent = (browser) => browser.callsTo('debugger.sendCommand').map(([, method]) => method);

test('refuses a folder in a tab that nobody sees, and names the way out', async () => {
  for (const hidden of [{ active: false }, { active: true, state: 'minimized' }]) {
    const { browser, choose } = await start({ ...hidden, attributes: FOLDER });
    await assert.rejects(choose(), /DOM\.setFileInputFiles: .*visible.*bringToFront/);
    assert.deepEqual(sent(browser), ['DOM.describeNode']);
    const [[, , node]] = browser.callsTo('debugger.sendCommand');
    assert.deepEqual(node, { objectId: '1.2.3' });
  }
});

test('passes on everything that Chrome can do', async () => {
  for (const options of [
    { attributes: ['type', 'file'] },
    { attributes: ['name', 'webkitdirectory'] },
    { attributes: FOLDER, active: true },
  ]) {
    const { choose } = await start(options);
    assert.deepEqual(await choose(), { done: 'DOM.setFileInputFiles' });
  }
});

test('leaves the error to the command if the element cannot be described', async () => {
  const { browser, choose } = await start();
  browser.stub('debugger.sendCommand', (_target, method) => {
    throw new Error(`${method} failed`);
  });
  await assert.rejects(choose(), /DOM\.setFileInputFiles failed/);
});
