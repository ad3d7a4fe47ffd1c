/** Tasks in the dashboard and its frames. */

import assert from 'node:assert/strict';

import jpeg from 'jpeg-js';
import { PNG } from 'pngjs';

import { CHART, CONSOLE_ERROR } from '../pages/dashboard.mjs';
import { REPORT_TOTAL } from '../pages/site.mjs';
import { actAndLook, askUntil, execute, find, inBrowser, inPage, ref, uid } from './task.mjs';

const openWith = (agent, look) =>
  execute(agent, `await page.goto('${agent.at('/dashboard')}'); ${look}`);

/** @type {import('./task.mjs').Task} */
const frame = {
  name: 'fill a form in a frame',
  async tabwire(agent) {
    const seen = await openWith(agent, 'snapshot()');
    const [region, from, apply] = [
      'combobox "Region"',
      'textbox "From"',
      'button "Apply filters"',
    ].map((element) => ref(seen, element));
    return execute(
      agent,
      `await page.locator('aria-ref=${region}').selectOption('Europe'); await page.locator('aria-ref=${from}').fill('2026-02-01'); await page.locator('aria-ref=${apply}').click(); snapshot({ search: 'applied' })`,
    );
  },
  async playwright(agent) {
    const { open, snapshot, click, find: look } = inBrowser(agent);
    await open('/dashboard');
    const seen = await snapshot();
    const fields = [
      { target: ref(seen, 'combobox "Region"'), name: 'Region', type: 'combobox', value: 'Europe' },
      { target: ref(seen, 'textbox "From"'), name: 'From', type: 'textbox', value: '2026-02-01' },
    ];
    await agent.tool('browser_fill_form', { fields });
    await click(ref(seen, 'button "Apply filters"'));
    return look('applied');
  },
  async devtools(agent) {
    const { open, snapshot, tool } = inPage(agent);
    await open('/dashboard');
    const seen = await snapshot();
    const elements = [
      { uid: uid(seen, 'combobox "Region"'), value: 'Europe' },
      { uid: uid(seen, 'textbox "From"'), value: '2026-02-01' },
    ];
    await tool('fill_form', { elements });
    return tool('click', { uid: uid(seen, 'button "Apply filters"'), includeSnapshot: true });
  },
  check({ site, answer }) {
    assert.match(answer, /Filters applied/);
    const sent = { region: 'Europe', from: '2026-02-01', bots: false };
    assert.deepEqual(site.reports('/api/filters'), [sent]);
  },
};

const TICKET = /Ticket 3307 was opened/;
const QUESTION = 'Where is my parcel?';

/** @type {import('./task.mjs').Task} */
const otherSite = {
  name: 'chat in a frame of another site',
  async tabwire(agent) {
    const seen = await openWith(agent, 'snapshot()');
    const [box, send] = ['textbox "Message"', 'button "Send message"'].map((it) => ref(seen, it));
    const act = `await page.locator('aria-ref=${box}').fill('${QUESTION}'); await page.locator('aria-ref=${send}').click()`;
    return actAndLook(agent, act, "snapshot({ search: 'agent:' })", TICKET);
  },
  async playwright(agent) {
    const { open, snapshot, find: look } = inBrowser(agent);
    await open('/dashboard');
    const target = ref(await snapshot(), 'textbox "Message"');
    await agent.tool('browser_type', { target, text: QUESTION, submit: true });
    return askUntil(() => look('agent:'), TICKET);
  },
  async devtools(agent) {
    const { open, snapshot, tool } = inPage(agent);
    await open('/dashboard');
    const seen = await snapshot();
    await tool('fill', { uid: uid(seen, 'textbox "Message"'), value: QUESTION });
    const send = { uid: uid(seen, 'button "Send message"'), includeSnapshot: true };
    const text = await tool('click', send);
    return TICKET.test(text) ? text : askUntil(snapshot, TICKET);
  },
  check({ site, answer }) {
    assert.match(answer, TICKET);
    assert.deepEqual(site.reports('/api/chat'), [{ text: QUESTION }]);
  },
};

const ALERT = 'button "Acknowledge: Queue is growing"';

