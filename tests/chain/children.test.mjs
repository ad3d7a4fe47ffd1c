/** What is below a page: frames of other processes and workers. Reached like any other part of it, and never held up. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';

import puppeteer from 'puppeteer-core';

import { withBareClient } from '../harness/bare_client.mjs';
import { attachedUrls, openTabs, useChain } from '../harness/chain.mjs';
import { until } from '../harness/processes.mjs';

/** The numbers that each page said it got out of a stream, and how often it opened one, by `name kind`. */
const got = new Map();
const opened = new Map();
/** What `/prerendered` was asked for. */
const purposes = [];

/**
 * Answers to pages that wait with their workers until the person's side has gone: Chromium leaves a worker paused for ever
 * when a client of its own port goes as the worker starts.
 */
const held = [];
/** Lets the page at this address start its workers, and waits until both have answered it. */
async function startWorkers(url) {
  (await until('the page asks', () => held.shift())).end();
  await until('the workers run', () =>
    got.get(decodeURIComponent(new URL(url).search))?.includes(5),
  );
}

const script = (text) => (request, response) =>
  response.setHeader('content-type', 'text/javascript').end(text);
/** A page that is written anew for each request, because it names the other site. */
const written = (write) => (request, response) =>
  response.setHeader('content-type', 'text/html').end(write(shared.site));

/** Sends a number every few milliseconds for as long as somebody listens. */
const stream = (kind, type, frame) => (request, response) => {
  const key = `${new URL(request.url, 'http://site').searchParams.get('name')} ${kind}`;
  opened.set(key, (opened.get(key) ?? 0) + 1);
  response.writeHead(200, { 'content-type': type });
  let number = 0;
  const ticking = setInterval(() => response.write(frame((number += 1))), 10);
  response.on('close', () => clearInterval(ticking));
};

const shared = useChain({
  pages: {
    '/plain': '<title>Plain</title><p>plain</p>',
    '/inner': `<title>Inner</title><p>inner</p><button onclick="this.textContent = 'pressed'">inner</button>`,
    '/frames': written(
      (site) => `<title>Frames</title><iframe id="same" src="/inner?same"></iframe>
      <iframe id="cross" src="${site.url('/nest', 'localhost')}"></iframe><iframe id="written" srcdoc="<p>written</p>"></iframe>`,
    ),
    '/nest': written(
      (site) =>
        `<title>Nest</title><p>nest</p><iframe id="back" src="${site.url('/inner?nested')}"></iframe>`,
    ),
    '/prerenders': `<title>First</title><a href="/prerendered">on</a>
      <script type="speculationrules">{"prerender":[{"source":"list","urls":["/prerendered"],"eagerness":"immediate"}]}</script>`,
    '/prerendered': (request, response) => {
      purposes.push(request.headers['sec-purpose']);
      response.setHeader('content-type', 'text/html').end('<title>Second</title><p>second</p>');
    },
    '/workers': `<title>Workers</title><script>
      window.ask = (port, question) => new Promise((resolve) => { port.onmessage = ({ data }) => resolve(data); port.postMessage(question); });
      window.started = fetch('/go').then(async () => {
        window.worker = new Worker('/worker.js');
        window.sharedWorker = new SharedWorker('/shared.js');
        await fetch('/got?key=' + location.search + '&number=' + ((await ask(worker, 1)) + (await ask(sharedWorker.port, 1))));
      });
    </script>`,
    '/go': (request, response) => held.push(response),
    '/worker.js': script(
      'self.answer = 42; onmessage = ({ data }) => { console.log("worker got", data); postMessage(data * 2); };',
    ),
    '/nesting.js': script('self.level = 1; new Worker("/worker.js");'),
    '/shared.js': script(
      'onconnect = ({ ports: [port] }) => { port.onmessage = ({ data }) => port.postMessage(data * 3); };',
    ),
    ...Object.fromEntries(
      ['playwright', 'puppeteer', 'raw', 'waiting'].map((name) => [
        `/service/${name}`,
        '<title>Service</title>',
      ]),
    ),
    '/service_worker.js': script(`
      oninstall = () => skipWaiting();
      onactivate = (event) => event.waitUntil(clients.claim());
      onfetch = (event) => { if (event.request.url.endsWith('/served')) event.respondWith(new Response('by the worker')); };`),
    '/served': 'by the site',
    '/flow': `<title>Flow</title><script>
      const name = new URLSearchParams(location.search).get('name');
      const tell = (kind, number) => fetch('/got?key=' + name + ' ' + kind + '&number=' + number);
      new EventSource('/events?name=' + name).onmessage = ({ data }) => tell('events', data);
      (async () => {
        const { body } = await fetch('/stream?name=' + name);
        for await (const text of body.pipeThrough(new TextDecoderStream())) text.trim().split(' ').forEach((number) => tell('stream', number));
      })();
    </script>`,
    '/events': stream('events', 'text/event-stream', (number) => `data: ${number}\n\n`),
    '/stream': stream('stream', 'text/plain', (number) => `${number} `),
    '/got': (request, response) => {
      const { searchParams } = new URL(request.url, 'http://site');
      got.set(searchParams.get('key'), [
        ...(got.get(searchParams.get('key')) ?? []),
        Number(searchParams.get('number')),
      ]);
      response.end();
    },
  },
});

