/** Several clients on one browser, each as if it were alone: nothing mixes, nothing is heard twice, and nothing waits for ever. */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { useChain } from '../harness/chain.mjs';
import { until } from '../harness/processes.mjs';

const shared = useChain({
  args: ['--client-mode', 'multi-client'],
  pages: {
    '/': '<title>Home</title><button onclick="this.textContent = Number(this.textContent) + 1">0</button><input>',
    '/data': (request, response) => {
      served.push(request.url);
      response.end('from the site');
    },
    '/framed': (request, response) => {
      const { port } = new URL(`http://${request.headers.host}`);
      response.setHeader('content-type', 'text/html');
      // Another site, so Chrome gives the frame a process and a target of its own.
      response.end(`<title>Framed</title><iframe src="http://localhost:${port}/inner"></iframe><iframe srcdoc="<b>near</b>"></iframe>
        <script>window.worker = new Worker('/worker.js')</script>`);
    },
    '/secret': (request, response) => {
      response.statusCode = request.headers.authorization ? 200 : 401;
      response.setHeader('www-authenticate', 'Basic realm="test"');
      response.end(request.headers.authorization);
    },
    '/inner': (request, response) => {
      const { port } = new URL(`http://${request.headers.host}`);
      response.setHeader('content-type', 'text/html');
      // Of the first site again: a target below the frame's own.
      response.end(
        `<title>Inner</title><p>inner</p><iframe src="http://127.0.0.1:${port}/nested"></iframe>`,
      );
    },
    '/nested': '<title>Nested</title><p>nested</p>',
    '/worker.js': (request, response) => {
      response.setHeader('content-type', 'text/javascript');
      response.end('self.name = "the worker"; onmessage = ({ data }) => console.log(data)');
    },
  },
});

/** The addresses of `/data` that reached the site. */
const served = [];

const clientsTest = (name, run) => test(name, () => shared.withClients(run));

/** A page of `owner` at this address, and what the other clients call it. */
async function sharedPage({ context }, path, others = []) {
  const page = await context.newPage();
  await page.goto(shared.site.url(path));
  return [
    page,
    ...(await Promise.all(others.map((other) => pageOf(other, shared.site.url(path))))),
  ];
}

/** The page at this address, in a client of either library. */
const pageOf = ({ context, browser }, url) =>
  until(`the other client sees ${url}`, async () =>
    (await (context ?? browser).pages()).find((page) => page.url() === url),
  );

const fetchData = (page, query = '') =>
  page.evaluate((path) => fetch(path).then((answer) => answer.text()), `/data${query}`);

/** Fulfils once every client has been told of what was said so far. */
const settle = (...pages) => Promise.all(pages.map((page) => page.evaluate(() => 1)));

clientsTest(
  'each client has sessions of its own, and those of others are unknown to it',
  async (connect) => {
    const owner = await connect.playwright();
    const [page] = await sharedPage(owner, '/?ids');
    const browser = await connect.puppeteer();
    const ofPuppeteer = await (await pageOf({ browser }, page.url())).createCDPSession();
    const [first, second] = [await connect.bare(), await connect.bare()];
    const [ofFirst, ofSecond] = [await first.attach(page.url()), await second.attach(page.url())];
    assert.equal(new Set([ofPuppeteer.id(), ofFirst, ofSecond]).size, 3);
    for (const foreign of [ofPuppeteer.id(), ofSecond, 'F'.repeat(32), 'no id']) {
      const { error } = await first.ask('Runtime.evaluate', { expression: '1' }, foreign);
      assert.equal(error.code, -32001, foreign);
      assert.equal(
        (await first.ask('Target.detachFromTarget', { sessionId: foreign })).error.code,
        -32001,
        foreign,
      );
    }
    for (const [client, session] of [
      [first, ofFirst],
      [second, ofSecond],
    ]) {
      assert.equal(
        (await client.send('Runtime.evaluate', { expression: 'document.title' }, session)).result
          .value,
        'Home',
      );
      assert.ok(
        client.heard.every(({ sessionId }) => sessionId === undefined || sessionId === session),
      );
    }
    assert.equal(
      (await ofPuppeteer.send('Runtime.evaluate', { expression: '6 * 7' })).result.value,
      42,
    );
  },
);

