/**
 * The operations of the parity suite. Each runs as the first operation on a dormant tab, on a live
 * tab, and on Chromium's own port, and must return the same value everywhere.
 *
 * `run(page, { context, site })` gets a page at `at` that its client has just found open.
 * `skipOnOwnPort` says why an operation cannot work there.
 */

import assert from 'node:assert/strict';

import { until } from '../harness/processes.mjs';

const logged = (page) => page.textContent('#log');
/** The size in a PNG's header. */
const pngSize = (image) => {
  assert.equal(image.subarray(1, 4).toString(), 'PNG');
  return { width: image.readUInt32BE(16), height: image.readUInt32BE(20) };
};

/** @type {{ name: string, at?: string, run: (page: import('playwright-core').Page, given: any) => unknown, skipOnOwnPort?: string }[]} */
export const operations = [
  { name: 'title', run: (page) => page.title() },
  { name: 'url', run: (page, { site }) => page.url().replace(site.url(''), '') },
  { name: 'content', run: async (page) => (await page.content()).length },
  { name: 'evaluate', run: (page) => page.evaluate((n) => [n * 2, document.title], 21) },
  {
    name: 'evaluate throws',
    run: (page) =>
      page
        .evaluate(() => {
          throw new TypeError('thrown');
        })
        .catch((error) => error.message.split('\n')[0]),
  },
  {
    name: 'evaluateHandle',
    run: async (page) =>
      (await page.evaluateHandle(() => document.querySelector('h1'))).evaluate(
        (heading) => heading.textContent,
      ),
  },
  { name: 'click', run: async (page) => [await page.click('#once'), await logged(page)] },
  { name: 'dblclick', run: async (page) => [await page.dblclick('#once'), await logged(page)] },
  { name: 'hover', run: async (page) => [await page.hover('#hovered'), await logged(page)] },
  {
    name: 'fill',
    run: async (page) => [await page.fill('#text', 'filled'), await page.inputValue('#text')],
  },
  {
    name: 'type',
    run: async (page) => [
      await page.locator('#text').pressSequentially('abc'),
      await page.inputValue('#text'),
      await logged(page),
    ],
  },
  {
    name: 'press',
    run: async (page) => [await page.press('#text', 'Shift+A'), await page.inputValue('#text')],
  },
  {
    name: 'check',
    run: async (page) => [await page.check('#check'), await page.isChecked('#check')],
  },
  {
    name: 'selectOption',
    run: async (page) => [
      await page.selectOption('#select', 'two'),
      await page.inputValue('#select'),
    ],
  },
  {
    name: 'drag',
    run: async (page) => [await page.dragAndDrop('#source', '#target'), await logged(page)],
  },
  {
    name: 'screenshot of the page',
    run: async (page) =>
      pngSize(await page.screenshot()) && (await page.evaluate(() => innerWidth)) > 0,
  },
  {
    name: 'screenshot of the full page',
    run: async (page) => pngSize(await page.screenshot({ fullPage: true })).height > 2_900,
  },
  {
    name: 'screenshot of an element',
    run: async (page) => pngSize(await page.locator('#box').screenshot()),
  },
  { name: 'pdf', run: async (page) => (await page.pdf()).subarray(0, 5).toString() },
  {
    name: 'goto',
    run: async (page, { site }) => [
      (await page.goto(site.url('/next'))).status(),
      await page.title(),
    ],
  },
  {
    name: 'goto through a redirect',
    run: async (page, { site }) => [
      (await page.goto(site.url('/redirect'))).request().redirectedFrom() !== null,
      await page.title(),
    ],
  },
  {
    name: 'reload',
    run: async (page) => [
      await page.evaluate(() => (window.mark = 1)),
      (await page.reload()).status(),
      await page.evaluate(() => window.mark),
    ],
  },
  {
    name: 'reload as the first command',
    run: async (page) => [(await page.reload()).status(), await page.title()],
  },
  {
    name: 'goBack and goForward',
    run: async (page, { site }) => {
      await page.goto(site.url('/next'));
      await page.goBack();
      const back = await page.title();
      await page.goForward();
      return [back, await page.title()];
    },
    skipOnOwnPort:
      'a page restored from the back/forward cache fires no load event, so Playwright waits forever',
  },
  {
    name: 'setContent',
    run: async (page) => [
      await page.setContent('<title>Set</title><p>set</p>'),
      await page.title(),
      await page.textContent('p'),
    ],
  },
  {
    name: 'waitForSelector',
    run: async (page) => [
      await page.click('#late'),
      (await page.waitForSelector('#later')) !== null,
    ],
  },
  {
    name: 'waitForFunction',
    run: async (page) => {
      const waited = page.waitForFunction(() =>
        document.getElementById('log').textContent.includes('click'),
      );
      await page.click('#once');
      return (await waited).jsonValue();
    },
  },
  {
    name: 'frame in the same process',
    at: '/frames',
    run: (page) => page.frameLocator('#same').locator('p').textContent(),
  },
  {
    name: 'frame in another process',
    at: '/frames',
    run: (page) => page.frameLocator('#cross').locator('p').textContent(),
  },
  {
    name: 'frame nested in a frame of another process',
    at: '/frames',
    run: async (page) => {
      const button = page.frameLocator('#cross').frameLocator('#back').locator('button');
      await button.click();
      return button.textContent();
    },
  },
  {
    name: 'frames()',
    at: '/frames',
    run: async (page) => {
      await page.evaluate(() => 1);
      await page.waitForFunction(() => frames.length === 2);
      // A frame is announced before it has an address.
      const haveAddresses = () => page.frames().filter((frame) => frame.url()).length >= 4;
      await until('all frames have their addresses', haveAddresses);
      return page
        .frames()
        .map((frame) => new URL(frame.url()).pathname)
        .sort();
    },
  },
  {
    name: 'exposeFunction',
    run: async (page) => {
      await page.exposeFunction('double', (n) => n * 2);
      return page.evaluate(() => window.double(21));
    },
  },
  {
    name: 'addInitScript, then goto',
    run: async (page, { site }) => {
      await page.addInitScript(() => (window.added = 'added'));
      const before = await page.evaluate(() => window.added);
      await page.goto(site.url('/next'));
      return [before, await page.evaluate(() => window.added)];
    },
  },
  {
    name: 'route fulfils',
    run: async (page, { site }) => {
      await page.route('**/next', (route) =>
        route.fulfill({ contentType: 'text/html', body: '<title>Routed</title>' }),
      );
      await page.goto(site.url('/next'));
      return page.title();
    },
  },
  {
    name: 'route aborts',
    run: async (page, { site }) => {
      await page.route('**/next', (route) => route.abort());
      return page.goto(site.url('/next')).catch((error) => /ERR_FAILED/.test(error.message));
    },
  },
  {
    name: 'route continues with changed headers',
    run: async (page, { site }) => {
      await page.route('**/headers', (route) =>
        route.continue({ headers: { ...route.request().headers(), 'x-test': 'changed' } }),
      );
      await page.goto(site.url('/headers'));
      return page.title();
    },
  },
  {
    name: 'console listener',
    run: async (page) => {
      const message = page.waitForEvent('console');
      await page.evaluate(() => console.warn('logged', 1));
      return [(await message).type(), (await message).text()];
    },
  },
  {
    name: 'pageerror listener',
    run: async (page) => {
      const error = page.waitForEvent('pageerror');
      await page.evaluate(() => {
        setTimeout(() => {
          throw new Error('late');
        });
      });
      return (await error).message;
    },
  },
  {
    name: 'request and response listeners with bodies',
    run: async (page) => {
      const [request, response] = [page.waitForRequest('**/data'), page.waitForResponse('**/data')];
      await page.evaluate(() => fetch('/data', { method: 'POST', body: 'sent' }));
      return [(await request).postData(), await (await response).json()];
    },
  },
  {
    name: 'dialog',
    run: async (page) => {
      page.once('dialog', (dialog) => dialog.accept());
      await page.click('#confirm');
      return logged(page);
    },
  },
  {
    name: 'file chooser',
    run: async (page) => {
      const chooser = page.waitForEvent('filechooser');
      await page.click('#file');
      await (
        await chooser
      ).setFiles({ name: 'a.txt', mimeType: 'text/plain', buffer: Buffer.from('hello') });
      return page.evaluate(() => document.getElementById('file').files[0].text());
    },
  },
  {
    name: 'setInputFiles',
    run: async (page) => {
      await page.setInputFiles('#file', {
        name: 'b.txt',
        mimeType: 'text/plain',
        buffer: Buffer.from('there'),
      });
      return page.evaluate(() => document.getElementById('file').files[0].name);
    },
  },
  {
    name: 'keyboard',
    run: async (page) => {
      await page.focus('#text');
      await page.keyboard.type('xy');
      await page.keyboard.press('Backspace');
      return page.inputValue('#text');
    },
  },
  {
    name: 'mouse',
    run: async (page) => {
      const box = await page.locator('#once').boundingBox();
      await page.mouse.click(box.x + 2, box.y + 2);
      await page.mouse.wheel(0, 200);
      await page.waitForFunction(() => scrollY > 0);
      return logged(page);
    },
  },
  { name: 'ariaSnapshot', run: (page) => page.locator('body').ariaSnapshot() },
  {
    name: 'accessibility tree over newCDPSession',
    run: async (page, { context }) => {
      const session = await context.newCDPSession(page);
      const { nodes } = await session.send('Accessibility.getFullAXTree');
      await session.detach();
      return nodes.some((node) => node.name?.value === 'Press');
    },
  },
  {
    name: 'workers',
    at: '/worker',
    run: async (page) => {
      await page.evaluate(() => 1);
      const worker = page.workers()[0] ?? (await page.waitForEvent('worker'));
      return worker.evaluate(() => self.answer);
    },
    skipOnOwnPort: 'Playwright does not see workers that started before it connected',
  },
  {
    name: 'emulateMedia',
    run: async (page) => {
      await page.emulateMedia({ colorScheme: 'dark', media: 'print' });
      return page.evaluate(() => [
        matchMedia('(prefers-color-scheme: dark)').matches,
        matchMedia('print').matches,
      ]);
    },
  },
  {
    name: 'setViewportSize',
    run: async (page) => {
      await page.setViewportSize({ width: 432, height: 321 });
      return page.evaluate(() => [innerWidth, innerHeight]);
    },
  },
  {
    name: 'setExtraHTTPHeaders',
    run: async (page, { site }) => {
      await page.setExtraHTTPHeaders({ 'x-test': 'extra' });
      await page.goto(site.url('/headers'));
      return page.title();
    },
  },
  {
    name: 'storage',
    run: async (page, { context, site }) => {
      await page.evaluate(() => localStorage.setItem('kept', 'yes'));
      await context.addCookies([{ name: 'crumb', value: 'c', url: site.url('/') }]);
      const state = await context.storageState();
      const origin = state.origins.find(
        ({ origin: candidate }) => candidate === site.url('').replace(/\/$/, ''),
      );
      return [state.cookies.some(({ name }) => name === 'crumb'), origin?.localStorage];
    },
  },
  {
    name: 'close',
    run: async (page, { context }) => {
      const closed = page.waitForEvent('close');
      await page.close();
      await closed;
      return context.pages().includes(page);
    },
  },
];
