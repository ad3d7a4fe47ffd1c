/** Playwright. The argument is the package: `playwright-core`, or another version of it. */

import { readFile } from 'node:fs/promises';

import { at, given, serve } from '../driver.mjs';

const { chromium } = await import(process.argv[2] ?? 'playwright-core').then(
  (module) => module.default ?? module,
);

const TIMEOUT_MS = 12_000;

let browser;
let context;
let own;

const pageAt = (path) => context.pages().find((page) => page.url() === at(path));

/** A tab that the client has opened. */
async function work() {
  own ??= await context.newPage();
  if (own.url() !== at('/work')) {
    await own.goto(at('/work'));
  }
  return own;
}

await serve({
  async connect() {
    browser = await chromium.connectOverCDP(given.address.ws, { timeout: TIMEOUT_MS });
    [context] = browser.contexts();
    context.setDefaultTimeout(TIMEOUT_MS);
    return context.pages().map((page) => page.url());
  },
  title: () => pageAt('/inbox').title(),
  evaluate: () => pageAt('/notes').evaluate(() => window.answer),
  async click() {
    await pageAt('/form').click('#press');
    return pageAt('/form').textContent('output');
  },
  async type() {
    await pageAt('/form').locator('#name').pressSequentially('hello');
    return pageAt('/form').inputValue('#name');
  },
  frame: () => pageAt('/framed').frameLocator('#inner').locator('#text').textContent(),
  open: async () => (await work()).title(),
  async navigate() {
    const page = await work();
    await page.goto(at('/next'));
    return page.title();
  },
  screenshot: async () => (await (await work()).screenshot()).toString('base64'),
  async intercept() {
    const page = await work();
    await page.route('**/data', (route) => route.fulfill({ body: 'from the client' }));
    const text = await page.evaluate(async () => (await fetch('/data')).text());
    await page.unroute('**/data');
    return text;
  },
  async popup() {
    const page = await work();
    const [popup] = await Promise.all([page.waitForEvent('popup'), page.click('#popup')]);
    await popup.waitForLoadState();
    const title = await popup.title();
    await popup.close();
    return title;
  },
  async download() {
    const page = await work();
    const [download] = await Promise.all([page.waitForEvent('download'), page.click('#download')]);
    return readFile(await download.path(), 'utf8');
  },
  async cookies() {
    await context.addCookies([{ name: 'client', value: 'set', url: at('/') }]);
    const cookies = await context.cookies(at('/'));
    return cookies
      .map(({ name, value }) => `${name}=${value}`)
      .sort()
      .join(' ');
  },
  close: () => own?.close(),
  disconnect: () => browser.close(),
});
