/**
 * Workers of a page: usable once the page is used, and never left paused, whether or not a client
 * wants them.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { attachedUrls, openTabs, pageAt, untilDetached, useChain } from '../harness/chain.mjs';
import { until } from '../harness/processes.mjs';
import { withRawClient } from '../harness/raw_client.mjs';
import { javascript } from '../harness/site.mjs';

/** The numbers that pages have reported, by key. */
const reported = new Map();
const reportsOf = (key) => reported.get(key) ?? [];

/** Responses to `/go`, for which pages wait before they start their workers. */
const held = [];
/**
 * Lets a page start its workers and waits until both have replied to it. The page must wait until
 * the harness has disconnected: Chromium leaves a worker paused forever if a client of its own
 * port disconnects while the worker starts.
 */
async function startWorkers(url) {
  (await until('the page is ready', () => held.shift())).end();
  const key = decodeURIComponent(new URL(url).search);
  await until('the workers run', () => reportsOf(key).includes(5));
}

/** How often each stream was opened, by key. */
const opened = new Map();
/** Sends a number every few milliseconds until the page closes the stream. */
const stream = (kind, type, frame) => (request, response) => {
  const key = `${new URL(request.url, 'http://site').searchParams.get('name')} ${kind}`;
  opened.set(key, (opened.get(key) ?? 0) + 1);
  response.writeHead(200, { 'content-type': type });
  let number = 0;
  const timer = setInterval(() => response.write(frame((number += 1))), 10);
  response.on('close', () => clearInterval(timer));
};

const servicePages = ['playwright', 'puppeteer', 'raw', 'waiting'].map((name) => [
  `/service/${name}`,
  '<title>Service</title>',
]);

const shared = useChain({
  pages: {
    ...Object.fromEntries(servicePages),
    '/plain': '<title>Plain</title><p>plain</p>',
    '/inner': '<title>Inner</title><p>inner</p>',
    '/workers': `<title>Workers</title><script>
      window.ask = (port, question) => new Promise((resolve) => { port.onmessage = ({ data }) => resolve(data); port.postMessage(question); });
      window.started = fetch('/go').then(async () => {
        window.worker = new Worker('/worker.js');
        window.sharedWorker = new SharedWorker('/shared.js');
        await fetch('/report?key=' + location.search + '&number=' + ((await ask(worker, 1)) + (await ask(sharedWorker.port, 1))));
      });
    </script>`,
    '/go': (_request, response) => held.push(response),
    '/worker.js': javascript(
      'self.answer = 42; onmessage = ({ data }) => { console.log("worker got", data); postMessage(data * 2); };',
    ),
    '/nesting.js': javascript('self.level = 1; new Worker("/worker.js");'),
    '/shared.js': javascript(
      'onconnect = ({ ports: [port] }) => { port.onmessage = ({ data }) => port.postMessage(data * 3); };',
    ),
    '/service_worker.js': javascript(`
      oninstall = () => skipWaiting();
      onactivate = (event) => event.waitUntil(clients.claim());
      onfetch = (event) => { if (event.request.url.endsWith('/served')) event.respondWith(new Response('by the worker')); };`),
    '/served': 'by the site',
    '/flow': `<title>Flow</title><script>
      const name = new URLSearchParams(location.search).get('name');
      const report = (kind, number) => fetch('/report?key=' + name + ' ' + kind + '&number=' + number);
      new EventSource('/events?name=' + name).onmessage = ({ data }) => report('events', data);
      (async () => {
        const { body } = await fetch('/stream?name=' + name);
        for await (const text of body.pipeThrough(new TextDecoderStream())) text.trim().split(' ').forEach((number) => report('stream', number));
      })();
    </script>`,
    '/events': stream('events', 'text/event-stream', (number) => `data: ${number}\n\n`),
    '/stream': stream('stream', 'text/plain', (number) => `${number} `),
    '/report': (request, response) => {
      const { searchParams } = new URL(request.url, 'http://site');
      const key = searchParams.get('key');
      reported.set(key, [...reportsOf(key), Number(searchParams.get('number'))]);
      response.end();
    },
  },
});

