/**
 * Several clients on one browser. Each works as if it were alone: sessions do not mix, events
 * arrive once, and a client that leaves takes nothing from the others. Interception by several
 * clients is in `many_clients_fetch.test.mjs`.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { pageAt, useChain } from '../harness/chain.mjs';
import { until } from '../harness/processes.mjs';
import { fetchData, openShared, pageOf, settle } from '../harness/shared_page.mjs';
import { html, javascript } from '../harness/site.mjs';

const shared = useChain({
  args: ['--client-mode', 'multi-client'],
  pages: {
    '/': '<title>Home</title><button onclick="this.textContent = Number(this.textContent) + 1">0</button><input>',
    '/data': (_request, response) => response.end('from the site'),
    // Each frame is of another site than its parent, so it has a process and a target of its own.
    '/framed': html(
      (
        site,
      ) => `<title>Framed</title><iframe src="${site.url('/inner', 'localhost')}"></iframe><iframe srcdoc="<b>near</b>"></iframe>
        <script>window.worker = new Worker('/worker.js')</script>`,
    ),
    '/inner': html(
      (site) => `<title>Inner</title><p>inner</p><iframe src="${site.url('/nested')}"></iframe>`,
    ),
    '/nested': '<title>Nested</title><p>nested</p>',
    '/worker.js': javascript(
      'self.name = "the worker"; onmessage = ({ data }) => console.log(data)',
    ),
  },
});

const clientsTest = (name, run) => test(name, () => shared.withClients(run));

/** Two Playwrights and a Puppeteer, in the form that `openShared` takes. */
const connectThree = async (connect) => [
  await connect.playwright(),
  await connect.playwright(),
  { browser: await connect.puppeteer() },
];

clientsTest('sessions of one client are unknown to the others', async (connect) => {
  const owner = await connect.playwright();
  const [page] = await openShared(shared.site.url('/?ids'), [owner]);
  const browser = await connect.puppeteer();
  const ofPuppeteer = await (await pageOf({ browser }, page.url())).createCDPSession();
  const [first, second] = [await connect.raw(), await connect.raw()];
  const [ofFirst, ofSecond] = [await first.attach(page.url()), await second.attach(page.url())];
  assert.equal(new Set([ofPuppeteer.id(), ofFirst, ofSecond]).size, 3);
  for (const foreign of [ofPuppeteer.id(), ofSecond, 'F'.repeat(32), 'no id']) {
    const replies = [
      await first.request('Runtime.evaluate', { expression: '1' }, foreign),
      await first.request('Target.detachFromTarget', { sessionId: foreign }),
    ];
    assert.deepEqual(
      replies.map(({ error }) => error.code),
      [-32001, -32001],
      foreign,
    );
  }
  for (const [client, session] of [
    [first, ofFirst],
    [second, ofSecond],
  ]) {
    const title = { expression: 'document.title' };
    const { result } = await client.send('Runtime.evaluate', title, session);
    assert.equal(result.value, 'Home');
    const isOwn = ({ sessionId }) => sessionId === undefined || sessionId === session;
    assert.ok(client.events.every(isOwn));
  }
  const { result } = await ofPuppeteer.send('Runtime.evaluate', { expression: '6 * 7' });
  assert.equal(result.value, 42);
});

clientsTest('console and network events reach every client once', async (connect) => {
  const pages = await openShared(shared.site.url('/?events'), await connectThree(connect));
  await settle(...pages);
  const received = pages.map((page) => {
    const events = { console: [], requests: [], responses: [] };
    page.on('console', (message) => events.console.push(message.text()));
    page.on('request', (request) => events.requests.push(request.url()));
    page.on('response', (response) => events.responses.push(response.url()));
    return events;
  });
  const data = [shared.site.url('/data?1'), shared.site.url('/data?2')];
  await pages[1].evaluate(() => console.log('one'));
  await fetchData(pages[0], '?1');
  await fetchData(pages[2], '?2');
  await pages[2].evaluate(() => console.log('two'));
  await until('every client has the events', () =>
    received.every((events) => events.console.length >= 2 && events.responses.length >= 2),
  );
  await settle(...pages);
  for (const events of received) {
    assert.deepEqual(events, { console: ['one', 'two'], requests: data, responses: data });
  }
});

