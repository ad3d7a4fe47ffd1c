/** What an agent is told after a call: dialogs, new tabs, errors, failed requests; `logs()` and `requests()`. */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { useAgent } from '../harness/agent.mjs';
import { useChain } from '../harness/chain.mjs';

const PAGE = `<title>Active</title>
  <button id="confirm" onclick="document.title = String(confirm('Delete all?'))">Delete</button>
  <button id="prompt" onclick="document.title = String(prompt('Your name?'))">Name</button>
  <a id="blank" href="/other" target="_blank">Open</a>
  <a id="next" href="/other">Next</a>
  <button id="error" onclick="console.error('first'); console.warn('careful'); console.error('it broke'); undefinedName()">Break</button>
  <button id="fetch" onclick="fetch('/missing').then(() => fetch('/data')).then((r) => r.text()).then(() => (document.title = 'fetched'))">Fetch</button>`;

const shared = useChain({
  pages: {
    '/': PAGE,
    '/other': '<title>Other</title>',
    '/unsaved': '<input><script>onbeforeunload = (event) => event.preventDefault()</script>',
    '/missing': (_request, response) => response.writeHead(404).end('nothing here'),
    '/data': (_request, response) =>
      response.setHeader('content-type', 'application/json').end('{"answer":42}'),
  },
});
const { run, fails } = useAgent(shared);

const open = () => run(`await page.goto('${shared.site.url('/')}')`);
const click = (id) => `await page.locator('#${id}').click()`;
const untilTitle = (title) => `await page.waitForFunction((t) => document.title === t, '${title}')`;

test('a dialog is dismissed, and the agent can decide about the next one', async () => {
  await open();
  assert.equal(
    (await run(`${click('confirm')}; page.title()`)).text,
    `false\n[Dialog (confirm): "Delete all?", dismissed. Before the next one, set dialogs.next = 'accept' or a text]`,
  );
  assert.equal(
    (await run(`dialogs.next = 'accept'; ${click('confirm')}; page.title()`)).text,
    'true\n[Dialog (confirm): "Delete all?", accepted]',
  );
  assert.equal(
    (await run(`dialogs.next = 'Ann'; ${click('prompt')}; page.title()`)).text,
    'Ann\n[Dialog (prompt): "Your name?", answered "Ann"]',
  );
  assert.match((await run(click('prompt'))).text, /dismissed/, 'an answer is used once');
  for (const [answer, title, how] of [
    [true, 'true', 'accepted'],
    [false, 'false', 'dismissed'],
    [5, 'true', 'answered "5"'],
  ]) {
    const { text } = await run(`dialogs.next = ${answer}; ${click('confirm')}; page.title()`);
    assert.equal(text, `${title}\n[Dialog (confirm): "Delete all?", ${how}]`);
  }
});

test('a page that asks before it is left is left, and the agent can stay next time', async () => {
  const url = shared.site.url('/unsaved');
  await run(`await page.goto('${url}'); await page.fill('input', 'x')`);
  const { text } = await fails(
    `dialogs.next = 'dismiss'; await page.goto('${shared.site.url('/other')}')`,
  );
  assert.match(text, /\[Dialog \(beforeunload\): "", dismissed\]/);
  const leave = await run(`await page.goto('${shared.site.url('/other')}'); page.title()`);
  assert.equal(
    leave.text,
    `Other\n[Dialog (beforeunload): "", accepted. Before the next one, set dialogs.next = 'dismiss']`,
  );
});

test('code that listens to dialogs answers them itself', async () => {
  await open();
  const { text } = await run(
    `page.once('dialog', (dialog) => dialog.accept('from code')); ${click('prompt')}; page.title()`,
  );
  assert.equal(text, 'from code\n[Dialog (prompt): "Your name?", answered by the code]');
});

test('new tabs and navigations are reported, unless the agent has the address already', async () => {
  const { text: opened } = await run(`await page.goto('${shared.site.url('/')}'); page.url()`);
  assert.equal(opened, shared.site.url('/'));
  const { text } = await run(
    `const [popup] = await Promise.all([page.waitForEvent('popup'), page.locator('#blank').click()]); await popup.waitForLoadState(); 1`,
  );
  assert.match(text, /^1\n\[New tab: pages\(\)\[\d+\] /);
  await run(
    `await Promise.all(pages().filter((p) => p !== page && p.url().endsWith('/other')).map((p) => p.close()))`,
  );
  const next = await run(`${click('next')}; await page.waitForURL('**/other')`);
  assert.equal(next.text, `[Navigated to ${shared.site.url('/other')}]`);
});

test('console errors are reported, and logs() returns all messages', async () => {
  await open();
  const { text } = await run(`${click('error')}; await page.waitForTimeout(100)`);
  assert.match(
    text,
    /^\[3 console errors, the last: Uncaught ReferenceError: undefinedName is not defined.* \(logs\(\{ level: 'error' \}\)\)\]$/,
  );
  assert.equal((await run('1')).text, '1', 'only once');
  const lines = (options) => run(`logs(${options}).map((line) => line.split(' (http')[0])`);
  assert.match(
    (await lines(`{ level: 'warn', search: 'care' }`)).text,
    /^\["\[warning\] careful"\]$/,
  );
  assert.match((await lines(`{ level: 'error', since: 60 }`)).text, /first.*broke.*undefinedName/s);
  assert.equal((await lines('{ since: 0 }')).text, '[]');
});

test('failed requests are reported, and requests() has them all, with bodies', async () => {
  await open();
  const { text } = await run(`${click('fetch')}; ${untilTitle('fetched')}; undefined`);
  assert.equal(text, `[Failed request: GET ${shared.site.url('/missing')} 404]`);
  assert.equal(
    (await run(`requests({ type: 'fetch', status: '4xx' })`)).text,
    JSON.stringify([
      { method: 'GET', url: shared.site.url('/missing'), type: 'fetch', status: 404 },
    ]),
  );
  assert.equal((await run(`(await requests({ url: /data$/ })[0].json()).answer`)).text, '42');
  assert.equal((await run(`requests({ url: '/missing' }).at(-1).body()`)).text, 'nothing here');
  assert.equal((await run(`requests({ status: 'failed' }).length`)).text, '0');
});

test('the last 500 messages and requests are kept', async () => {
  await open();
  const { text } = await run(`await page.evaluate(async () => {
    for (let i = 1; i <= 520; i += 1) console.log('line', i);
    const load = (_, i) => fetch('/data?' + (i + 1)).then((response) => response.text());
    for (let batch = 0; batch < 520; batch += 40) await Promise.all(Array.from({ length: 40 }, (_, i) => load(_, batch + i)));
  });
  const numbers = (texts) => texts.map((text) => Number(/(\\d+)( |$)/.exec(text)[1])).sort((a, b) => a - b);
  const [lines, loaded] = [numbers(logs()), numbers(requests().map(({ url }) => url))];
  [lines.length, lines[0], lines.at(-1), loaded.length, loaded[0], loaded.at(-1)]`);
  assert.equal(text, '[500,21,520,500,21,520]');
});

test('unknown options are errors', async () => {
  for (const [code, message] of [
    ['logs({ lvl: 1 })', "logs has no option 'lvl'. Options: level, since, search."],
    [
      `logs({ level: 'loud' })`,
      "logs has no level 'loud'. Levels: debug, log, info, warning, error.",
    ],
    [`dialogs.nxt = 'accept'`, "dialogs has no option 'nxt'. Options: next."],
    ['requests({ path: 1 })', "requests has no option 'path'. Options: url, type, status."],
  ]) {
    assert.ok((await fails(code)).text.includes(`TypeError: ${message}`));
  }
});