clientsTest('console and network events reach every client once', async (connect) => {
  const [first, second, browser] = [
    await connect.playwright(),
    await connect.playwright(),
    await connect.puppeteer(),
  ];
  const pages = await sharedPage(first, '/?events', [second, { browser }]);
  await settle(...pages);
  const heard = pages.map((page) => {
    const of = { console: [], requests: [], responses: [] };
    page.on('console', (message) => of.console.push(message.text()));
    page.on('request', (request) => of.requests.push(request.url()));
    page.on('response', (response) => of.responses.push(response.url()));
    return of;
  });
  const data = [shared.site.url('/data?1'), shared.site.url('/data?2')];
  await pages[1].evaluate(() => console.log('one'));
  await fetchData(pages[0], '?1');
  await fetchData(pages[2], '?2');
  await pages[2].evaluate(() => console.log('two'));
  await until('all have heard', () =>
    heard.every((of) => of.console.length >= 2 && of.responses.length >= 2),
  );
  await settle(...pages);
  for (const of of heard) {
    assert.deepEqual(of, { console: ['one', 'two'], requests: data, responses: data });
  }
});

clientsTest('all clients may work in one tab at the same time', async (connect) => {
  const [first, second, browser] = [
    await connect.playwright(),
    await connect.playwright(),
    await connect.puppeteer(),
  ];
  const pages = await sharedPage(first, '/?work', [second, { browser }]);
  await Promise.all(
    pages.map(async (page, n) => {
      for (let round = 0; round < 5; round += 1) {
        assert.equal(
          await page.evaluate((value) => value * 2, n * 100 + round),
          (n * 100 + round) * 2,
        );
      }
    }),
  );
  for (const page of pages) {
    await page.click('button');
  }
  assert.equal(await pages[0].textContent('button'), '3');
  await pages[1].fill('input', 'by the second');
  assert.equal(await pages[2].$eval('input', (input) => input.value), 'by the second');
  await Promise.all(
    pages
      .map((page) => page.waitForNavigation({ timeout: 10_000 }))
      .concat(pages[2].goto(shared.site.url('/?elsewhere'))),
  );
  for (const page of pages) {
    assert.equal(await page.evaluate(() => location.search), '?elsewhere');
  }
});

clientsTest(
  'a late client has the full picture of a live tab: frames, contexts, workers',
  async (connect) => {
    const first = await connect.playwright();
    const [page] = await sharedPage(first, '/framed');
    await until('the worker', () => page.workers().length === 1);
    const nestedOf = (known) =>
      until('the nested frame', () =>
        known.frames().find((frame) => frame.url().endsWith('/nested')),
      );
    assert.equal(await (await nestedOf(page)).textContent('p'), 'nested');
    const second = await connect.playwright();
    const late = await pageOf(second, page.url());
    const inner = await until('the late client sees the frame', () =>
      late.frames().find((frame) => frame.url().endsWith('/inner')),
    );
    const nested = await nestedOf(late);
    assert.deepEqual(
      late
        .frames()
        .map((frame) => frame.url())
        .sort(),
      page
        .frames()
        .map((frame) => frame.url())
        .sort(),
    );
    assert.equal(await inner.textContent('p', { timeout: 5_000 }), 'inner');
    assert.equal(await inner.evaluate(() => document.title), 'Inner');
    assert.deepEqual(
      [await nested.textContent('p'), await nested.evaluate(() => document.title)],
      ['nested', 'Nested'],
    );
    assert.equal(await late.frameLocator('iframe[srcdoc]').locator('b').textContent(), 'near');
    assert.equal(await late.evaluate(() => document.title), 'Framed');
    const browser = await connect.puppeteer();
    const latest = await pageOf({ browser }, page.url());
    const frame = await until('Puppeteer sees the frame', () =>
      latest.frames().find((known) => known.url().endsWith('/inner')),
    );
    assert.equal(await frame.$eval('p', (p) => p.textContent), 'inner');
    // Playwright tells nobody of workers that were there before it, not even on Chrome's own port.
    const worker = await until('Puppeteer sees the worker', () => latest.workers()[0]);
    assert.equal(await worker.evaluate(() => self.name), 'the worker');
    assert.equal(await (await nestedOf(latest)).evaluate(() => document.title), 'Nested');
    // And the first has lost nothing by it.
    assert.equal(
      await page
        .frames()
        .find((known) => known.url().endsWith('/inner'))
        .evaluate(() => document.title),
      'Inner',
    );
    const messages = [page, late].map((known) => known.waitForEvent('console'));
    await page.evaluate(() => window.worker.postMessage('said by the worker'));
    for (const message of messages) {
      assert.equal((await message).text(), 'said by the worker');
    }
  },
);

