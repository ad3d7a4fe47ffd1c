/**
 * Several sessions of one client on one target: each has its own id, domains and events, and ends
 * on its own.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { useChain } from '../harness/chain.mjs';
import { until, untilEqual } from '../harness/processes.mjs';
import { fetchData } from '../harness/shared_page.mjs';
import { html } from '../harness/site.mjs';

const shared = useChain({
  pages: {
    '/': '<title>Home</title><h1>Hello</h1>',
    '/data': (_request, response) => response.end('from the site'),
    // The frame is of another site, so it has a process and a target of its own.
    '/framed': html(
      (site) => `<title>Framed</title><iframe src="${site.url('/inner', 'localhost')}"></iframe>`,
    ),
    '/inner': '<title>Inner</title><p>inner</p>',
  },
});

/** A test with its own Playwright and a new page. */
const pageTest = (name, run) =>
  test(name, () =>
    shared.withClients(async (connect) => {
      const { browser, context } = await connect.playwright();
      const page = await context.newPage();
      await page.goto(shared.site.url('/'));
      await run({ page, context, browser });
    }),
  );

/** Records the events of these methods that a session receives from now on. */
function record(session, ...methods) {
  const events = [];
  for (const method of methods) {
    session.on(method, (params) => events.push({ method, ...params }));
  }
  return events;
}

const evaluate = async (session, expression) =>
  (await session.send('Runtime.evaluate', { expression })).result.value;

pageTest(
  'a session receives events of the domains it enabled, and no others',
  async ({ page, context }) => {
    const [silent, enabled] = [
      await context.newCDPSession(page),
      await context.newCDPSession(page),
    ];
    await enabled.send('Network.enable');
    const methods = ['Network.requestWillBeSent', 'Network.loadingFinished'];
    const [unexpected, received] = [record(silent, ...methods), record(enabled, ...methods)];
    const responded = page.waitForResponse('**/data');
    await fetchData(page);
    assert.equal((await responded).status(), 200);
    const ofData = () => {
      const sent = received.find(({ request }) => request?.url.endsWith('/data'));
      return received
        .filter(({ requestId }) => requestId === sent?.requestId)
        .map(({ method }) => method);
    };
    await until('the enabled session has both events', () => ofData().length >= 2);
    assert.deepEqual(ofData(), methods);
    // A reply follows every event that was sent before it.
    await evaluate(silent, '1');
    assert.deepEqual(unexpected, []);
    await silent.send('Network.enable');
    await fetchData(page);
    await until('the other session receives events', () => unexpected.length >= 2);
  },
);

pageTest('disabling a domain in one session keeps it on in others', async ({ page, context }) => {
  const [first, second] = [await context.newCDPSession(page), await context.newCDPSession(page)];
  for (const session of [first, second]) {
    await session.send('Network.enable');
    await session.send('Runtime.enable');
  }
  const methods = ['Network.requestWillBeSent', 'Runtime.consoleAPICalled'];
  const [ofFirst, ofSecond] = [record(first, ...methods), record(second, ...methods)];
  await first.send('Network.disable');
  await first.send('Runtime.disable');
  const [request, message] = [page.waitForRequest('**/data'), page.waitForEvent('console')];
  await fetchData(page);
  await page.evaluate(() => console.log('logged'));
  await request;
  assert.equal((await message).text(), 'logged');
  await until('the second session has both events', () => ofSecond.length === 2);
  await evaluate(first, '1');
  assert.deepEqual(ofFirst, []);
});

pageTest(
  'a late session receives existing contexts, and each new document once',
  async ({ page, context }) => {
    const session = await context.newCDPSession(page);
    const events = record(session, 'Runtime.executionContextCreated');
    const defaultContexts = () =>
      events.map(({ context: created }) => created).filter(({ auxData }) => auxData.isDefault);
    await session.send('Runtime.enable');
    assert.equal(defaultContexts().length, 1);
    const { result } = await session.send('Runtime.evaluate', {
      expression: 'document.title',
      contextId: defaultContexts()[0].id,
    });
    assert.equal(result.value, 'Home');
    events.length = 0;
    await page.reload();
    await until('the new document has a context', () => defaultContexts().length > 0);
    assert.equal(defaultContexts().length, 1);
    assert.equal(await page.title(), 'Home');
  },
);

