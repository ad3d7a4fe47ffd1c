/**
 * Requests that several clients intercept in one tab: each is answered exactly once, and no client
 * can block the others.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { useChain } from '../harness/chain.mjs';
import { until } from '../harness/processes.mjs';
import { fetchData, openShared } from '../harness/shared_page.mjs';

/** The addresses of `/data` that reached the site. */
const served = [];

const shared = useChain({
  args: ['--client-mode', 'multi-client'],
  pages: {
    '/': '<title>Home</title>',
    '/data': (request, response) => {
      served.push(request.url);
      response.end('from the site');
    },
    '/secret': (request, response) => {
      response.statusCode = request.headers.authorization ? 200 : 401;
      response.setHeader('www-authenticate', 'Basic realm="test"');
      response.end(request.headers.authorization);
    },
  },
});

const clientsTest = (name, run) => test(name, () => shared.withClients(run));

/** A page opened by a Playwright of its own. */
async function openPage(connect, path) {
  const [page] = await openShared(shared.site.url(path), [await connect.playwright()]);
  return page;
}

/** A raw client that intercepts requests of a page. */
async function connectInterceptor(connect, page, options) {
  const client = await connect.raw();
  const sessionId = await client.attach(page.url());
  await client.send('Fetch.enable', options, sessionId);
  return {
    client,
    sessionId,
    send: (method, params) => client.send(method, params, sessionId),
    /** Resolves with the error code of the reply. */
    errorCode: async (method, params) =>
      (await client.request(method, params, sessionId)).error?.code,
    paused: () => client.eventsOf(sessionId, 'Fetch.requestPaused'),
    authRequired: () => client.eventsOf(sessionId, 'Fetch.authRequired'),
    firstPaused: () =>
      until('a request is paused', () => client.eventsOf(sessionId, 'Fetch.requestPaused')[0]),
  };
}

const DATA = { patterns: [{ urlPattern: '*/data*' }] };

clientsTest('routes of several clients each answer their own requests once', async (connect) => {
  const clients = [
    await connect.playwright(),
    await connect.playwright(),
    { browser: await connect.puppeteer() },
  ];
  const [first, second, third] = await openShared(shared.site.url('/?routes'), clients);
  await first.route('**/data?first', (route) => route.fulfill({ body: 'from the first' }));
  await second.route('**/data?second', (route) => route.fulfill({ body: 'from the second' }));
  await third.setRequestInterception(true);
  third.on('request', (request) => {
    void (request.url().endsWith('?third')
      ? request.respond({ body: 'from the third' })
      : request.continue());
  });
  served.length = 0;
  const expected = {
    '?first': 'from the first',
    '?second': 'from the second',
    '?third': 'from the third',
    '?nobody': 'from the site',
  };
  const queries = ['?first', '?second', '?third', '?nobody', '?first', '?nobody'];
  const answers = await Promise.all(queries.map((query) => fetchData(first, query)));
  assert.deepEqual(
    answers,
    queries.map((query) => expected[query]),
  );
  assert.deepEqual(served, ['/data?nobody', '/data?nobody']);
  await second.reload();
  await second.unroute('**/data?second');
  assert.equal(await fetchData(third, '?second'), 'from the site');
  assert.equal(await fetchData(third, '?first'), 'from the first');
});

clientsTest('a request that two clients route is answered once', async (connect) => {
  const clients = [await connect.playwright(), await connect.playwright()];
  const pages = await openShared(shared.site.url('/?same'), clients);
  let routed = 0;
  for (const [n, page] of pages.entries()) {
    await page.route('**/data*', async (route) => {
      routed += 1;
      await route.fulfill({ body: `from ${n}` });
    });
  }
  for (let round = 0; round < 10; round += 1) {
    assert.match(await fetchData(pages[round % 2]), /^from [01]$/);
  }
  assert.equal(routed, 20);
});