clientsTest(
  'a dialog is answered by who comes first, and the other learns that it is closed',
  async (connect) => {
    const first = await connect.playwright();
    const [page] = await sharedPage(first, '/?dialog');
    const watcher = await connect.bare();
    const session = await watcher.attach(page.url());
    await watcher.send('Page.enable', {}, session);
    const opened = page.waitForEvent('dialog');
    const answer = page.evaluate(() => prompt('name?'));
    const dialog = await opened;
    await until(
      'the other sees it',
      () => watcher.of(session, 'Page.javascriptDialogOpening').length === 1,
    );
    await dialog.accept('the first');
    assert.equal(await answer, 'the first');
    const [closed] = await until('the other learns of it', () => {
      const events = watcher.of(session, 'Page.javascriptDialogClosed');
      return events.length > 0 && events;
    });
    assert.equal(closed.result, true);
    const { error } = await watcher.ask('Page.handleJavaScriptDialog', { accept: false }, session);
    assert.match(error.message, /No dialog is showing/);
    // The other way round: Playwright's answer is the late one, and its page goes on.
    const again = page.waitForEvent('dialog');
    const confirmed = page.evaluate(() => confirm('sure?'));
    const second = await again;
    await watcher.send('Page.handleJavaScriptDialog', { accept: true }, session);
    assert.equal(await confirmed, true);
    await assert.rejects(second.dismiss(), /No dialog is showing/);
    assert.equal(await page.evaluate(() => 6 * 7), 42);
  },
);

clientsTest(
  'routes of several clients on one tab each answer their own, and every request once',
  async (connect) => {
    const [first, second, browser] = [
      await connect.playwright(),
      await connect.playwright(),
      await connect.puppeteer(),
    ];
    const pages = await sharedPage(first, '/?routes', [second, { browser }]);
    await pages[0].route('**/data?first', (route) => route.fulfill({ body: 'from the first' }));
    await pages[1].route('**/data?second', (route) => route.fulfill({ body: 'from the second' }));
    await pages[2].setRequestInterception(true);
    pages[2].on(
      'request',
      (request) =>
        void (request.url().endsWith('?third')
          ? request.respond({ body: 'from the third' })
          : request.continue()),
    );
    served.length = 0;
    const asked = ['?first', '?second', '?third', '?nobody', '?first', '?nobody'];
    const answers = await Promise.all(asked.map((query) => fetchData(pages[0], query)));
    assert.deepEqual(answers, [
      'from the first',
      'from the second',
      'from the third',
      'from the site',
      'from the first',
      'from the site',
    ]);
    assert.deepEqual(served, ['/data?nobody', '/data?nobody']);
    await pages[1].reload();
    await pages[1].unroute('**/data?second');
    assert.equal(await fetchData(pages[2], '?second'), 'from the site');
    assert.equal(await fetchData(pages[2], '?first'), 'from the first');
  },
);

