/** Everyday Playwright code on pages that it opens, through the real chain. */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { useChain } from '../harness/chain.mjs';

const shared = useChain({
  pages: {
    '/': '<title>Home</title><h1>Hello</h1><a href="/next">next</a>',
    '/next': '<title>Next</title>',
    '/form': `<title>Form</title><input><button onclick="document.title = document.querySelector('input').value">Go</button>`,
    '/data': (request, response) => {
      response.setHeader('content-type', 'application/json');
      response.end('{"answer":42}');
    },
    '/frames': '<title>Frames</title><iframe srcdoc="<p>inner</p>"></iframe>',
  },
});

/** A test with its own client and a new page. */
const pageTest = (name, run) =>
  test(name, () =>
    shared.withPlaywright(async ({ context, browser }) =>
      run({ page: await context.newPage(), context, browser }),
    ),
  );

test("reports the browser's real version and user agent", () =>
  shared.withPlaywright(async ({ browser, context }) => {
    const { port } = new URL(shared.chain.chromium.ownUrl);
    const { Browser: product } = await (
      await fetch(`http://127.0.0.1:${port}/json/version`)
    ).json();
    assert.equal(browser.version(), product.split('/')[1]);
    const page = await context.newPage();
    assert.match(await page.evaluate(() => navigator.userAgent), /Chrome\/\d+/);
  }));

pageTest('a new page navigates and reports its title and URL', async ({ page }) => {
  const response = await page.goto(shared.site.url('/'));
  assert.equal(response.status(), 200);
  assert.equal(await page.title(), 'Home');
  assert.equal(page.url(), shared.site.url('/'));
});

pageTest('follows a link, goes back and forward, and reloads', async ({ page }) => {
  await page.goto(shared.site.url('/'));
  await page.click('a');
  await page.waitForURL('**/next');
  assert.equal(await page.title(), 'Next');
  await page.goBack();
  assert.equal(await page.title(), 'Home');
  await page.goForward();
  assert.equal(await page.title(), 'Next');
  await page.goBack();
  await page.reload();
  assert.equal(await page.textContent('h1'), 'Hello');
});

pageTest('evaluate passes arguments, returns values and throws page errors', async ({ page }) => {
  assert.equal(await page.evaluate(([a, b]) => a * b, [6, 7]), 42);
  assert.deepEqual(await page.evaluate(() => ({ list: [1, null, 'ü'], nested: { deep: true } })), {
    list: [1, null, 'ü'],
    nested: { deep: true },
  });
  await assert.rejects(
    page.evaluate(() => {
      throw new Error('from the page');
    }),
    /from the page/,
  );
  const handle = await page.evaluateHandle(() => document.body);
  assert.equal(await handle.evaluate((body) => body.tagName), 'BODY');
});

pageTest('types and clicks', async ({ page }) => {
  await page.goto(shared.site.url('/form'));
  await page.fill('input', 'filled');
  await page.click('button');
  assert.equal(await page.title(), 'filled');
  await page.fill('input', '');
  await page.locator('input').pressSequentially('typed');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => document.title === 'typed');
});

pageTest('takes screenshots of a background tab', async ({ page }) => {
  await page.goto(shared.site.url('/'));
  const viewport = await page.screenshot();
  assert.equal(viewport.subarray(1, 4).toString(), 'PNG');
  await page.evaluate(() => (document.body.style.background = 'rgb(255, 0, 0)'));
  const element = await page.locator('h1').screenshot();
  assert.notEqual(element.length, viewport.length);
  for (let round = 0; round < 5; round += 1) {
    await page.screenshot();
  }
});

pageTest('delivers console messages and page errors', async ({ page }) => {
  const message = page.waitForEvent('console');
  await page.evaluate(() => console.log('hello', 42, { a: 1 }));
  assert.equal((await message).text(), 'hello 42 {a: 1}');
  const error = page.waitForEvent('pageerror');
  await page.evaluate(() => {
    setTimeout(() => {
      throw new Error('late');
    });
  });
  assert.equal((await error).message, 'late');
});

pageTest('delivers requests and responses with their bodies', async ({ page }) => {
  await page.goto(shared.site.url('/'));
  const response = page.waitForResponse('**/data');
  const request = page.waitForRequest('**/data');
  await page.evaluate(() => fetch('/data'));
  assert.equal((await request).method(), 'GET');
  assert.deepEqual(await (await response).json(), { answer: 42 });
});

pageTest('routes fulfill requests', async ({ page }) => {
  await page.route('**/data', (route) => route.fulfill({ json: { answer: 'routed' } }));
  await page.goto(shared.site.url('/'));
  assert.deepEqual(await page.evaluate(() => fetch('/data').then((response) => response.json())), {
    answer: 'routed',
  });
});

pageTest('handles dialogs', async ({ page }) => {
  const messages = [];
  page.on('dialog', (dialog) => {
    messages.push(`${dialog.type()}: ${dialog.message()}`);
    dialog.accept('given');
  });
  assert.equal(await page.evaluate(() => prompt('name?')), 'given');
  assert.equal(await page.evaluate(() => confirm('sure?')), true);
  assert.deepEqual(messages, ['prompt: name?', 'confirm: sure?']);
});

pageTest('reaches frames inside the page', async ({ page }) => {
  await page.goto(shared.site.url('/frames'));
  assert.equal(await page.frameLocator('iframe').locator('p').textContent(), 'inner');
});

pageTest('init scripts and exposed functions are present after navigation', async ({ page }) => {
  await page.addInitScript(() => (window.added = 'before'));
  await page.exposeFunction('double', (n) => n * 2);
  await page.goto(shared.site.url('/'));
  assert.equal(await page.evaluate(() => window.added), 'before');
  assert.equal(await page.evaluate(() => window.double(21)), 42);
});

pageTest('reads and sets cookies of the profile', async ({ context }) => {
  await context.addCookies([{ name: 'flavour', value: 'oat', url: shared.site.url('/') }]);
  const cookies = await context.cookies(shared.site.url('/'));
  assert.deepEqual(
    cookies.map(({ name, value }) => [name, value]),
    [['flavour', 'oat']],
  );
});

test('closing a page removes it from the context and from the browser', () =>
  shared.withPlaywright(async ({ context }) => {
    const before = (await shared.chain.relay.status()).targets;
    const page = await context.newPage();
    assert.equal((await shared.chain.relay.status()).targets, before + 1);
    const closed = page.waitForEvent('close');
    await page.close();
    await closed;
    assert.equal(context.pages().includes(page), false);
    assert.equal((await shared.chain.relay.status()).targets, before);
  }));

pageTest('a second CDP session works next to the page', async ({ page, context }) => {
  const session = await context.newCDPSession(page);
  const { result } = await session.send('Runtime.evaluate', { expression: '6 * 7' });
  assert.equal(result.value, 42);
  await session.detach();
  assert.equal(await page.evaluate(() => 1), 1);
  await assert.rejects(
    context
      .browser()
      .newBrowserCDPSession()
      .then((root) => root.send('Browser.grantPermissions', { permissions: [] })),
    /Browser\.grantPermissions/,
  );
});

test('rejects newContext and names the alternative', () =>
  shared.withPlaywright(async ({ browser }) => {
    await assert.rejects(browser.newContext(), /contexts\(\)\[0\]/);
  }));