/** A worker that is never resumed would block forever; the timeout names the test. */
const TIMEOUT = { timeout: 20_000 };

/** A test on a tab that the user has opened and no client has used. */
const dormantTest = (name, path, run) =>
  test(name, TIMEOUT, () =>
    shared.withDormantPage(shared.site.url(`${path}?${encodeURIComponent(name)}`), run),
  );

dormantTest('a worker is usable once its tab wakes', '/workers', async ({ page, url }) => {
  await startWorkers(url);
  assert.equal(await page.evaluate(() => window.ask(window.worker, 4)), 8);
  const worker = await until('the worker is announced', () => page.workers()[0]);
  assert.equal(worker.url(), shared.site.url('/worker.js'));
  assert.equal(await worker.evaluate(() => self.answer), 42);
  const message = page.waitForEvent('console');
  assert.equal(await page.evaluate(() => window.ask(window.worker, 5)), 10);
  assert.equal((await message).text(), 'worker got 5');
  const closed = worker.waitForEvent('close');
  await page.evaluate(() => window.worker.terminate());
  await closed;
  assert.equal(page.workers().length, 0);
});

test('announces a nested worker, and both close with the page', TIMEOUT, () =>
  shared.withPlaywright(async ({ context }) => {
    const page = await context.newPage();
    await page.goto(shared.site.url('/plain'));
    await page.evaluate(() => (window.worker = new Worker('/nesting.js')));
    await until('both workers are announced', () => page.workers().length === 2);
    const values = await Promise.all(
      page.workers().map((worker) => worker.evaluate(() => self.answer ?? self.level)),
    );
    assert.deepEqual(values.sort(), [1, 42]);
    await page.goto(shared.site.url('/inner'));
    await until('both workers are closed', () => page.workers().length === 0);
  }),
);

dormantTest(
  'shared workers reply, whether they started before or after the tab woke',
  '/workers',
  async ({ page, url }) => {
    await startWorkers(url);
    assert.equal(await page.evaluate(() => window.ask(window.sharedWorker.port, 2)), 6);
    const reply = await page.evaluate(() =>
      window.ask((window.another = new SharedWorker('/shared.js', 'another')).port, 3),
    );
    assert.equal(reply, 9);
  },
);

/** Registers a service worker for this page alone, and returns what the page then gets from it. */
const REGISTER = `(async () => {
  const controlled = new Promise((resolve) => (navigator.serviceWorker.oncontrollerchange = resolve));
  await navigator.serviceWorker.register('/service_worker.js', { scope: location.pathname });
  await controlled;
  return (await fetch('/served')).text();
})()`;
/** Starts a worker and returns its reply to 3. */
const START_WORKER = `new Promise((resolve) => {
  const worker = new Worker('/worker.js');
  worker.onmessage = ({ data }) => resolve(data);
  worker.postMessage(3);
})`;
const WAIT_FOR_DEBUGGER = { autoAttach: true, waitForDebuggerOnStart: true, flatten: true };

dormantTest(
  'a service worker registers and serves while Playwright uses the page',
  '/service/playwright',
  async ({ page }) => {
    assert.equal(await page.evaluate(REGISTER), 'by the worker');
  },
);

test('a service worker registers and serves while Puppeteer uses the page', TIMEOUT, async () => {
  const url = shared.site.url('/service/puppeteer');
  await openTabs(shared.chain, [url]);
  await shared.withPuppeteer(async (browser) => {
    const page = pageAt(await browser.pages(), url);
    assert.equal(await page.evaluate(REGISTER), 'by the worker');
    await page.close();
  });
});

