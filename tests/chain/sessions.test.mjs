/** Second sessions on what a client has already: each with its own id, domains, events and end. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';

import { useChain } from '../harness/chain.mjs';
import { until } from '../harness/processes.mjs';

const shared = useChain({
  pages: {
    '/': '<title>Home</title><h1>Hello</h1>',
    '/data': (request, response) => response.end('from the site'),
    '/framed': (request, response) => {
      const { port } = new URL(`http://${request.headers.host}`);
      response.setHeader('content-type', 'text/html');
      // Another site, so Chrome gives the frame a process and a target of its own.
      response.end(`<title>Framed</title><iframe src="http://localhost:${port}/inner"></iframe>`);
    },
    '/inner': '<title>Inner</title><p>inner</p>',
  },
});

/** A test on a new page of a Playwright of its own. */
const pageTest = (name, run) =>
  test(name, () =>
    shared.withClients(async (connect) => {
      const { browser, context } = await connect.playwright();
      const page = await context.newPage();
      await page.goto(shared.site.url('/'));
      await run({ page, context, browser });
    }),
  );

/** Everything of one domain that a session hears from now on. */
function listen(session, ...events) {
  const heard = [];
  for (const event of events) {
    session.on(event, (params) => heard.push({ event, ...params }));
  }
  return heard;
}

const fetchData = (page, query = '') =>
  page.evaluate((path) => fetch(path).then((answer) => answer.text()), `/data${query}`);

pageTest(
  'a session hears the domains that it enabled, and no others',
  async ({ page, context }) => {
    const [silent, listening] = [
      await context.newCDPSession(page),
      await context.newCDPSession(page),
    ];
    await listening.send('Network.enable');
    const events = ['Network.requestWillBeSent', 'Network.loadingFinished'];
    const [unheard, heard] = [listen(silent, ...events), listen(listening, ...events)];
    const seen = page.waitForResponse('**/data');
    await fetchData(page);
    assert.equal((await seen).status(), 200);
    const ofData = () => {
      const sent = heard.find(({ request }) => request?.url.endsWith('/data'));
      return heard
        .filter(({ requestId }) => requestId === sent?.requestId)
        .map(({ event }) => event);
    };
    await until('the session that asked hears all', () => ofData().length >= 2);
    assert.deepEqual(ofData(), events);
    // Whatever was on its way to the silent one is there when it has answered.
    await silent.send('Runtime.evaluate', { expression: '1' });
    assert.deepEqual(unheard, []);
    await silent.send('Network.enable');
    await fetchData(page);
    await until('now it hears', () => unheard.length >= 2);
  },
);

pageTest(
  'disabling a domain in one session leaves it on in the others',
  async ({ page, context }) => {
    const [first, second] = [await context.newCDPSession(page), await context.newCDPSession(page)];
    await Promise.all(
      [first, second].flatMap((session) => [
        session.send('Network.enable'),
        session.send('Runtime.enable'),
      ]),
    );
    const events = ['Network.requestWillBeSent', 'Runtime.consoleAPICalled'];
    const [ofFirst, ofSecond] = [listen(first, ...events), listen(second, ...events)];
    await first.send('Network.disable');
    await first.send('Runtime.disable');
    const [request, message] = [page.waitForRequest('**/data'), page.waitForEvent('console')];
    await fetchData(page);
    await page.evaluate(() => console.log('said'));
    await request;
    assert.equal((await message).text(), 'said');
    await until('the second hears', () => ofSecond.length === 2);
    await first.send('Runtime.evaluate', { expression: '1' });
    assert.deepEqual(ofFirst, []);
  },
);

pageTest(
  'a late session is told of the contexts that are there, and each hears of the next document once',
  async ({ page, context }) => {
    const session = await context.newCDPSession(page);
    const heard = listen(session, 'Runtime.executionContextCreated');
    await session.send('Runtime.enable');
    const own = heard.filter(({ context: created }) => created.auxData.isDefault);
    assert.equal(own.length, 1);
    const { result } = await session.send('Runtime.evaluate', {
      expression: 'document.title',
      contextId: own[0].context.id,
    });
    assert.equal(result.value, 'Home');
    heard.length = 0;
    await page.reload();
    await until('the new document', () =>
      heard.some(({ context: created }) => created.auxData.isDefault),
    );
    assert.equal(heard.filter(({ context: created }) => created.auxData.isDefault).length, 1);
    assert.equal(await page.title(), 'Home');
  },
);