clientsTest('clients work in one tab at the same time', async (connect) => {
  const pages = await openShared(shared.site.url('/?work'), await connectThree(connect));
  await Promise.all(
    pages.map(async (page, n) => {
      for (let round = 0; round < 5; round += 1) {
        const value = n * 100 + round;
        assert.equal(await page.evaluate((given) => given * 2, value), value * 2);
      }
    }),
  );
  for (const page of pages) {
    await page.click('button');
  }
  assert.equal(await pages[0].textContent('button'), '3');
  await pages[1].fill('input', 'by the second');
  assert.equal(await pages[2].$eval('input', (input) => input.value), 'by the second');
  await Promise.all([
    ...pages.map((page) => page.waitForNavigation()),
    pages[2].goto(shared.site.url('/?elsewhere')),
  ]);
  for (const page of pages) {
    assert.equal(await page.evaluate(() => location.search), '?elsewhere');
  }
});

/** The frame at this path, once the client sees it. */
const frameAt = (page, path) => until(`the client sees ${path}`, () => pageAt(page.frames(), path));
const frameUrls = (page) =>
  page
    .frames()
    .map((frame) => frame.url())
    .sort();
const titleIn = async (page, path) => (await frameAt(page, path)).evaluate(() => document.title);

clientsTest('a late Playwright sees the frames and contexts of a live tab', async (connect) => {
  const [page] = await openShared(shared.site.url('/framed'), [await connect.playwright()]);
  await until('the worker runs', () => page.workers().length === 1);
  assert.equal(await (await frameAt(page, '/nested')).textContent('p'), 'nested');
  const late = await pageOf(await connect.playwright(), page.url());
  const [inner, nested] = [await frameAt(late, '/inner'), await frameAt(late, '/nested')];
  assert.deepEqual(frameUrls(late), frameUrls(page));
  assert.equal(await inner.textContent('p'), 'inner');
  assert.equal(await titleIn(late, '/inner'), 'Inner');
  assert.equal(await nested.textContent('p'), 'nested');
  assert.equal(await titleIn(late, '/nested'), 'Nested');
  assert.equal(await late.frameLocator('iframe[srcdoc]').locator('b').textContent(), 'near');
  assert.equal(await late.evaluate(() => document.title), 'Framed');
  assert.equal(await titleIn(page, '/inner'), 'Inner', 'the first client keeps its frames');
  const messages = [page, late].map((each) => each.waitForEvent('console'));
  await page.evaluate(() => window.worker.postMessage('from the worker'));
  for (const message of messages) {
    assert.equal((await message).text(), 'from the worker');
  }
});

// Playwright does not report workers that started before it connected, on Chromium's own port
// either.
clientsTest('a late Puppeteer sees the frames and the worker of a live tab', async (connect) => {
  const [page] = await openShared(shared.site.url('/framed'), [await connect.playwright()]);
  await until('the worker runs', () => page.workers().length === 1);
  assert.equal(await titleIn(page, '/nested'), 'Nested');
  const second = await pageOf(await connect.playwright(), page.url());
  assert.equal(await titleIn(second, '/nested'), 'Nested');
  const late = await pageOf({ browser: await connect.puppeteer() }, page.url());
  const inner = await frameAt(late, '/inner');
  assert.equal(await inner.$eval('p', (p) => p.textContent), 'inner');
  const worker = await until('Puppeteer sees the worker', () => late.workers()[0]);
  assert.equal(await worker.evaluate(() => self.name), 'the worker');
  assert.equal(await titleIn(late, '/nested'), 'Nested');
  for (const earlier of [page, second]) {
    assert.equal(await titleIn(earlier, '/inner'), 'Inner', 'earlier clients keep their frames');
  }
});