pageTest(
  'detaching a session leaves console, requests, contexts and routes of the page',
  async ({ page, context }) => {
    await page.route('**/data?routed', (route) => route.fulfill({ body: 'from the route' }));
    const session = await context.newCDPSession(page);
    for (const domain of ['Runtime', 'Network', 'Page', 'Log', 'DOM']) {
      await session.send(`${domain}.enable`);
    }
    await session.send('Fetch.enable', { patterns: [{ urlPattern: '*nothing*' }] });
    assert.equal(await fetchData(page, '?routed'), 'from the route');
    await session.detach();
    await assert.rejects(evaluate(session, '1'), /closed/);
    for (const round of ['same document', 'new document']) {
      const [response, message] = [
        page.waitForResponse('**/data?routed'),
        page.waitForEvent('console'),
      ];
      assert.equal(await fetchData(page, '?routed'), 'from the route', round);
      assert.equal(await (await response).text(), 'from the route');
      assert.equal(await fetchData(page), 'from the site');
      await page.evaluate(() => console.log('still'));
      assert.equal((await message).text(), 'still');
      assert.equal(await page.textContent('h1'), 'Hello');
      await page.reload();
    }
  },
);

pageTest(
  "detaching a session removes its scripts and interception, and keeps the page's",
  async ({ page, context }) => {
    await page.addInitScript(() => (window.ofPage = true));
    const session = await context.newCDPSession(page);
    await session.send('Page.enable');
    await session.send('Page.addScriptToEvaluateOnNewDocument', {
      source: 'window.ofSession = true',
    });
    await session.send('Fetch.enable', { patterns: [{ urlPattern: '*/data' }] });
    const paused = record(session, 'Fetch.requestPaused');
    await page.reload();
    const scripts = () => page.evaluate(() => [window.ofPage, window.ofSession]);
    assert.deepEqual(await scripts(), [true, true]);
    const data = fetchData(page);
    await until('the request is paused for the session', () => paused.length === 1);
    assert.match(paused[0].request.url, /\/data$/);
    // The session detaches while it holds the request, which then continues.
    await session.detach();
    assert.equal(await data, 'from the site');
    await page.reload();
    assert.deepEqual(await scripts(), [true, undefined]);
  },
);

pageTest("detaching a session restores the page's own overrides", async ({ page, context }) => {
  const overrides = () =>
    page.evaluate(() => [
      matchMedia('print').matches,
      matchMedia('(prefers-color-scheme: dark)').matches,
      new Date(0).getTimezoneOffset(),
    ]);
  await page.emulateMedia({ colorScheme: 'dark' });
  const before = await overrides();
  assert.deepEqual(before.slice(0, 2), [false, true]);
  const session = await context.newCDPSession(page);
  await session.send('Emulation.setEmulatedMedia', { media: 'print' });
  await session.send('Emulation.setTimezoneOverride', { timezoneId: 'Asia/Kathmandu' });
  assert.deepEqual(await overrides(), [true, false, -330]);
  await session.detach();
  await untilEqual('the overrides are restored', overrides, before);
});

pageTest(
  'a session and a route both see a request, and whoever answers decides',
  async ({ page, context }) => {
    const session = await context.newCDPSession(page);
    await session.send('Fetch.enable', { patterns: [{ urlPattern: '*/data*' }] });
    session.on('Fetch.requestPaused', ({ requestId, request }) => {
      const body = Buffer.from('from the session').toString('base64');
      const reply = request.url.endsWith('?session')
        ? session.send('Fetch.fulfillRequest', { requestId, responseCode: 200, body })
        : session.send('Fetch.continueRequest', { requestId });
      // The route may have answered first.
      reply.catch((error) => assert.match(error.message, /Invalid InterceptionId/));
    });
    await page.route('**/data?page', (route) => route.fulfill({ body: 'from the page' }));
    for (const [query, expected] of [
      ['?page', 'from the page'],
      ['?session', 'from the session'],
      ['', 'from the site'],
    ]) {
      assert.equal(await fetchData(page, query), expected);
    }
  },
);