clientsTest('two clients that both route the same thing answer it once', async (connect) => {
  const [first, second] = [await connect.playwright(), await connect.playwright()];
  const pages = await sharedPage(first, '/?same', [second]);
  let asked = 0;
  for (const [n, page] of pages.entries()) {
    await page.route('**/data*', async (route) => {
      asked += 1;
      await route.fulfill({ body: `from ${n}` });
    });
  }
  for (let round = 0; round < 10; round += 1) {
    assert.match(await fetchData(pages[round % 2]), /^from [01]$/);
  }
  assert.equal(asked, 20);
});

clientsTest('an answer that comes too late gets the error that Chrome gives', async (connect) => {
  const first = await connect.playwright();
  const [page] = await sharedPage(first, '/?late');
  const clients = [await connect.bare(), await connect.bare()];
  const sessions = await Promise.all(
    clients.map(async (client) => {
      const session = await client.attach(page.url());
      await client.send('Fetch.enable', { patterns: [{ urlPattern: '*/data*' }] }, session);
      return session;
    }),
  );
  const answer = fetchData(page);
  const stopped = await Promise.all(
    clients.map((client, n) =>
      until('it stops for both', () => client.of(sessions[n], 'Fetch.requestPaused')[0]),
    ),
  );
  assert.equal(stopped[0].requestId, stopped[1].requestId);
  const body = Buffer.from('decided').toString('base64');
  await clients[1].send(
    'Fetch.fulfillRequest',
    { requestId: stopped[1].requestId, responseCode: 200, body },
    sessions[1],
  );
  const late = await clients[0].ask(
    'Fetch.continueRequest',
    { requestId: stopped[0].requestId },
    sessions[0],
  );
  // What Chrome itself says of an id that is none.
  const own = await clients[0].ask('Fetch.getResponseBody', { requestId: 'none' }, sessions[0]);
  assert.deepEqual(late.error, own.error);
  assert.equal(await answer, 'decided');
});

clientsTest(
  'a request that only one client asked for stops for that one only, and goes on when it is killed',
  async (connect) => {
    const [first, second] = [await connect.playwright(), await connect.playwright()];
    const pages = await sharedPage(first, '/?killed', [second]);
    await pages[0].route('**/data?routed', (route) => route.fulfill({ body: 'from the route' }));
    for (const end of ['kill', 'close', 'detach', 'disable']) {
      const holder = await connect.bare();
      const session = await holder.attach(pages[0].url());
      await holder.send('Fetch.enable', { patterns: [{ urlPattern: '*/data*' }] }, session);
      const answers = [fetchData(pages[1], `?${end}`), fetchData(pages[0], '?routed')];
      await until('it holds both', () => holder.of(session, 'Fetch.requestPaused').length === 2);
      const leave = {
        kill: () => holder.kill(),
        close: () => holder.close(),
        detach: () => holder.send('Target.detachFromTarget', { sessionId: session }),
        disable: () => holder.send('Fetch.disable', {}, session),
      };
      await leave[end]();
      assert.deepEqual(await Promise.all(answers), ['from the site', 'from the route'], end);
      assert.equal(await fetchData(pages[1], '?routed'), 'from the route', end);
      assert.equal(await fetchData(pages[1]), 'from the site', end);
    }
  },
);

clientsTest('a challenge is put to who asked for challenges', async (connect) => {
  const first = await connect.playwright();
  const [page] = await sharedPage(first, '/?challenge');
  const [without, knowing] = [await connect.bare(), await connect.bare()];
  const [ofWithout, ofKnowing] = [
    await without.attach(page.url()),
    await knowing.attach(page.url()),
  ];
  const patterns = [{ urlPattern: '*/secret' }];
  await without.send('Fetch.enable', { patterns }, ofWithout);
  await knowing.send('Fetch.enable', { patterns, handleAuthRequests: true }, ofKnowing);
  const answer = page.evaluate(() => fetch('/secret').then((answer) => answer.text()));
  for (const [client, session] of [
    [without, ofWithout],
    [knowing, ofKnowing],
  ]) {
    const { requestId } = await until(
      'the request stops for both',
      () => client.of(session, 'Fetch.requestPaused')[0],
    );
    await client.send('Fetch.continueRequest', { requestId }, session);
  }
  const { requestId } = await until(
    'the challenge',
    () => knowing.of(ofKnowing, 'Fetch.authRequired')[0],
  );
  const authChallengeResponse = {
    response: 'ProvideCredentials',
    username: 'me',
    password: 'mine',
  };
  assert.equal(
    (await without.ask('Fetch.continueWithAuth', { requestId, authChallengeResponse }, ofWithout))
      .error.code,
    -32602,
  );
  await knowing.send('Fetch.continueWithAuth', { requestId, authChallengeResponse }, ofKnowing);
  assert.equal(await answer, `Basic ${Buffer.from('me:mine').toString('base64')}`);
  assert.deepEqual(without.of(ofWithout, 'Fetch.authRequired'), []);
});

