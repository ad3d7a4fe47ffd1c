/**
 * The comparison with other MCP servers: that its record is complete and shown in docs/agents.md, that its checks can fail,
 * and that our own server still does as well as recorded. `make bench-agents` runs all of it.
 */

import assert from 'node:assert/strict';
import { tmpdir } from 'node:os';
import { test } from 'node:test';

import { missingIn } from './agents/inventory.mjs';
import { PAGES } from './agents/pages/site.mjs';
import { readRecord, readTables, renderTables, shortcomings } from './agents/record.mjs';
import { compareServers } from './agents/run.mjs';
import { KEYS, SERVERS } from './agents/servers.mjs';
import { TASKS } from './agents/tasks/index.mjs';

const record = readRecord();

test('the tables in docs/agents.md show what was recorded', () => {
  assert.equal(readTables(), renderTables(record));
});

test('the record has every page and task, with the installed versions', () => {
  const names = (list) => list.map(({ name }) => name);
  assert.deepEqual(Object.keys(record.pages), names(PAGES));
  assert.deepEqual(Object.keys(record.tasks), names(TASKS));
  assert.equal(new Set(names(TASKS)).size, 20);
  for (const key of KEYS) {
    assert.equal(record.servers[key], SERVERS[key].version(), SERVERS[key].name);
  }
});

test('ours is the smallest in every row, and needs the fewest characters for all tasks', () => {
  assert.deepEqual(shortcomings(record), []);
});

test('a record in which a peer is better is noticed', () => {
  const worse = structuredClone(record);
  worse.tools.playwright.characters = 1;
  worse.pages.form.devtools.characters = 1;
  worse.pages.article.tabwire.missing.elements.push('link "Lost"');
  Object.values(worse.tasks)[0].tabwire.characters = 1_000_000;
  assert.deepEqual(
    shortcomings(worse).map((line) => line.split(':')[0]),
    ['tool list', 'form', 'all tasks', 'all tasks', 'article'],
  );
});

test('no task passes when nothing was done', async () => {
  const site = { reports: () => [] };
  for (const { name, check } of TASKS) {
    await assert.rejects(async () => check({ site, answer: '', folder: tmpdir() }), name);
  }
});

/** One page in the formats of the three servers. */
const SNAPSHOTS = {
  tabwire: `http://site/\nmain:\n  row: button "Buy" [ref=e1] | Tea\n  button "Buy" [disabled] [ref=e2]\n  link [ref=e3]: img "Cup"\n  textbox "Say \\"hi\\"" [ref=e4]: x`,
  playwright: `- main [ref=e9]:\n  - button "Buy" [ref=e1] [cursor=pointer]\n  - text: Tea\n  - button "Buy" [disabled] [ref=e2]\n  - link [ref=e3]:\n    - /url: /cup\n    - img "Cup" [ref=e5]\n  - 'textbox "Say \\"hi\\"" [ref=e4]': x`,
  devtools: `uid=1_0 RootWebArea "Shop"\n  uid=1_1 button "Buy"\n  uid=1_2 "Tea"\n  uid=1_3 button "Buy" disabled\n  uid=1_4 link "Cup" url="http://site/cup"\n  uid=1_5 textbox "Say \\"hi\\"" value="x"`,
};
const INVENTORY = {
  elements: [
    { role: 'button', name: 'Buy' },
    { role: 'button', name: 'Buy' },
    { role: 'link', name: 'Cup' },
    { role: 'textbox', name: 'Say "hi"' },
  ],
  texts: ['Tea'],
};

for (const [key, snapshot] of Object.entries(SNAPSHOTS)) {
  test(`finds what is missing in a snapshot of ${SERVERS[key].name}`, () => {
    assert.deepEqual(missingIn(INVENTORY, snapshot), { elements: [], texts: [] });
    const without = snapshot.replace(/button "Buy"/, 'generic').replace('Tea', 'Milk');
    assert.deepEqual(missingIn(INVENTORY, without), { elements: ['button "Buy"'], texts: ['Tea'] });
    const unnamed = snapshot.replaceAll('Cup', 'Mug').replaceAll(/(\[ref=e4\]|uid=1_5 )/g, '');
    const lost = ['link "Cup"', 'textbox "Say "hi""'];
    assert.deepEqual(missingIn(INVENTORY, unnamed).elements, lost);
  });
}

test('our snapshots are complete and as short as recorded, and all tasks succeed', async () => {
  const { tools, pages, tasks } = await compareServers({ servers: ['tabwire'] });
  for (const [name, { tabwire }] of Object.entries(pages)) {
    assert.deepEqual(tabwire.missing, { elements: [], texts: [] }, name);
    assertNotLonger(tabwire.characters, record.pages[name].tabwire.characters, name);
  }
  const total = (list) =>
    Object.values(list).reduce((sum, { tabwire }) => sum + tabwire.characters, 0);
  assertNotLonger(total(tasks), total(record.tasks), 'all tasks');
  const smallest = Math.min(...KEYS.slice(1).map((key) => record.tools[key].characters));
  assert.ok(tools.tabwire.characters < smallest, `${tools.tabwire.characters} characters of tools`);
});

/** Ports and refs are not equally long in every run. */
function assertNotLonger(characters, recorded, what) {
  assert.ok(
    characters <= recorded * 1.05,
    `${what}: ${characters} characters, recorded ${recorded}`,
  );
}