clientsTest("a late answer gets Chrome's own error", async (connect) => {
  const page = await openPage(connect, '/?late');
  const first = await connectInterceptor(connect, page, DATA);
  const second = await connectInterceptor(connect, page, DATA);
  const data = fetchData(page);
  const { requestId } = await first.firstPaused();
  assert.equal((await second.firstPaused()).requestId, requestId);
  const body = Buffer.from('decided').toString('base64');
  await second.send('Fetch.fulfillRequest', { requestId, responseCode: 200, body });
  const { client, sessionId } = first;
  const late = await client.request('Fetch.continueRequest', { requestId }, sessionId);
  // What Chrome replies for an unknown request.
  const chrome = await client.request('Fetch.getResponseBody', { requestId: 'none' }, sessionId);
  assert.deepEqual(late.error, chrome.error);
  assert.equal(await data, 'decided');
});

/** How a client can stop intercepting. */
const ENDINGS = {
  kill: ({ client }) => client.kill(),
  close: ({ client }) => client.close(),
  detach: ({ client, sessionId }) => client.send('Target.detachFromTarget', { sessionId }),
  disable: ({ send }) => send('Fetch.disable', {}),
};

clientsTest('requests paused for one client continue however it ends', async (connect) => {
  const clients = [await connect.playwright(), await connect.playwright()];
  const pages = await openShared(shared.site.url('/?ends'), clients);
  await pages[0].route('**/data?routed', (route) => route.fulfill({ body: 'from the route' }));
  // On one page in turn, so that each ending has to leave it clean for the next.
  for (const [name, end] of Object.entries(ENDINGS)) {
    const holder = await connectInterceptor(connect, pages[0], DATA);
    const answers = [fetchData(pages[1], `?${name}`), fetchData(pages[0], '?routed')];
    await until('both requests are paused', () => holder.paused().length === 2);
    await end(holder);
    assert.deepEqual(await Promise.all(answers), ['from the site', 'from the route'], name);
    assert.equal(await fetchData(pages[1], '?routed'), 'from the route', name);
    assert.equal(await fetchData(pages[1]), 'from the site', name);
  }
});

clientsTest('only a client that asked for challenges gets them', async (connect) => {
  const page = await openPage(connect, '/?challenge');
  const patterns = [{ urlPattern: '*/secret' }];
  const without = await connectInterceptor(connect, page, { patterns });
  const asking = await connectInterceptor(connect, page, { patterns, handleAuthRequests: true });
  const answer = page.evaluate(() => fetch('/secret').then((response) => response.text()));
  for (const interceptor of [without, asking]) {
    const { requestId } = await interceptor.firstPaused();
    await interceptor.send('Fetch.continueRequest', { requestId });
  }
  const { requestId } = await until('the challenge arrives', () => asking.authRequired()[0]);
  const params = {
    requestId,
    authChallengeResponse: { response: 'ProvideCredentials', username: 'me', password: 'mine' },
  };
  assert.equal(await without.errorCode('Fetch.continueWithAuth', params), -32602);
  await asking.send('Fetch.continueWithAuth', params);
  assert.equal(await answer, `Basic ${Buffer.from('me:mine').toString('base64')}`);
  assert.deepEqual(without.authRequired(), []);
});

clientsTest('a response pauses only for a client that asked for responses', async (connect) => {
  const page = await openPage(connect, '/?stages');
  const atRequest = await connectInterceptor(connect, page, DATA);
  const atResponse = await connectInterceptor(connect, page, {
    patterns: [{ urlPattern: '*/data*', requestStage: 'Response' }],
  });
  const data = fetchData(page);
  const request = await atRequest.firstPaused();
  assert.deepEqual(atResponse.paused(), []);
  await atRequest.send('Fetch.continueRequest', { requestId: request.requestId });
  const { requestId, responseStatusCode } = await atResponse.firstPaused();
  assert.equal(responseStatusCode, 200);
  assert.equal(await atRequest.errorCode('Fetch.continueResponse', { requestId }), -32602);
  const { body } = await atResponse.send('Fetch.getResponseBody', { requestId });
  assert.equal(Buffer.from(body, 'base64').toString(), 'from the site');
  atResponse.client.kill();
  assert.equal(await data, 'from the site');
  assert.equal(atRequest.paused().length, 1);
});
