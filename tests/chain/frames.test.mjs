/**
 * Frames inside a page, of the same and of other processes: usable like the page itself, wherever
 * they move.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { pageAt, titleIn, useChain } from '../harness/chain.mjs';
import { until, untilEqual } from '../harness/processes.mjs';
import { html } from '../harness/site.mjs';

/** The `Sec-Purpose` header of every request for `/prerendered`. */
const purposes = [];

const shared = useChain({
  pages: {
    '/plain': '<title>Plain</title><p>plain</p>',
    '/inner': `<title>Inner</title><p>inner</p><button onclick="this.textContent = 'pressed'">inner</button>`,
    '/frames': html(
      (site) => `<title>Frames</title><iframe id="same" src="/inner?same"></iframe>
      <iframe id="cross" src="${site.url('/nest', 'localhost')}"></iframe><iframe id="written" srcdoc="<p>written</p>"></iframe>`,
    ),
    '/nest': html(
      (site) =>
        `<title>Nest</title><p>nest</p><iframe id="back" src="${site.url('/inner?nested')}"></iframe>`,
    ),
    '/prerenders': `<title>First</title><a href="/prerendered">on</a>
      <script type="speculationrules">{"prerender":[{"source":"list","urls":["/prerendered"],"eagerness":"immediate"}]}</script>`,
    '/prerendered': (request, response) => {
      purposes.push(request.headers['sec-purpose']);
      response.setHeader('content-type', 'text/html').end('<title>Second</title><p>second</p>');
    },
  },
});

/** A frame that is never resumed would block forever; the timeout names the test. */
const TIMEOUT = { timeout: 20_000 };

/** A test on `/frames` in a tab that the user has opened and no client has used. */
const dormantTest = (name, run) =>
  test(name, TIMEOUT, () =>
    shared.withDormantPage(shared.site.url(`/frames?${encodeURIComponent(name)}`), run),
  );

const pageTest = (name, run) =>
  test(name, TIMEOUT, () =>
    shared.withPlaywright(async ({ context }) => run(await context.newPage())),
  );

const framePaths = (page) =>
  page
    .frames()
    .map((frame) => frame.url().replace(/^.*?:\d+/, ''))
    .sort();

dormantTest(
  'clicks in a nested out-of-process frame as the first use of a tab',
  async ({ page }) => {
    const nested = page.frameLocator('#cross').frameLocator('#back').locator('button');
    await nested.click();
    assert.equal(await nested.textContent(), 'pressed');
    assert.equal(await page.frameLocator('#cross').locator('p').textContent(), 'nest');
  },
);

dormantTest(
  'announces every frame of a tab with its parent once the tab wakes',
  async ({ page }) => {
    await titleIn(page);
    await untilEqual('every frame is announced', () => framePaths(page).slice(1), [
      '/inner?nested',
      '/inner?same',
      '/nest',
      'about:srcdoc',
    ]);
    const parentOf = (path) => pageAt(page.frames(), path).parentFrame();
    assert.equal(parentOf('/inner?nested').url(), shared.site.url('/nest', 'localhost'));
    assert.equal(parentOf('/nest'), page.mainFrame());
    assert.equal(parentOf('/inner?same'), page.mainFrame());
    for (const frame of page.frames()) {
      assert.equal(await frame.evaluate(() => location.href), frame.url());
    }
  },
);

pageTest('a frame stays usable while it navigates across processes and back', async (page) => {
  await page.goto(shared.site.url('/frames'));
  const frame = await (await page.waitForSelector('#same')).contentFrame();
  for (const host of ['localhost', '127.0.0.1', 'localhost', '127.0.0.1']) {
    const url = shared.site.url(`/inner?on-${host}`, host);
    assert.equal((await frame.goto(url)).status(), 200);
    assert.equal(await frame.evaluate(() => location.href), url);
    assert.equal(await frame.textContent('p'), 'inner');
  }
  assert.deepEqual(framePaths(page), [
    '/frames',
    '/inner?nested',
    '/inner?on-127.0.0.1',
    '/nest',
    'about:srcdoc',
  ]);
});

pageTest('a page that moves to another process gets its frames again', async (page) => {
  for (const host of ['127.0.0.1', 'localhost', '127.0.0.1']) {
    await page.goto(shared.site.url('/frames', host));
    await until('every frame is announced', () => page.frames().length === 5);
    const nested = page.frameLocator('#cross').frameLocator('#back').locator('p');
    assert.equal(await nested.textContent(), 'inner');
  }
});

pageTest('announces a frame that is added and removed later', async (page) => {
  await page.goto(shared.site.url('/plain'));
  const attached = page.waitForEvent('frameattached');
  await page.evaluate(
    (src) =>
      document.body.append(Object.assign(document.createElement('iframe'), { id: 'late', src })),
    shared.site.url('/inner?late', 'localhost'),
  );
  const frame = await attached;
  await frame.waitForURL('**/inner?late');
  assert.equal(await frame.textContent('p'), 'inner');
  const detached = page.waitForEvent('framedetached');
  await page.evaluate(() => document.getElementById('late').remove());
  assert.equal(await detached, frame);
  assert.equal(page.frames().length, 1);
});

pageTest('removing a frame fails only the commands pending in it', async (page) => {
  await page.goto(shared.site.url('/frames'));
  const frame = await (await page.waitForSelector('#cross')).contentFrame();
  await frame.waitForLoadState();
  const pending = frame.evaluate(() => {
    parent.postMessage('started', '*');
    return new Promise(() => {});
  });
  const failed = assert.rejects(pending, /detached|destroyed|closed/);
  await page.evaluate(() =>
    new Promise((resolve) => addEventListener('message', resolve)).then(() =>
      document.getElementById('cross').remove(),
    ),
  );
  await failed;
  assert.equal(await page.frameLocator('#same').locator('p').textContent(), 'inner');
});

pageTest('a live page navigates to a page that it has prerendered', async (page) => {
  // Chrome prerenders only for the active tab.
  await page.bringToFront();
  await page.goto(shared.site.url('/prerenders'));
  await until('Chrome prerenders the page', () =>
    purposes.some((purpose) => purpose?.includes('prerender')),
  );
  await page.click('a');
  await page.waitForURL('**/prerendered');
  assert.equal(await titleIn(page), 'Second');
  assert.equal(await page.textContent('p'), 'second');
});