/** Whatever is held up is held up for ever: better to be told which. */
const WITHIN = { timeout: 20_000 };

const pageAt = (context, url) => context.pages().find((page) => page.url() === url);
/** A test on the page of a tab that the person opened and nobody has used. */
const dormantTest = (name, path, run) =>
  test(name, WITHIN, async () => {
    const url = shared.site.url(`${path}?${encodeURIComponent(name)}`);
    await openTabs(shared.chain, [url]);
    await shared.withPlaywright(async ({ context, browser }) => {
      const page = pageAt(context, url);
      await run({ page, context, browser, url });
      await page.close();
    });
  });
const pageTest = (name, run) =>
  test(name, WITHIN, () =>
    shared.withPlaywright(async ({ context }) => run({ page: await context.newPage(), context })),
  );
const pathsOf = (page) =>
  page
    .frames()
    .map((frame) => frame.url().replace(/^.*?:\d+/, ''))
    .sort();

// ---- frames ----

dormantTest(
  'a frame of another process, and one nested in it, are reached as the first use of a tab',
  '/frames',
  async ({ page }) => {
    const nested = page.frameLocator('#cross').frameLocator('#back').locator('button');
    await nested.click();
    assert.equal(await nested.textContent(), 'pressed');
    assert.equal(await page.frameLocator('#cross').locator('p').textContent(), 'nest');
  },
);

dormantTest(
  'all frames of a tab are there once it is used, below their parents',
  '/frames',
  async ({ page }) => {
    await page.title();
    await until('all frames are there', () =>
      isDeepStrictEqual(pathsOf(page).slice(1), [
        '/inner?nested',
        '/inner?same',
        '/nest',
        'about:srcdoc',
      ]),
    );
    const parentOf = (path) =>
      page
        .frames()
        .find((frame) => frame.url().endsWith(path))
        .parentFrame();
    assert.equal(parentOf('/inner?nested').url(), shared.site.url('/nest', 'localhost'));
    assert.equal(parentOf('/nest'), page.mainFrame());
    assert.equal(parentOf('/inner?same'), page.mainFrame());
    for (const frame of page.frames()) {
      assert.equal(await frame.evaluate(() => location.href), frame.url());
    }
  },
);

pageTest(
  'a frame keeps working while it is navigated across processes and back',
  async ({ page }) => {
    await page.goto(shared.site.url('/frames'));
    const frame = await (await page.waitForSelector('#same')).contentFrame();
    for (const host of ['localhost', '127.0.0.1', 'localhost', '127.0.0.1']) {
      const url = shared.site.url(`/inner?on-${host}`, host);
      assert.equal((await frame.goto(url)).status(), 200);
      assert.equal(await frame.evaluate(() => location.href), url);
      assert.equal(await frame.textContent('p'), 'inner');
    }
    assert.deepEqual(pathsOf(page), [
      '/frames',
      '/inner?nested',
      '/inner?on-127.0.0.1',
      '/nest',
      'about:srcdoc',
    ]);
  },
);

pageTest('a page that moves to another process takes its frames along', async ({ page }) => {
  for (const host of ['127.0.0.1', 'localhost', '127.0.0.1']) {
    await page.goto(shared.site.url('/frames', host));
    await until('all frames are there', () => page.frames().length === 5);
    assert.equal(
      await page.frameLocator('#cross').frameLocator('#back').locator('p').textContent(),
      'inner',
    );
  }
});

pageTest('a frame that is added late is announced and can be used', async ({ page }) => {
  await page.goto(shared.site.url('/plain'));
  const added = page.waitForEvent('frameattached');
  await page.evaluate(
    (src) =>
      document.body.append(Object.assign(document.createElement('iframe'), { id: 'late', src })),
    shared.site.url('/inner?late', 'localhost'),
  );
  const frame = await added;
  await frame.waitForURL('**/inner?late');
  assert.equal(await frame.textContent('p'), 'inner');
  const gone = page.waitForEvent('framedetached');
  await page.evaluate(() => document.getElementById('late').remove());
  assert.equal(await gone, frame);
  assert.equal(page.frames().length, 1);
});

