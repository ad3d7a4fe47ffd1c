/**
 * A relay that uses Chromium's own port (`--browser-url`): Chromium is killed and started again
 * under clients that stay connected.
 */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { afterEach, beforeEach, test } from 'node:test';

import { chromium as playwright } from 'playwright-core';
import puppeteer from 'puppeteer-core';

import { isRunning, startChromium, startRelay, until } from '../harness/processes.mjs';

const page = (title) => `data:text/html,<title>${title}</title>`;

let chromium;
let relay;

beforeEach(async () => {
  chromium = await startChromium();
  const { port } = new URL(chromium.ownUrl);
  const args = ['--browser-url', `http://localhost:${port}`, '--client-mode', 'multi-client'];
  relay = await startRelay({ args });
});

afterEach(async () => {
  await relay?.stop();
  await chromium?.stop();
});

async function kill() {
  const exited = once(chromium.child, 'exit');
  chromium.child.kill('SIGKILL');
  await exited;
  await chromium.stop();
  await until('the relay notices', async () => !(await relay.status()).extension);
}

/** A new Chromium on the port of the one that was killed. */
async function startAgain() {
  const { port } = new URL(chromium.ownUrl);
  chromium = await startChromium({ args: [`--remote-debugging-port=${port}`] });
}

test('a Playwright client survives that Chromium is killed and started again', async () => {
  const browser = await playwright.connectOverCDP(relay.cdpUrl);
  const [context] = browser.contexts();
  const first = await context.newPage();
  await first.goto(page('first'));
  const closed = first.waitForEvent('close');
  const running = first.evaluate(() => new Promise(() => {}));
  const failed = assert.rejects(running);
  await kill();
  await closed;
  await failed;
  assert.ok(browser.isConnected());
  assert.deepEqual(context.pages(), []);
  await startAgain();
  const second = await context.newPage();
  await second.goto(page('second'));
  assert.equal(await second.title(), 'second');
  await browser.close();
  assert.ok(isRunning(chromium.child.pid), 'the browser stays open');
});

test('a Puppeteer client survives that Chromium is killed and started again', async () => {
  const browser = await puppeteer.connect({ browserWSEndpoint: relay.cdpUrl });
  const first = await browser.newPage();
  await first.goto(page('first'));
  await kill();
  assert.ok(browser.connected);
  await startAgain();
  const second = await browser.newPage();
  await second.goto(page('second'));
  assert.equal(await second.title(), 'second');
  await browser.disconnect();
});

test('several clients survive, and each finds its pages', async () => {
  const browsers = await Promise.all([1, 2, 3].map(() => playwright.connectOverCDP(relay.cdpUrl)));
  await kill();
  await startAgain();
  const titles = await Promise.all(
    browsers.map(async (browser, number) => {
      const opened = await browser.contexts()[0].newPage();
      await opened.goto(page(`client ${number}`));
      return opened.title();
    }),
  );
  assert.deepEqual(titles, ['client 0', 'client 1', 'client 2']);
  await Promise.all(browsers.map((browser) => browser.close()));
});

test('an http address leads to the relay', async () => {
  const token = new URL(relay.cdpUrl).searchParams.get('token');
  const browser = await playwright.connectOverCDP(`http://127.0.0.1:${relay.port}/?token=${token}`);
  await relay.waitForClients(1);
  await browser.close();
  assert.ok(isRunning(chromium.child.pid), 'the browser stays open');
});
