/** Tasks in the table of orders. */

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';

import { ORDERS, RARE_CUSTOMER } from '../pages/data.mjs';
import { CSV } from '../pages/table.mjs';
import { actAndLook, askUntil, execute, find, inBrowser, inPage, ref } from './task.mjs';

/** @type {import('./task.mjs').Task} */
const search = {
  name: 'find a row of a table and open it',
  async tabwire(agent) {
    const open = `await page.goto('${agent.at('/table')}'); snapshot({ search: '${RARE_CUSTOMER}' })`;
    const button = ref(await execute(agent, open), 'button "Open"');
    const act = `await page.locator('aria-ref=${button}').click()`;
    return actAndLook(agent, act, "snapshot({ search: 'was sent' })", /Nordpost/);
  },
  async playwright(agent) {
    const { open, find: look, click } = inBrowser(agent);
    await open('/table');
    assert.match(await look(RARE_CUSTOMER), /row /);
    // What it found ends before the button.
    await click(`tr:has-text("${RARE_CUSTOMER}") button`);
    return askUntil(() => look('was sent'), /Nordpost/);
  },
  async devtools(agent) {
    const { open, evaluate } = inPage(agent);
    await open('/table');
    const row = `[...document.querySelectorAll('tr')].find((row) => row.innerText.includes('${RARE_CUSTOMER}'))`;
    const html = await evaluate(`() => ${row}?.outerHTML`);
    assert.match(html, /button/);
    await evaluate(`() => ${row}.querySelector('button').click()`);
    return askUntil(
      () => evaluate('() => document.body.innerText.match(/.*was sent.*/)?.[0]'),
      /Nordpost/,
    );
  },
  check({ site, answer }) {
    assert.match(answer, /A-1181 was sent with Nordpost/);
    assert.deepEqual(site.reports('/api/open'), [{ number: 'A-1181' }]);
  },
};

/** @type {import('./task.mjs').Task} */
const select = {
  name: 'choose an option of a select',
  async tabwire(agent) {
    const open = `await page.goto('${agent.at('/table')}'); snapshot({ search: 'combobox' })`;
    const status = ref(await execute(agent, open), 'combobox "Status"');
    const text = await execute(
      agent,
      `await page.locator('aria-ref=${status}').selectOption('Overdue'); snapshot({ search: 'showing' })`,
    );
    return find(text, /Showing (\d+)/);
  },
  async playwright(agent) {
    const { open, find: look } = inBrowser(agent);
    await open('/table');
    const target = ref(await look('combobox'), 'combobox "Status"');
    await agent.tool('browser_select_option', { target, values: ['Overdue'] });
    return find(await look('showing'), /Showing (\d+)/);
  },
  async devtools(agent) {
    const { open, evaluate } = inPage(agent);
    await open('/table');
    const html = await evaluate("() => document.querySelector('select')?.outerHTML");
    assert.match(html, /Overdue/);
    const text = await evaluate(
      "() => { const list = document.querySelector('select'); list.value = 'Overdue'; list.dispatchEvent(new Event('change', { bubbles: true })); return document.body.innerText.match(/Showing.*/)?.[0]; }",
    );
    return find(text, /Showing (\d+)/);
  },
  check({ site, answer }) {
    const overdue = ORDERS.filter(({ status }) => status === 'Overdue');
    assert.equal(Number(answer), overdue.length);
    assert.deepEqual(site.reports('/api/filter'), [{ status: 'Overdue' }]);
  },
};

const ROWS = "[...document.querySelectorAll('tr')]";
const CELLS = 'row.cells';
const OVERDUE = `() => ${ROWS}.filter((row) => ${CELLS}[4].innerText === 'Overdue').map(({ cells }) => ({ order: cells[1].innerText, customer: cells[2].innerText, amount: Number(cells[5].innerText) }))`;
const SAMPLE = `() => ${ROWS}.slice(0, 2).map((row) => row.innerText)`;

/** @type {import('./task.mjs').Task} */
const extract = {
  name: 'extract a part of a table as JSON',
  async tabwire(agent) {
    await execute(
      agent,
      `await page.goto('${agent.at('/table')}'); page.evaluate(${JSON.stringify(`(${SAMPLE})()`)})`,
    );
    return JSON.parse(await execute(agent, `page.evaluate(${OVERDUE})`));
  },
  async playwright(agent) {
    const { open, evaluate } = inBrowser(agent);
    await open('/table');
    await evaluate(SAMPLE);
    return JSON.parse(find(await evaluate(OVERDUE), /### Result\n([^]*?)\n###/));
  },
  async devtools(agent) {
    const { open, evaluate } = inPage(agent);
    await open('/table');
    await evaluate(SAMPLE);
    return JSON.parse(find(await evaluate(OVERDUE), /```json\n([^]*?)\n```/));
  },
  check({ answer }) {
    const overdue = ORDERS.filter(({ status }) => status === 'Overdue').map(
      ({ number, customer, amount }) => ({ order: number, customer, amount: Number(amount) }),
    );
    assert.deepEqual(answer, overdue);
  },
};

/** @type {import('./task.mjs').Task} */
const download = {
  name: 'download a file',
  async tabwire(agent) {
    const open = `await page.goto('${agent.at('/table')}'); snapshot({ search: 'export' })`;
    const link = ref(await execute(agent, open), 'link "Export as CSV"');
    const saved = await execute(agent, `await download(page.locator('aria-ref=${link}'))`);
    return find(saved, /"path":"(.*?)"/);
  },
  async playwright(agent) {
    const { open, find: look, click } = inBrowser(agent);
    await open('/table');
    const text = await click(ref(await look('export'), 'link "Export as CSV"'));
    const done = /Downloaded file/.test(text)
      ? text
      : await agent.tool('browser_wait_for', { time: 1 });
    return find(done, /Downloaded file \S+ to "(.*)"/);
  },
  /** It has no word for downloads. The file is where the browser puts the user's. */
  async devtools(agent) {
    const { open, evaluate } = inPage(agent);
    await open('/table');
    const link = `[...document.querySelectorAll('a')].find((link) => /export/i.test(link.innerText))`;
    await evaluate(`() => ${link}?.outerHTML`);
    await evaluate(`() => ${link}.click()`);
    return 'Downloads/export.csv';
  },
  async check({ site, answer, folder }) {
    assert.equal(await readFile(path.resolve(folder, answer), 'utf8'), CSV);
    assert.equal(site.reports('/orders/export.csv').length, 1);
  },
};

export const tasks = [search, select, extract, download];