pageTest(
  'a frame that is removed while a command is under way fails that command and nothing else',
  async ({ page }) => {
    await page.goto(shared.site.url('/frames'));
    const frame = await (await page.waitForSelector('#cross')).contentFrame();
    await frame.waitForLoadState();
    const endless = frame.evaluate(() => {
      parent.postMessage('begun', '*');
      return new Promise(() => {});
    });
    const failed = assert.rejects(endless, /detached|destroyed|closed/);
    await page.evaluate(() =>
      new Promise((resolve) => addEventListener('message', resolve)).then(() =>
        document.getElementById('cross').remove(),
      ),
    );
    await failed;
    assert.equal(await page.frameLocator('#same').locator('p').textContent(), 'inner');
  },
);

pageTest(
  'a page that prerenders another while it is used goes there like any other',
  async ({ page }) => {
    // Chrome prerenders for a page in front only.
    await page.bringToFront();
    await page.goto(shared.site.url('/prerenders'));
    await until('it is prerendered', () =>
      purposes.some((purpose) => purpose?.includes('prerender')),
    );
    await page.click('a');
    await page.waitForURL('**/prerendered');
    assert.equal(await page.title(), 'Second');
    assert.equal(await page.textContent('p'), 'second');
  },
);

// ---- workers ----

dormantTest(
  'the worker of a tab is there once it is used: its values and its console',
  '/workers',
  async ({ page, url }) => {
    await startWorkers(url);
    assert.equal(await page.evaluate(() => window.ask(window.worker, 4)), 8);
    const worker = await until('the worker is there', () => page.workers()[0]);
    assert.equal(worker.url(), shared.site.url('/worker.js'));
    assert.equal(await worker.evaluate(() => self.answer), 42);
    const said = page.waitForEvent('console');
    assert.equal(await page.evaluate(() => window.ask(window.worker, 5)), 10);
    assert.equal((await said).text(), 'worker got 5');
    const closed = worker.waitForEvent('close');
    await page.evaluate(() => window.worker.terminate());
    await closed;
    assert.equal(page.workers().length, 0);
  },
);

pageTest('a worker inside a worker is there too, and both go with the page', async ({ page }) => {
  await page.goto(shared.site.url('/plain'));
  await page.evaluate(() => (window.worker = new Worker('/nesting.js')));
  await until('both are there', () => page.workers().length === 2);
  const values = await Promise.all(
    page.workers().map((worker) => worker.evaluate(() => self.answer ?? self.level)),
  );
  assert.deepEqual(values.sort(), [1, 42]);
  await page.goto(shared.site.url('/inner'));
  await until('both are gone', () => page.workers().length === 0);
});

dormantTest(
  'shared workers answer, those that ran before a client used their tab and those that start then',
  '/workers',
  async ({ page, url }) => {
    await startWorkers(url);
    assert.equal(await page.evaluate(() => window.ask(window.sharedWorker.port, 2)), 6);
    assert.equal(
      await page.evaluate(() =>
        window.ask((window.another = new SharedWorker('/shared.js', 'another')).port, 3),
      ),
      9,
    );
  },
);

/** Registers a service worker for this page alone, and gives what the page then gets from it. */
const REGISTER = `(async () => {
  const controlled = new Promise((resolve) => (navigator.serviceWorker.oncontrollerchange = resolve));
  await navigator.serviceWorker.register('/service_worker.js', { scope: location.pathname });
  await controlled;
  return (await fetch('/served')).text();
})()`;

dormantTest(
  'a service worker is registered and serves while Playwright uses the page',
  '/service/playwright',
  async ({ page }) => {
    assert.equal(await page.evaluate(REGISTER), 'by the worker');
  },
);

test(
  'a service worker is registered and serves while Puppeteer uses the page',
  WITHIN,
  async () => {
    const url = shared.site.url('/service/puppeteer');
    await openTabs(shared.chain, [url]);
    const browser = await puppeteer.connect({
      browserWSEndpoint: shared.chain.cdpUrl,
      defaultViewport: null,
    });
    try {
      const page = (await browser.pages()).find((known) => known.url() === url);
      assert.equal(await page.evaluate(REGISTER), 'by the worker');
      await page.close();
    } finally {
      await browser.disconnect();
      await until(
        'the slot is free',
        async () => (await shared.chain.relay.status()).clients === 0,
      );
    }
  },
);