test('a raw session alone pauses no workers or frames of its page', TIMEOUT, async () => {
  const url = shared.site.url('/service/raw');
  await openTabs(shared.chain, [url]);
  await withRawClient(shared.chain, async ({ client, open }) => {
    const session = await open(url);
    assert.equal(await session.evaluate(REGISTER), 'by the worker');
    assert.equal(await session.evaluate(START_WORKER), 6);
    const src = shared.site.url('/inner', 'localhost');
    const frame = `new Promise((resolve) => { const frame = document.createElement('iframe'); frame.src = '${src}'; frame.onload = () => resolve('loaded'); document.body.append(frame); })`;
    assert.equal(await session.evaluate(frame), 'loaded');
    assert.deepEqual(await attachedUrls(shared.chain), [url]);
    const { targetInfo } = await session.send('Target.getTargetInfo');
    await client.send('Target.closeTarget', { targetId: targetInfo.targetId });
  });
});

test(
  'resumes workers paused for a session that detaches, and pauses no later ones',
  TIMEOUT,
  async () => {
    const url = shared.site.url('/service/waiting');
    await openTabs(shared.chain, [url]);
    await withRawClient(shared.chain, async ({ open }) => {
      const [staying, leaving] = [await open(url), await open(url)];
      await leaving.send('Target.setAutoAttach', WAIT_FOR_DEBUGGER);
      const reply = staying.evaluate(START_WORKER);
      const attached = await until('the worker is announced', () =>
        leaving
          .events('Target.attachedToTarget')
          .find(({ targetInfo }) => targetInfo.type === 'worker'),
      );
      assert.equal(attached.waitingForDebugger, true);
      await leaving.detach();
      assert.equal(await reply, 6);
      assert.equal(await staying.evaluate(START_WORKER), 6);
      assert.equal(await staying.evaluate(REGISTER), 'by the worker');
    });
  },
);

test('resumes workers paused for a client that disconnects', TIMEOUT, async () => {
  const url = shared.site.url('/plain?left');
  await openTabs(shared.chain, [url]);
  await withRawClient(shared.chain, async ({ open }) => {
    const session = await open(url);
    await session.send('Target.setAutoAttach', WAIT_FOR_DEBUGGER);
    await session.evaluate(
      `window.late = new Worker('/worker.js'); window.late.onmessage = ({ data }) => fetch('/report?key=left&number=' + data); window.late.postMessage(7)`,
    );
    await until('the worker is paused', () =>
      session.events('Target.attachedToTarget').some((event) => event.waitingForDebugger),
    );
    assert.deepEqual(reportsOf('left'), [], 'the worker has not run');
  });
  await until('the worker runs', () => reportsOf('left').includes(14));
});

const STREAMS = ['flow events', 'flow stream'];

/** Waits until each stream has delivered a few more numbers. */
async function untilStreamsContinue() {
  for (const key of STREAMS) {
    const before = reportsOf(key).length;
    await until(`${key} continues`, () => reportsOf(key).length > before + 3);
  }
}

/**
 * The last few numbers may arrive out of order, because each is reported by a request of its own.
 */
function assertWithoutGaps(key) {
  assert.equal(opened.get(key), 1, 'it was opened only once');
  const numbers = [...reportsOf(key)].sort((a, b) => a - b).slice(0, -10);
  assert.deepEqual(
    numbers,
    numbers.map((_number, index) => index + 1),
    'none is missing',
  );
}

test(
  'streams continue without a gap while clients wake, use and leave their tab',
  TIMEOUT,
  async () => {
    const url = shared.site.url('/flow?name=flow');
    await openTabs(shared.chain, [url]);
    await untilStreamsContinue();
    await shared.withPlaywright(async ({ context }) => {
      assert.equal(await pageAt(context, url).title(), 'Flow');
      await untilStreamsContinue();
    });
    await untilDetached(shared.chain);
    await untilStreamsContinue();
    await withRawClient(shared.chain, async ({ open }) => {
      assert.equal(await (await open(url)).evaluate('document.title'), 'Flow');
      await untilStreamsContinue();
    });
    await untilStreamsContinue();
    STREAMS.forEach(assertWithoutGaps);
  },
);