pageTest('an out-of-process frame has its own sessions', async ({ page, context }) => {
  await page.goto(shared.site.url('/framed'));
  const frame = page.frames().find((candidate) => candidate.url().endsWith('/inner'));
  const [first, second] = [await context.newCDPSession(frame), await context.newCDPSession(frame)];
  for (const session of [first, second]) {
    assert.equal(await evaluate(session, 'document.title'), 'Inner');
  }
  await first.send('Network.enable');
  const [ofFirst, ofSecond] = [first, second].map((session) =>
    record(session, 'Network.requestWillBeSent'),
  );
  await frame.evaluate(() => fetch('/data?frame').then((response) => response.text()));
  await until("the first session has the frame's request", () =>
    ofFirst.some(({ request }) => request.url.endsWith('/data?frame')),
  );
  await first.detach();
  assert.equal(await evaluate(second, 'document.title'), 'Inner');
  assert.deepEqual(ofSecond, []);
  assert.equal(await frame.textContent('p'), 'inner');
  const message = page.waitForEvent('console');
  await frame.evaluate(() => console.log('from the frame'));
  assert.equal((await message).text(), 'from the frame');
});

test('browser sessions are independent of each other', () =>
  shared.withClients(async (connect) => {
    const { browser, context } = await connect.playwright();
    const [first, second] = [
      await browser.newBrowserCDPSession(),
      await browser.newBrowserCDPSession(),
    ];
    const [ofFirst, ofSecond] = [first, second].map((session) =>
      record(session, 'Target.targetCreated'),
    );
    assert.match((await first.send('Browser.getVersion')).product, /Chrome/);
    await second.send('Target.setDiscoverTargets', { discover: true });
    await until('existing targets are announced to the second', () => ofSecond.length > 0);
    ofSecond.length = 0;
    await first.detach();
    const page = await context.newPage();
    await until('the new page is announced to the second', () =>
      ofSecond.some(({ targetInfo }) => targetInfo.type === 'page'),
    );
    assert.deepEqual(ofFirst, []);
    await page.goto(shared.site.url('/'));
    assert.equal(await page.title(), 'Home');
    await second.detach();
    assert.equal(await page.evaluate(() => document.title), 'Home');
  }));

test('Puppeteer sessions have distinct ids and end one by one', () =>
  shared.withClients(async (connect) => {
    const browser = await connect.puppeteer();
    const page = await browser.newPage();
    await page.goto(shared.site.url('/'));
    const sessions = [
      await page.createCDPSession(),
      await page.createCDPSession(),
      await page.target().createCDPSession(),
    ];
    assert.equal(new Set(sessions.map((session) => session.id())).size, 3);
    const [first, second, third] = sessions;
    await second.send('Network.enable');
    const [ofFirst, ofSecond] = [first, second].map((session) =>
      record(session, 'Network.requestWillBeSent'),
    );
    const responded = page.waitForResponse((response) => response.url().endsWith('/data'));
    assert.equal(await fetchData(page), 'from the site');
    assert.equal((await responded).status(), 200);
    await until('the second session has the request', () => ofSecond.length === 1);
    for (const session of sessions) {
      assert.equal(await evaluate(session, 'document.title'), 'Home');
    }
    assert.deepEqual(ofFirst, []);
    await second.detach();
    await assert.rejects(evaluate(second, '1'));
    assert.equal(await evaluate(third, '6 * 7'), 42);
    const message = new Promise((resolve) => page.once('console', resolve));
    await page.evaluate(() => console.log('still'));
    assert.equal((await message).text(), 'still');
    await page.reload();
    assert.equal(await page.title(), 'Home');
  }));
