/** The welcome page in a real Chromium, right after installation. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { chromium as playwright } from 'playwright-core';
import { startFakeRelay } from '../harness/fake_relay.mjs';
import { SECRET } from '../harness/handshake.mjs';
import { copyExtension, EXTENSION_ID, startChromium, until } from '../harness/processes.mjs';

const WELCOME = `chrome-extension://${EXTENSION_ID}/welcome.html`;

let relay, extension, chromium, user, context;

before(async () => {
  relay = await startFakeRelay();
  extension = await copyExtension({ port: relay.port, secret: '', welcome: true });
  chromium = await startChromium({ extensions: [extension.path] });
  user = await playwright.connectOverCDP(chromium.ownUrl);
  context = user.contexts()[0];
});

after(async () => {
  await user?.close();
  await chromium?.stop();
  await extension?.remove();
  await relay?.stop();
});

const welcomePages = () => context.pages().filter((page) => page.url() === WELCOME);

test('opens once, asks for a code, and turns green when the relay is connected', async () => {
  const page = await until('the welcome page to open', () => welcomePages()[0]);
  const headline = (text) => page.locator('#headline').getByText(text, { exact: true }).waitFor();
  await headline('Not paired');
  await page.getByText('tabwire setup claude-code').waitFor();
  await page.getByText('tabwire serve').first().waitFor();
  await page.getByLabel('Pairing code').fill(`tabwire:${relay.port}:${SECRET}`);
  await page.getByLabel('Pairing code').press('Enter');
  await headline('Connected');
  assert.equal(await page.locator('#status').getAttribute('class'), 'connected');
  await page.getByLabel('Pairing code').waitFor({ state: 'hidden' });
  assert.equal(welcomePages().length, 1);
});

test('shows when the relay stops, and when it is back', async () => {
  const [page] = welcomePages();
  const headline = (text) => page.locator('#headline').getByText(text, { exact: true }).waitFor();
  const { port } = relay;
  await relay.stop();
  await headline('Not connected');
  relay = await startFakeRelay({ port });
  await headline('Connected');
});