clientsTest('the first answer closes a dialog for every client', async (connect) => {
  const [page] = await openShared(shared.site.url('/?dialog'), [await connect.playwright()]);
  const watcher = await connect.raw();
  const session = await watcher.attach(page.url());
  await watcher.send('Page.enable', {}, session);
  const opened = page.waitForEvent('dialog');
  const answer = page.evaluate(() => prompt('name?'));
  const dialog = await opened;
  await until(
    'the other client sees the dialog',
    () => watcher.eventsOf(session, 'Page.javascriptDialogOpening').length === 1,
  );
  await dialog.accept('the first');
  assert.equal(await answer, 'the first');
  const closed = await until(
    'the other client sees it closed',
    () => watcher.eventsOf(session, 'Page.javascriptDialogClosed')[0],
  );
  assert.equal(closed.result, true);
  const late = await watcher.request('Page.handleJavaScriptDialog', { accept: false }, session);
  assert.match(late.error.message, /No dialog is showing/);
});

clientsTest("Playwright's page continues when another client answers first", async (connect) => {
  const [page] = await openShared(shared.site.url('/?dialog'), [await connect.playwright()]);
  const other = await connect.raw();
  const session = await other.attach(page.url());
  await other.send('Page.enable', {}, session);
  const opened = page.waitForEvent('dialog');
  const confirmed = page.evaluate(() => confirm('sure?'));
  const dialog = await opened;
  await other.send('Page.handleJavaScriptDialog', { accept: true }, session);
  assert.equal(await confirmed, true);
  await assert.rejects(dialog.dismiss(), /No dialog is showing/);
  assert.equal(await page.evaluate(() => 6 * 7), 42);
});

clientsTest('clients see tabs that others open, rename and close', async (connect) => {
  const [first, second, { browser }] = await connectThree(connect);
  const announced = second.context.waitForEvent('page');
  const created = new Promise((resolve) => browser.once('targetcreated', resolve));
  const page = await first.context.newPage();
  const other = await announced;
  await created;
  await page.goto(shared.site.url('/?made'));
  await other.waitForURL('**/?made');
  assert.equal(await other.title(), 'Home');
  await other.click('button');
  assert.equal(await page.textContent('button'), '1');
  const third = await pageOf({ browser }, page.url());
  await third.evaluate(() => (document.title = 'renamed'));
  assert.deepEqual([await page.title(), await other.title()], ['renamed', 'renamed']);
  const closed = [
    page.waitForEvent('close'),
    new Promise((resolve) => third.once('close', resolve)),
  ];
  await other.close();
  await Promise.all(closed);
  const remaining = [first, second].flatMap(({ context }) => context.pages());
  assert.ok(!remaining.includes(page) && !remaining.includes(other));
  await assert.rejects(
    page.evaluate(() => 1),
    /closed/,
  );
});

clientsTest('a client that leaves takes nothing from the others', async (connect) => {
  const [first, second] = [await connect.playwright(), await connect.playwright()];
  const pages = await openShared(shared.site.url('/?stays'), [first, second]);
  await settle(...pages);
  const leaving = await connect.raw();
  const session = await leaving.attach(pages[0].url());
  for (const domain of ['Page', 'Runtime', 'Network', 'Log', 'DOM', 'Debugger']) {
    await leaving.send(`${domain}.enable`, {}, session);
  }
  await first.browser.close();
  leaving.kill();
  await shared.chain.relay.waitForClients(1);
  const message = pages[1].waitForEvent('console');
  await pages[1].evaluate(() => console.log('still here'));
  assert.equal((await message).text(), 'still here');
  await pages[1].reload();
  await pages[1].click('button');
  assert.equal(await pages[1].textContent('button'), '1');
});