pageTest(
  'detaching a session leaves the page its console, requests, contexts and routes',
  async ({ page, context }) => {
    await page.route('**/data?routed', (route) => route.fulfill({ body: 'from the route' }));
    const session = await context.newCDPSession(page);
    for (const domain of ['Runtime', 'Network', 'Page', 'Log', 'DOM']) {
      await session.send(`${domain}.enable`);
    }
    await session.send('Fetch.enable', { patterns: [{ urlPattern: '*nothing*' }] });
    assert.equal(await fetchData(page, '?routed'), 'from the route');
    await session.detach();
    await assert.rejects(session.send('Runtime.evaluate', { expression: '1' }), /closed/);
    for (const round of ['as it was', 'in a new document']) {
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
  'what a session added or intercepted ends with it; what the page has stays',
  async ({ page, context }) => {
    await page.addInitScript(() => (window.ofPage = true));
    const session = await context.newCDPSession(page);
    await session.send('Page.enable');
    await session.send('Page.addScriptToEvaluateOnNewDocument', {
      source: 'window.ofSession = true',
    });
    await session.send('Fetch.enable', { patterns: [{ urlPattern: '*/data' }] });
    const stopped = listen(session, 'Fetch.requestPaused');
    await page.reload();
    const both = () => page.evaluate(() => [window.ofPage, window.ofSession]);
    assert.deepEqual(await both(), [true, true]);
    const answer = fetchData(page);
    await until('the request stops for the session', () => stopped.length === 1);
    assert.match(stopped[0].request.url, /\/data$/);
    // It holds the request and goes: the request goes on.
    await session.detach();
    assert.equal(await answer, 'from the site');
    await page.reload();
    assert.deepEqual(await both(), [true, undefined]);
  },
);

pageTest(
  'what a session overrides is set back when it ends, to what the page has set',
  async ({ page, context }) => {
    const looks = () =>
      page.evaluate(() => [
        matchMedia('print').matches,
        matchMedia('(prefers-color-scheme: dark)').matches,
        new Date(0).getTimezoneOffset(),
      ]);
    await page.emulateMedia({ colorScheme: 'dark' });
    const before = await looks();
    assert.deepEqual(before.slice(0, 2), [false, true]);
    const session = await context.newCDPSession(page);
    await session.send('Emulation.setEmulatedMedia', { media: 'print' });
    await session.send('Emulation.setTimezoneOverride', { timezoneId: 'Asia/Kathmandu' });
    assert.deepEqual(await looks(), [true, false, -330]);
    await session.detach();
    await until('all is set back', async () => isDeepStrictEqual(await looks(), before)).catch(
      () => {},
    );
    assert.deepEqual(await looks(), before);
  },
);

pageTest(
  'a session and a route of the same page both see a request, and who answers it decides',
  async ({ page, context }) => {
    const session = await context.newCDPSession(page);
    await session.send('Fetch.enable', { patterns: [{ urlPattern: '*/data*' }] });
    session.on('Fetch.requestPaused', ({ requestId, request }) => {
      const isIts = request.url.endsWith('?session');
      const body = Buffer.from('from the session').toString('base64');
      const answer = isIts
        ? session.send('Fetch.fulfillRequest', { requestId, responseCode: 200, body })
        : session.send('Fetch.continueRequest', { requestId });
      // The page may have decided before.
      answer.catch((error) => assert.match(error.message, /Invalid InterceptionId/));
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

pageTest('a frame of another site has sessions of its own', async ({ page, context }) => {
  await page.goto(shared.site.url('/framed'));
  const frame = page.frames().find((known) => known.url().endsWith('/inner'));
  const [first, second] = [await context.newCDPSession(frame), await context.newCDPSession(frame)];
  const title = async (session) =>
    (await session.send('Runtime.evaluate', { expression: 'document.title' })).result.value;
  assert.deepEqual([await title(first), await title(second)], ['Inner', 'Inner']);
  await first.send('Network.enable');
  const [heard, unheard] = [
    listen(first, 'Network.requestWillBeSent'),
    listen(second, 'Network.requestWillBeSent'),
  ];
  await frame.evaluate(() => fetch('/data?frame').then((answer) => answer.text()));
  await until("the frame's request is heard", () =>
    heard.some(({ request }) => request.url.endsWith('/data?frame')),
  );
  await first.detach();
  assert.equal(await title(second), 'Inner');
  assert.deepEqual(unheard, []);
  assert.equal(await frame.textContent('p'), 'inner');
  const message = page.waitForEvent('console');
  await frame.evaluate(() => console.log('from the frame'));
  assert.equal((await message).text(), 'from the frame');
});

test('sessions on the browser are distinct, and one that ends takes nothing along', () =>
  shared.withClients(async (connect) => {
    const { browser, context } = await connect.playwright();
    const [first, second] = [
      await browser.newBrowserCDPSession(),
      await browser.newBrowserCDPSession(),
    ];
    const [ofFirst, ofSecond] = [
      listen(first, 'Target.targetCreated'),
      listen(second, 'Target.targetCreated'),
    ];
    assert.match((await first.send('Browser.getVersion')).product, /Chrome/);
    await second.send('Target.setDiscoverTargets', { discover: true });
    await until('the second is told of what is there', () => ofSecond.length > 0);
    ofSecond.length = 0;
    await first.detach();
    const page = await context.newPage();
    await until('the second is told of the new page', () =>
      ofSecond.some(({ targetInfo }) => targetInfo.type === 'page'),
    );
    assert.deepEqual(ofFirst, []);
    await page.goto(shared.site.url('/'));
    assert.equal(await page.title(), 'Home');
    await second.detach();
    assert.equal(await page.evaluate(() => document.title), 'Home');
  }));

test('sessions of Puppeteer have ids of their own, and end one by one', () =>
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
    const [ofFirst, ofSecond] = [
      listen(first, 'Network.requestWillBeSent'),
      listen(second, 'Network.requestWillBeSent'),
    ];
    const seen = page.waitForResponse((response) => response.url().endsWith('/data'));
    assert.equal(await fetchData(page), 'from the site');
    assert.equal((await seen).status(), 200);
    await until('the second hears', () => ofSecond.length === 1);
    for (const session of sessions) {
      assert.equal(
        (await session.send('Runtime.evaluate', { expression: 'document.title' })).result.value,
        'Home',
      );
    }
    assert.deepEqual(ofFirst, []);
    await second.detach();
    await assert.rejects(second.send('Runtime.evaluate', { expression: '1' }));
    assert.equal((await third.send('Runtime.evaluate', { expression: '6 * 7' })).result.value, 42);
    const message = new Promise((resolve) => page.once('console', resolve));
    await page.evaluate(() => console.log('still'));
    assert.equal((await message).text(), 'still');
    await page.reload();
    assert.equal(await page.title(), 'Home');
  }));
