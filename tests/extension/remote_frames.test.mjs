/** Cross-process frames of tabs that are not attached: found without attaching, and only if they are certain. */

import assert from 'node:assert/strict';
import { mock, test } from 'node:test';

import { settle } from './fake_chrome.mjs';
import { browserWithTabs, newWorker } from './worker.mjs';

const page = (tabId) => ({
  type: 'page',
  tabId,
  id: `page-${tabId}`,
  url: `https://site/${tabId}`,
});
const other = (id, url) => ({ type: 'other', id, url });
const main = { frameId: 0, parentFrameId: -1, processId: 1, url: 'https://site/' };
const frame = (frameId, url, { parentFrameId = 0, processId = 2 } = {}) => ({
  ...{ frameId, url, parentFrameId, processId },
});

/** What the extension reports if Chrome has these targets, and these frames in each tab. */
async function list(targets, frames) {
  const browser = browserWithTabs(1, 2);
  browser.stub('debugger.getTargets', () => targets);
  browser.stub('webNavigation.getAllFrames', ({ tabId }) => [main, ...(frames[tabId] ?? [])]);
  const { listRemoteFrames } = await newWorker(browser)('remote_frames.js');
  const listed = [...(await listRemoteFrames(() => true))];
  const asked = browser.callsTo('webNavigation.getAllFrames').map(([{ tabId }]) => tabId);
  return { asked, found: listed.map(([tabId, found]) => [tabId, ...found.map((f) => f.targetId)]) };
}

test('finds the frames of each tab, and asks only tabs that may have some', async () => {
  const targets = [page(1), page(2), other('a', 'https://a/'), other('popup', 'chrome://popup/')];
  const { asked, found } = await list(targets, { 2: [frame(5, 'https://a/')] });
  assert.deepEqual(asked, [2]);
  assert.deepEqual(found, [[2, 'a']]);
});

test('tells equal frames of two tabs apart', async () => {
  const targets = [page(1), other('a', 'https://a/'), page(2), other('b', 'https://a/')];
  const inner = [frame(5, 'https://a/')];
  const { found } = await list(targets, { 1: inner, 2: inner });
  assert.deepEqual(found, [
    [1, 'a'],
    [2, 'b'],
  ]);
});

test('leaves out frames inside of cross-process frames, and those in the process of the page', async () => {
  const targets = [page(1), other('a', 'https://a/'), other('b', 'https://b/')];
  const frames = [
    frame(5, 'https://a/'),
    frame(6, 'https://b/', { parentFrameId: 5, processId: 3 }),
    frame(7, 'https://site/inner', { processId: 1 }),
  ];
  assert.deepEqual((await list(targets, { 1: frames })).found, [[1, 'a']]);
});

test('leaves out frames that cannot be told apart', async () => {
  const targets = [page(1), other('a', 'https://a/'), other('b', 'https://a/')];
  const nested = frame(6, 'https://a/', { parentFrameId: 5, processId: 3 });
  const frames = [frame(5, 'https://a/'), nested];
  assert.deepEqual((await list(targets, { 1: frames })).found, []);
  assert.deepEqual((await list(targets, { 1: [frame(5, 'https://a/')] })).found, []);
});

test('reports the first frame that appears at once, and those that follow together', async (context) => {
  mock.timers.enable({ apis: ['setTimeout'] });
  context.after(() => mock.timers.reset());
  const browser = browserWithTabs(1);
  const { onFramesChanged } = await newWorker(browser)('remote_frames.js');
  const names = [];
  browser.stub('debugger.getTargets', () => [
    page(1),
    ...names.map((name) => other(name, `https://${name}/`)),
  ]);
  browser.stub('webNavigation.getAllFrames', () => [
    main,
    ...names.map((name, index) => frame(5 + index, `https://${name}/`)),
  ]);
  const sent = [];
  for (const name of ['a', 'b', 'c']) {
    names.push(name);
    onFramesChanged(1, (_tabId, frames) => sent.push(frames.map(({ targetId }) => targetId)));
    await settle();
  }
  assert.deepEqual(sent, [['a']]);
  mock.timers.tick(300);
  await settle();
  assert.deepEqual(sent, [['a'], ['a', 'b', 'c']]);
});

test('reports frames that appear later, once for all of them', async (context) => {
  mock.timers.enable({ apis: ['setTimeout'] });
  context.after(() => mock.timers.reset());
  const browser = browserWithTabs(1);
  const { onFramesChanged, forgetFrames } = await newWorker(browser)('remote_frames.js');
  browser.stub('debugger.getTargets', () => [page(1), other('a', 'https://a/')]);
  browser.stub('webNavigation.getAllFrames', () => [main, frame(5, 'https://a/')]);
  const sent = [];
  const change = async () => {
    onFramesChanged(1, (...update) => sent.push(update));
    onFramesChanged(1, () => assert.fail('the first call reports for all'));
    mock.timers.tick(300);
    await settle();
  };
  await change();
  const update = [1, [{ targetId: 'a', url: 'https://a/' }]];
  assert.deepEqual(sent, [update]);
  await change();
  assert.equal(sent.length, 1, 'nothing has changed');
  forgetFrames(1);
  await change();
  assert.deepEqual(sent, [update, update], 'a new document has the same frames');
});

test('the frames of a tab that is closed or replaced are forgotten', async (context) => {
  mock.timers.enable({ apis: ['setTimeout'] });
  context.after(() => mock.timers.reset());
  const browser = browserWithTabs(1);
  browser.stub('debugger.getTargets', () => [page(1), other('a', 'https://a/')]);
  browser.stub('webNavigation.getAllFrames', () => [main, frame(5, 'https://a/')]);
  const load = newWorker(browser);
  const { onFramesChanged } = await load('remote_frames.js');
  const { watchTabs } = await load('tab_events.js');
  watchTabs(() => {});
  const { onRemoved, onReplaced } = browser.chrome.tabs;
  let reports = 0;
  for (const end of [() => onReplaced.fire(2, 1), () => onRemoved.fire(1), () => {}]) {
    onFramesChanged(1, () => (reports += 1));
    mock.timers.tick(300);
    await settle();
    end();
  }
  assert.equal(reports, 3, 'nothing is left to compare with');
});
