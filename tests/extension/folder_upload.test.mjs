/** Uploading a folder from a tab that is not visible, which Chrome would cancel silently. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeBrowser, settle } from './fake_chrome.mjs';
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
  const run = (name, given) => runCommand('cdpCommand', { tabId: 1, method: name, params: given });
  return { browser, run, choose: () => run(method, params) };
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

/** How Playwright runs a script: the source, and arguments in a format of its own. */
const scriptOfPlaywright = (directoryUpload) => ({
  functionDeclaration: '(utilityScript, ...args) => utilityScript.evaluate(...args)',
  objectId: '1.1.1',
  arguments: [
    { objectId: '1.1.1' },
    { value: true },
    { value: false },
    { value: '([injected, node, { directoryUpload }]) => injected.retarget(node) …' },
    { value: 2 },
    { value: { a: [{ h: 0 }, { h: 1 }, { o: [{ k: 'directoryUpload', v: directoryUpload }] }] } },
  ],
});

test('Playwright learns the reason from the script with which it prepares an upload', async () => {
  const { browser, run } = await start({ attributes: FOLDER });
  const method = 'Runtime.callFunctionOn';
  const { exceptionDetails } = await run(method, scriptOfPlaywright(true));
  assert.match(exceptionDetails.exception.description, /^Error: DOM\.setFileInputFiles: .*visible/);
  assert.deepEqual(sent(browser), []);
  assert.deepEqual(await run(method, scriptOfPlaywright(false)), { done: method });
  const other = { functionDeclaration: '() => 1', arguments: [{ value: 'directoryUpload' }] };
  assert.deepEqual(await run(method, other), { done: method });
  assert.deepEqual(await run(method, { functionDeclaration: '() => 1' }), { done: method });
  const visible = await start({ active: true });
  assert.deepEqual(await visible.run(method, scriptOfPlaywright(true)), { done: method });
});

test('commands do not overtake an upload that is being checked', async () => {
  const { browser, run, choose } = await start();
  const replies = [choose(), run('Page.reload'), choose(), run('Page.stopLoading')];
  await Promise.all(replies);
  const isOwn = (method) => method !== 'DOM.describeNode';
  assert.deepEqual(sent(browser).filter(isOwn), [
    'DOM.setFileInputFiles',
    'Page.reload',
    'DOM.setFileInputFiles',
    'Page.stopLoading',
  ]);
  run('Page.reload');
  assert.equal(sent(browser).at(-1), 'Page.reload', 'sent at once');
});

test('a page that does not answer the check does not block its tab', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { browser, run, choose } = await start();
  browser.stub('debugger.sendCommand', (_target, method) =>
    method === 'DOM.describeNode' ? new Promise(() => {}) : {},
  );
  choose();
  const resumed = run('Debugger.resume');
  await settle();
  assert.deepEqual(sent(browser), ['DOM.describeNode']);
  t.mock.timers.tick(500);
  await resumed;
  assert.deepEqual(sent(browser), ['DOM.describeNode', 'Debugger.resume']);
});

test('leaves odd arguments to Chrome', async () => {
  for (const list of [null, [null], 'text', [{ value: null }, 1]]) {
    const { run } = await start();
    const reply = await run('Runtime.callFunctionOn', { arguments: list });
    assert.deepEqual(reply, { done: 'Runtime.callFunctionOn' });
  }
});
