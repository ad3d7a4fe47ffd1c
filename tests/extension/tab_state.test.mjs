/** When tabs enter and leave the state map. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeBrowser } from './fake_chrome.mjs';
import { newWorker } from './worker.mjs';

const load = () => newWorker(new FakeBrowser())('tab_state.js');

test('keeps one entry per tab until it is forgotten', async () => {
  const { tabState, forgetTab } = await load();
  const tab = tabState(1);
  tab.isLoaded = true;
  assert.equal(tabState(1), tab);
  forgetTab(1);
  assert.equal(tabState(1).isLoaded, false);
});

test('an event about a closed tab leaves nothing behind', async () => {
  const { tabState, forgetClosedTab, isClosed } = await load();
  forgetClosedTab(1);
  assert.equal(isClosed(1), true);
  tabState(1).isReported = true;
  assert.equal(tabState(1).isReported, false);
});

test('a new list replaces the reported tabs', async () => {
  const { tabState, restrictedTabs, setReportedTabs } = await load();
  setReportedTabs([{ tabId: 1 }, { tabId: 2, restricted: true }]);
  assert.deepEqual(restrictedTabs(), [2]);
  setReportedTabs([{ tabId: 2 }, { tabId: 3 }]);
  assert.deepEqual(restrictedTabs(), []);
  assert.deepEqual(
    [1, 2, 3].map((tabId) => tabState(tabId).isReported),
    [false, true, true],
  );
});

test('counts changes per tab and in total', async () => {
  const { countChange, changeCount, forgetTab } = await load();
  countChange(1);
  countChange(2);
  countChange(2);
  forgetTab(1);
  assert.deepEqual([changeCount(1), changeCount(2), changeCount()], [0, 2, 3]);
});