/** The checkbox makes the page render its alerts again, and the agent does not expect that. @type {import('./task.mjs').Task} */
const wrongRef = {
  name: 'recover from a stale ref',
  async tabwire(agent) {
    const seen = await openWith(agent, 'snapshot()');
    await execute(
      agent,
      `await page.locator('aria-ref=${ref(seen, 'checkbox "Only critical"')}').check()`,
    );
    const click = (target) => ({ code: `await page.locator('aria-ref=${target}').click()` });
    const { text, isError } = await agent.call('execute', click(ref(seen, ALERT)));
    assert.ok(isError, 'the ref is stale');
    await agent.tool('execute', click(ref(text, ALERT)));
  },
  async playwright(agent) {
    const { open, snapshot, click, tryClick, find: look } = inBrowser(agent);
    await open('/dashboard');
    const seen = await snapshot();
    await click(ref(seen, 'checkbox "Only critical"'));
    assert.ok((await tryClick(ref(seen, ALERT))).isError, 'the ref is stale');
    await click(ref(await look('queue is growing'), ALERT));
  },
  async devtools(agent) {
    const { open, snapshot, click, tryClick } = inPage(agent);
    await open('/dashboard');
    const seen = await snapshot();
    await click(uid(seen, 'checkbox "Only critical"'));
    assert.ok((await tryClick(uid(seen, ALERT))).isError, 'the uid is stale');
    await click(uid(await snapshot(), ALERT));
  },
  check: ({ site }) =>
    assert.deepEqual(site.reports('/api/acknowledge'), [{ alert: 'Queue is growing' }]),
};

/** @type {import('./task.mjs').Task} */
const slow = {
  name: 'wait for something slow',
  async tabwire(agent) {
    const seen = await openWith(agent, "snapshot({ search: 'report' })");
    const text = await execute(
      agent,
      `await page.locator('aria-ref=${ref(seen, 'button "Run report"')}').click(); page.getByText('Report finished').textContent()`,
    );
    return find(text, /(\d+) sessions/);
  },
  async playwright(agent) {
    const { open, click, find: look } = inBrowser(agent);
    await open('/dashboard');
    await click(ref(await look('report'), 'button "Run report"'));
    await agent.tool('browser_wait_for', { text: 'Report finished' });
    return find(await look('Report finished'), /(\d+) sessions/);
  },
  async devtools(agent) {
    const { open, snapshot, click, tool } = inPage(agent);
    await open('/dashboard');
    await click(uid(await snapshot(), 'button "Run report"'));
    return find(await tool('wait_for', { text: ['Report finished'] }), /(\d+) sessions/);
  },
  check({ site, answer }) {
    assert.equal(Number(answer), REPORT_TOTAL);
    assert.equal(site.reports('/api/report').length, 1);
  },
};

/** @type {import('./task.mjs').Task} */
const consoleError = {
  name: 'find out why a button does nothing',
  async tabwire(agent) {
    const seen = await openWith(agent, "snapshot({ search: 'refresh' })");
    const button = ref(seen, 'button "Refresh data"');
    const text = await execute(agent, `await page.locator('aria-ref=${button}').click()`);
    return /Console error/.test(text)
      ? text
      : askUntil(() => execute(agent, "logs({ level: 'error' })"), /\[error\]/);
  },
  async playwright(agent) {
    const { open, click, find: look } = inBrowser(agent);
    await open('/dashboard');
    await click(ref(await look('refresh'), 'button "Refresh data"'));
    const messages = () => agent.tool('browser_console_messages', { level: 'error' });
    return askUntil(messages, /\[ERROR\]/);
  },
  async devtools(agent) {
    const { open, snapshot, click, tool } = inPage(agent);
    await open('/dashboard');
    await click(uid(await snapshot(), 'button "Refresh data"'));
    return askUntil(() => tool('list_console_messages', { types: ['error'] }), /\[error\]/);
  },
  check({ site, answer }) {
    assert.ok(answer.includes(CONSOLE_ERROR), answer);
    assert.equal(site.reports('/api/refresh').length, 1);
  },
};

const pictureOf = async (call) => {
  const { images, isError, text } = await call;
  assert.ok(!isError && images.length === 1, text);
  return images[0];
};

/** @type {import('./task.mjs').Task} */
const picture = {
  name: 'take a picture of one element',
  async tabwire(agent) {
    await openWith(agent, "snapshot({ search: 'img' })");
    const code = "screenshot(page.getByRole('img', { name: 'Visitors per day' }))";
    return pictureOf(agent.call('execute', { code }));
  },
  async playwright(agent) {
    const { open, find: look } = inBrowser(agent);
    await open('/dashboard');
    const target = ref(await look('img'), 'img "Visitors per day"');
    return pictureOf(agent.call('browser_take_screenshot', { target }));
  },
  async devtools(agent) {
    const { open, snapshot } = inPage(agent);
    await open('/dashboard');
    const id = uid(await snapshot(), 'image "Visitors per day"');
    return pictureOf(agent.call('take_screenshot', { pageId: 1, uid: id }));
  },
  check({ answer: { data, mimeType } }) {
    const bytes = Buffer.from(data, 'base64');
    const { width, height } = mimeType === 'image/png' ? PNG.sync.read(bytes) : jpeg.decode(bytes);
    // The element need not start at a whole pixel.
    assert.ok(Math.abs(width - CHART.width) <= 1, `${width} pixels wide`);
    assert.ok(Math.abs(height - CHART.height) <= 1, `${height} pixels high`);
  },
};

export const tasks = [frame, otherSite, wrongRef, slow, consoleError, picture];