clientsTest('a response stops only for who asked for responses', async (connect) => {
  const first = await connect.playwright();
  const [page] = await sharedPage(first, '/?stages');
  const [early, late] = [await connect.bare(), await connect.bare()];
  const [ofEarly, ofLate] = [await early.attach(page.url()), await late.attach(page.url())];
  await early.send('Fetch.enable', { patterns: [{ urlPattern: '*/data*' }] }, ofEarly);
  await late.send(
    'Fetch.enable',
    { patterns: [{ urlPattern: '*/data*', requestStage: 'Response' }] },
    ofLate,
  );
  const answer = fetchData(page);
  const [request] = await until(
    'the request stops',
    () =>
      early.of(ofEarly, 'Fetch.requestPaused').length && early.of(ofEarly, 'Fetch.requestPaused'),
  );
  assert.deepEqual(late.of(ofLate, 'Fetch.requestPaused'), []);
  await early.send('Fetch.continueRequest', { requestId: request.requestId }, ofEarly);
  const [response] = await until(
    'the response stops',
    () => late.of(ofLate, 'Fetch.requestPaused').length && late.of(ofLate, 'Fetch.requestPaused'),
  );
  assert.equal(response.responseStatusCode, 200);
  assert.equal(
    (await early.ask('Fetch.continueResponse', { requestId: response.requestId }, ofEarly)).error
      .code,
    -32602,
  );
  const { body } = await late.send(
    'Fetch.getResponseBody',
    { requestId: response.requestId },
    ofLate,
  );
  assert.equal(Buffer.from(body, 'base64').toString(), 'from the site');
  late.kill();
  assert.equal(await answer, 'from the site');
  assert.equal(early.of(ofEarly, 'Fetch.requestPaused').length, 1);
});

clientsTest(
  'tabs that one client makes, names and closes are seen by the others',
  async (connect) => {
    const [first, second, browser] = [
      await connect.playwright(),
      await connect.playwright(),
      await connect.puppeteer(),
    ];
    const [appears, created] = [
      second.context.waitForEvent('page'),
      new Promise((resolve) => browser.once('targetcreated', resolve)),
    ];
    const page = await first.context.newPage();
    const other = await appears;
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
    assert.ok(
      [first, second].every(({ context }) =>
        context.pages().every((known) => known !== page && known !== other),
      ),
    );
    await assert.rejects(
      page.evaluate(() => 1),
      /closed/,
    );
  },
);

clientsTest('a client that leaves takes nothing from the others', async (connect) => {
  const [first, second] = [await connect.playwright(), await connect.playwright()];
  const pages = await sharedPage(first, '/?stays', [second]);
  await settle(...pages);
  const leaver = await connect.bare();
  const session = await leaver.attach(pages[0].url());
  for (const domain of ['Page', 'Runtime', 'Network', 'Log', 'DOM', 'Debugger']) {
    await leaver.send(`${domain}.enable`, {}, session);
  }
  await first.browser.close();
  leaver.kill();
  await until('they have left', async () => (await shared.chain.relay.status()).clients === 1);
  const message = pages[1].waitForEvent('console');
  await pages[1].evaluate(() => console.log('still here'));
  assert.equal((await message).text(), 'still here');
  await pages[1].reload();
  await pages[1].click('button');
  assert.equal(await pages[1].textContent('button'), '1');
});
