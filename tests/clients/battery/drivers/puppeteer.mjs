/** Puppeteer. The argument is the package: `puppeteer-core`, or another version of it. */

import { readFile } from 'node:fs/promises';
import path from 'node:path';

import { at, given, serve } from '../driver.mjs';

const { default: puppeteer } = await import(process.argv[2] ?? 'puppeteer-core');

let browser;
let own;

const pageAt = async (path) => (await browser.pages()).find((page) => page.url() === at(path));

/** A tab that the client has opened. */
async function work() {
  own ??= await browser.newPage();
  if (own.url() !== at('/work')) {
    await own.goto(at('/work'));
  }
  return own;
}

/** Puppeteer has no call for downloads, so its users wait for the browser's event. */
async function downloaded(trigger) {
  const session = await browser.target().createCDPSession();
  const behavior = { behavior: 'allowAndName', downloadPath: given.folder, eventsEnabled: true };
  await session.send('Browser.setDownloadBehavior', behavior);
  const completed = new Promise((resolve) => {
    session.on('Browser.downloadProgress', ({ guid, state }) => {
      if (state === 'completed') {
        resolve(path.join(given.folder, guid));
      }
    });
  });
  await trigger();
  const file = await completed;
  await session.detach();
  return file;
}

await serve({
  async connect() {
    browser = await puppeteer.connect({ browserWSEndpoint: given.address.ws });
    return (await browser.pages()).map((page) => page.url());
  },
  title: async () => (await pageAt('/inbox')).title(),
  evaluate: async () => (await pageAt('/notes')).evaluate(() => window.answer),
  async click() {
    const page = await pageAt('/form');
    await page.click('#press');
    return page.$eval('output', (output) => output.textContent);
  },
  async type() {
    const page = await pageAt('/form');
    await page.type('#name', 'hello');
    return page.$eval('#name', (input) => input.value);
  },
  async frame() {
    const page = await pageAt('/framed');
    const frame = await page.waitForFrame((each) => each.url().endsWith('/inner'));
    return frame.$eval('#text', (text) => text.textContent);
  },
  open: async () => (await work()).title(),
  async navigate() {
    const page = await work();
    await page.goto(at('/next'));
    return page.title();
  },
  screenshot: async () => (await work()).screenshot({ encoding: 'base64' }),
  async intercept() {
    const page = await work();
    const answer = (request) =>
      request.url().endsWith('/data')
        ? request.respond({ body: 'from the client' })
        : request.continue();
    await page.setRequestInterception(true);
    page.on('request', answer);
    const text = await page.evaluate(async () => (await fetch('/data')).text());
    page.off('request', answer);
    await page.setRequestInterception(false);
    return text;
  },
  async popup() {
    const page = await work();
    const opened = new Promise((resolve) => page.once('popup', resolve));
    await page.click('#popup');
    const popup = await opened;
    await popup.waitForFunction(() => document.title);
    const title = await popup.title();
    await popup.close();
    return title;
  },
  async download() {
    const page = await work();
    return readFile(await downloaded(() => page.click('#download')), 'utf8');
  },
  async cookies() {
    await browser.setCookie({ name: 'client', value: 'set', domain: '127.0.0.1', path: '/' });
    return (await browser.cookies())
      .map(({ name, value }) => `${name}=${value}`)
      .sort()
      .join(' ');
  },
  close: () => own?.close(),
  disconnect: () => browser.disconnect(),
});
