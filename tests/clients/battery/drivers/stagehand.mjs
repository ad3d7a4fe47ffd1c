/** Stagehand, without a model: its pages and locators. */

import { readFile, readdir } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

import { at, given, serve } from '../driver.mjs';

const require = createRequire(new URL('../packages/stagehand/package.json', import.meta.url));
const { Stagehand } = require('@browserbasehq/stagehand');

const TIMEOUT_MS = 10_000;

let stagehand;
let context;
let own;

const pageAt = (path) => context.pages().find((page) => page.url() === at(path));

/** Waits until a probe returns something. Stagehand has no events for this. */
async function until(what, probe) {
  for (let waited = 0; waited < TIMEOUT_MS; waited += 50) {
    const found = await probe();
    if (found) {
      return found;
    }
    await delay(50);
  }
  throw new Error(`waited too long for ${what}`);
}

/** A tab that the client has opened. */
async function work() {
  own ??= await context.newPage(at('/work'));
  if (own.url() !== at('/work')) {
    await own.goto(at('/work'), { timeoutMs: TIMEOUT_MS });
  }
  await own.waitForLoadState('load', TIMEOUT_MS);
  return own;
}

await serve({
  async connect() {
    const downloads = { acceptDownloads: true, downloadsPath: given.folder };
    stagehand = new Stagehand({
      env: 'LOCAL',
      localBrowserLaunchOptions: { cdpUrl: given.address.ws, ...downloads },
      disablePino: true,
      logger: () => {},
    });
    await stagehand.init();
    context = stagehand.context;
    return context.pages().map((page) => page.url());
  },
  title: () => pageAt('/inbox').title(),
  evaluate: () => pageAt('/notes').evaluate(() => window.answer),
  async click() {
    await pageAt('/form').locator('#press').click();
    return pageAt('/form').locator('output').textContent();
  },
  async type() {
    await pageAt('/form').locator('#name').type('hello');
    return pageAt('/form').locator('#name').inputValue();
  },
  frame: () => pageAt('/framed').deepLocator('#inner >> #text').textContent(),
  open: async () => (await work()).title(),
  async navigate() {
    const page = await work();
    await page.goto(at('/next'), { timeoutMs: TIMEOUT_MS });
    return page.title();
  },
  screenshot: async () => (await (await work()).screenshot()).toString('base64'),
  /** Stagehand has no call for this; its CDP sessions are for what it lacks. */
  async intercept() {
    const page = await work();
    const session = page.getSessionForFrame(page.mainFrameId());
    const body = Buffer.from('from the client').toString('base64');
    const answer = ({ requestId }) =>
      session.send('Fetch.fulfillRequest', { requestId, responseCode: 200, body });
    session.on('Fetch.requestPaused', answer);
    await session.send('Fetch.enable', { patterns: [{ urlPattern: '*/data' }] });
    const text = await page.evaluate(async () => (await fetch('/data')).text());
    session.off('Fetch.requestPaused', answer);
    await session.send('Fetch.disable');
    return text;
  },
  async popup() {
    const page = await work();
    await page.locator('#popup').click();
    const popup = await until('the popup', () => pageAt('/popup'));
    await popup.waitForLoadState('load', TIMEOUT_MS);
    const title = await popup.title();
    await popup.close();
    return title;
  },
  async download() {
    const page = await work();
    const before = await readdir(given.folder);
    await page.locator('#download').click();
    return until('the file', async () => {
      const names = (await readdir(given.folder)).filter((name) => !before.includes(name));
      const files = names.map((name) => readFile(path.join(given.folder, name), 'utf8'));
      return (await Promise.all(files)).find((text) => text.endsWith('report'));
    });
  },
  async cookies() {
    await context.addCookies([{ name: 'client', value: 'set', url: at('/') }]);
    return (await context.cookies(at('/')))
      .map(({ name, value }) => `${name}=${value}`)
      .sort()
      .join(' ');
  },
  close: () => own?.close(),
  disconnect: () => stagehand.close(),
});
