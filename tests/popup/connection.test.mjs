/**
 * What the user sees of the connection, in a real Chromium: the popup and the toolbar button with an
 * honest relay, and with programs that listen on its port and are not the user's relay.
 */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import net from 'node:net';
import { after, afterEach, before, beforeEach, test } from 'node:test';
import { chromium as playwright } from 'playwright-core';
import { startFakeRelay } from '../harness/fake_relay.mjs';
import { SECRET } from '../harness/handshake.mjs';
import {
  copyExtension,
  EXTENSION_ID,
  startChromium,
  until,
  untilEqual,
} from '../harness/processes.mjs';

let relay, extension, chromium, user, context, popup;

before(async () => {
  relay = await startFakeRelay();
  extension = await copyExtension(pairing());
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

beforeEach(async () => {
  popup = await context.newPage();
  popup.setDefaultTimeout(15_000);
  await popup.goto(`chrome-extension://${EXTENSION_ID}/popup.html`);
  await headline('Connected');
  relay.received.length = 0;
});

afterEach(async () => {
  await extension.pair(pairing());
  await inWorker(() => chrome.storage.local.clear());
  relay.become('honest');
  await headline('Connected');
  await popup.close();
});

const pairing = () => ({ port: relay.port, secret: SECRET, welcome: false });
const code = (secret = SECRET) => `tabwire:${relay.port}:${secret}`;
const headline = (text) => popup.locator('#headline').getByText(text, { exact: true }).waitFor();
const explanation = (text) => popup.locator('#explanation').filter({ hasText: text }).waitFor();
const advice = (text) => popup.locator('#advice').filter({ hasText: text }).waitFor();
const badge = () => inWorker(() => chrome.action.getBadgeText({}));

function inWorker(run, argument) {
  const worker = context.serviceWorkers().find((each) => each.url().includes(EXTENSION_ID));
  return worker.evaluate(run, argument);
}

// ---- connected ----

test('shows the relay, this browser’s name, and which agent uses which tab', async (t) => {
  await advice('Relay version 0.1.0. Agents know this browser as “chrome”.');
  await untilEqual('the badge shows that it is connected', badge, 'on');
  const page = await context.newPage();
  t.after(() => page.close());
  await page.setContent('<title>Orders</title>');
  const tabId = await inWorker(async () => (await chrome.tabs.query({ title: 'Orders' }))[0].id);
  const connection = relay.connections.at(-1);
  connection.send({ id: 1, method: 'attachTab', params: { tabId } });
  const clients = [
    { name: 'playwright (node, pid 4711)', tabs: [tabId] },
    { name: 'claude (pid 4822)', tabs: [] },
  ];
  connection.send({ method: 'status', params: { name: 'work', clients } });
  await headline('1 tab in use');
  await advice('Agents know this browser as “work”.');
  await popup.locator('#in-use').getByText('Used by playwright (node, pid 4711)').waitFor();
  await popup.getByText('Connected agents that use no tab').waitFor();
  await popup.locator('#idle-agents').getByText('claude (pid 4822)').waitFor();
  await untilEqual('the badge shows the tab', badge, '1');
  connection.send({ id: 2, method: 'detachTab', params: { tabId } });
  connection.send({ method: 'status', params: { name: 'work', clients: [] } });
  await headline('Connected');
  await popup.locator('#idle-agents').waitFor({ state: 'hidden' });
});

test('describes this browser only after the relay’s proof', async () => {
  relay.become('honest');
  await relay.waitFor('browser');
  assert.deepEqual(relay.receivedMethods(), ['hello', 'browser']);
  const [hello, { params }] = relay.received;
  assert.deepEqual(Object.keys(hello.params), [
    'protocol',
    'installId',
    'nonce',
    'proof',
    'takeOver',
  ]);
  assert.deepEqual([params.version, params.brand], ['0.1.0', 'chromium']);
  assert.match(params.product, /^HeadlessChrome\/[\d.]+$/);
});

// ---- not the user's relay ----

for (const behavior of ['guessing', 'reflecting', 'commanding', 'closing']) {
  test(`warns about a program that is not the user's relay: ${behavior}`, async () => {
    relay.become(behavior);
    await headline('Not your relay');
    await explanation(`A program that is not your relay is listening on ${relay.address}.`);
    await until('the badge to warn', async () => (await badge()) === '!');
    assert.ok(relay.receivedMethods().every((method) => method === 'hello'));
  });
}

test('warns about a program that opens a connection and sends nothing', async () => {
  relay.become('silent');
  await headline('No answer from the relay');
  await explanation(`is listening on ${relay.address}, but has not proven that it is your relay.`);
  assert.deepEqual(relay.receivedMethods(), []);
});

test('warns about a program that does not answer at all', async (t) => {
  const mute = net.createServer().listen(0, '127.0.0.1');
  t.after(() => mute.close());
  await once(mute, 'listening');
  const sockets = [];
  mute.on('connection', (socket) => sockets.push(socket));
  t.after(() => sockets.forEach((socket) => socket.destroy()));
  await popup.getByLabel('Relay', { exact: true }).fill(String(mute.address().port));
  await popup.getByRole('button', { name: 'Save' }).click();
  await headline('No answer from the relay');
  await popup.getByLabel('Relay', { exact: true }).fill(String(relay.port));
  await popup.getByRole('button', { name: 'Save' }).click();
});

// ---- no relay ----

test('a missing relay leaves nothing on the extension’s error page', async (t) => {
  const errors = await openErrorPage(t);
  const { port } = relay;
  await relay.stop();
  await headline('Not connected');
  await explanation(
    `No relay found at 127.0.0.1:${port}. Start one with “tabwire serve --port ${port}”.`,
  );
  await inWorker(() => {
    globalThis.probes = 0;
    const { fetch } = globalThis;
    globalThis.fetch = (...args) => ((globalThis.probes += 1), fetch(...args));
  });
  await until('several retries', () => inWorker(() => globalThis.probes > 6));
  assert.deepEqual(await errors(), []);
  // It would be listed there.
  await inWorker((address) => void new WebSocket(address), `ws://127.0.0.1:${port}`);
  await until('a failed WebSocket to be listed', async () => (await errors()).length > 0);
  relay = await startFakeRelay({ port });
  await headline('Connected');
});

/** The messages on the extension's error page at chrome://extensions. */
async function openErrorPage(t) {
  const page = await context.newPage();
  t.after(() => page.close());
  await page.goto('chrome://extensions/');
  const info = await page.evaluate(async (extensionId) => {
    const { developerPrivate } = chrome;
    await developerPrivate.updateProfileConfiguration({ inDeveloperMode: true });
    await developerPrivate.updateExtensionConfiguration({ extensionId, errorCollection: true });
    await developerPrivate.deleteExtensionErrors({ extensionId });
    return developerPrivate.getExtensionInfo(extensionId);
  }, EXTENSION_ID);
  assert.ok(info.errorCollection.isActive);
  return () =>
    page.evaluate(async (id) => {
      const { runtimeErrors } = await chrome.developerPrivate.getExtensionInfo(id);
      return runtimeErrors.map(({ message }) => message);
    }, EXTENSION_ID);
}

// ---- other browsers, other versions ----

test('takes over from another browser once, when the user asks for it', async () => {
  relay.become('busy');
  await headline('Another browser is connected');
  await explanation(`The relay at ${relay.address} is connected to “edge”.`);
  await popup.getByRole('button', { name: 'Use this browser instead' }).click();
  await headline('Connected');
  relay.connections.at(-1).socket.close(4409, 'replaced');
  await headline('Replaced by another browser');
  await explanation(
    `The relay at ${relay.address} is now connected to “edge” instead of this one.`,
  );
  const requests = relay.received
    .filter(({ method }) => method === 'hello')
    .map(({ params }) => params.takeOver);
  assert.equal(requests.filter(Boolean).length, 1);
  assert.equal(requests.at(-1), false);
});

for (const [behavior, text] of Object.entries({
  newer: 'Update the extension',
  older: 'Update Tabwire',
})) {
  test(`says what to update if the relay is ${behavior}`, async () => {
    relay.become(behavior);
    await headline('Versions do not match');
    await advice(text);
  });
}

// ---- pairing ----

test('a pairing that is no longer accepted can be renewed with a code', async () => {
  relay.become('forgetful');
  await headline('Pairing not accepted');
  await explanation('no longer accepts this browser’s pairing. It may not be your relay.');
  const field = popup.getByLabel('Pairing code');
  const pair = popup.getByRole('button', { name: 'Pair', exact: true });
  await field.fill(code().slice(0, -4));
  await pair.click();
  await popup.getByRole('alert').getByText('This code is incomplete').waitFor();
  // Before the relay accepts it: once it does, the form is put away.
  await field.fill(` ${code()} `);
  await pair.click();
  relay.become('honest');
  await headline('Connected');
  assert.deepEqual(await inWorker(() => chrome.storage.local.get('pairing')), {
    pairing: { port: relay.port, secret: SECRET },
  });
});

test('an extension without a secret dials nothing, and connects once it is paired', async () => {
  await extension.pair({ ...pairing(), secret: '' });
  relay.become('honest');
  relay.received.length = 0;
  await headline('Not paired');
  await popup.getByLabel('Pairing code').waitFor();
  assert.deepEqual(relay.receivedMethods(), []);
  await extension.pair(pairing());
  await headline('Connected');
});

test('a code can also be entered while connected', async () => {
  await popup.getByText('Pairing', { exact: true }).click();
  await popup.getByLabel('Pairing code').fill('nonsense');
  await popup.getByRole('button', { name: 'Pair', exact: true }).click();
  await popup.getByRole('alert').getByText('Not a pairing code').waitFor();
  await headline('Connected');
});