// ---- nobody wants them ----

test('a raw session alone holds up neither workers nor frames of its page', WITHIN, async () => {
  const url = shared.site.url('/service/raw');
  await openTabs(shared.chain, [url]);
  await withBareClient(shared.chain, async ({ client, open }) => {
    const session = await open(url);
    assert.equal(await session.valueOf(REGISTER), 'by the worker');
    assert.equal(
      await session.valueOf(
        `new Promise((resolve) => { const worker = new Worker('/worker.js'); worker.onmessage = ({ data }) => resolve(data); worker.postMessage(3); })`,
      ),
      6,
    );
    const frame = `new Promise((resolve) => { const frame = document.createElement('iframe'); frame.src = '${shared.site.url('/inner', 'localhost')}'; frame.onload = () => resolve('loaded'); document.body.append(frame); })`;
    assert.equal(await session.valueOf(frame), 'loaded');
    assert.deepEqual(await attachedUrls(shared.chain), [url]);
    const { targetInfo } = await session.send('Target.getTargetInfo');
    await client.send('Target.closeTarget', { targetId: targetInfo.targetId });
  });
});

test(
  'targets that wait for a session that has gone go on, and later ones do not wait',
  WITHIN,
  async () => {
    const url = shared.site.url('/service/waiting');
    await openTabs(shared.chain, [url]);
    await withBareClient(shared.chain, async ({ open }) => {
      const [staying, leaving] = [await open(url), await open(url)];
      await leaving.send('Target.setAutoAttach', {
        autoAttach: true,
        waitForDebuggerOnStart: true,
        flatten: true,
      });
      const startWorker = `new Promise((resolve) => { const worker = new Worker('/worker.js'); worker.onmessage = ({ data }) => resolve(data); worker.postMessage(3); })`;
      const doubled = staying.valueOf(startWorker);
      const isWorker = ({ targetInfo }) => targetInfo.type === 'worker';
      const attached = await until('the worker is there', () =>
        leaving.heard('Target.attachedToTarget').find(isWorker),
      );
      assert.equal(attached.waitingForDebugger, true);
      await leaving.detach();
      assert.equal(await doubled, 6);
      assert.equal(await staying.valueOf(startWorker), 6);
      assert.equal(await staying.valueOf(REGISTER), 'by the worker');
    });
  },
);

test('a page whose targets wait for a client goes on when that client leaves', WITHIN, async () => {
  const url = shared.site.url('/plain?left');
  await openTabs(shared.chain, [url]);
  await withBareClient(shared.chain, async ({ open }) => {
    const session = await open(url);
    await session.send('Target.setAutoAttach', {
      autoAttach: true,
      waitForDebuggerOnStart: true,
      flatten: true,
    });
    await session.valueOf(
      `window.late = new Worker('/worker.js'); window.late.onmessage = ({ data }) => fetch('/got?key=left&number=' + data); window.late.postMessage(7)`,
    );
    await until('the worker is there', () =>
      session.heard('Target.attachedToTarget').some((event) => event.waitingForDebugger),
    );
    assert.equal(got.get('left'), undefined, 'it waits');
  });
  await until('the worker ran', () => got.get('left')?.includes(14));
});

test(
  'streams go on without a gap while a client wakes their tab, uses it and leaves',
  WITHIN,
  async () => {
    const url = shared.site.url('/flow?name=flow');
    await openTabs(shared.chain, [url]);
    const flows = async () => {
      for (const key of ['flow events', 'flow stream']) {
        const before = got.get(key)?.length ?? 0;
        await until(`${key} goes on`, () => (got.get(key)?.length ?? 0) > before + 3);
      }
    };
    await flows();
    await shared.withPlaywright(async ({ context }) => {
      const page = pageAt(context, url);
      assert.equal(await page.title(), 'Flow');
      await flows();
    });
    await until('the debugger is off', async () => (await attachedUrls(shared.chain)).length === 0);
    await flows();
    await withBareClient(shared.chain, async ({ open }) => {
      assert.equal(await (await open(url)).valueOf('document.title'), 'Flow');
      await flows();
    });
    await flows();
    for (const key of ['flow events', 'flow stream']) {
      assert.equal(opened.get(key), 1, 'it was opened only once');
      const numbers = got.get(key).sort((a, b) => a - b);
      assert.deepEqual(
        numbers.slice(0, -10),
        numbers.slice(0, -10).map((_, index) => index + 1),
        'none is missing',
      );
    }
  },
);
