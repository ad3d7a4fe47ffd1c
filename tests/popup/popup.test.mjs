/** The popup as the person sees it: in a real Chromium, with a real relay and a real client. */

import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { chromium } from 'playwright-core';
import { EXTENSION_ID, startChain, startRelay, until } from '../harness/processes.mjs';
import { startSite } from '../harness/site.mjs';

const NAMES = ['Alpha', 'Beta', 'Gamma'];

let site, chain, person, context, popup;

before(async () => {
  site = await startSite(
    Object.fromEntries(NAMES.map((name) => [`/${name}`, `<!doctype html><title>${name}</title>`])),
  );
  chain = await startChain();
  // Over Chromium's own port: what the person does, which the relay must not notice.
  person = await chromium.connectOverCDP(chain.chromium.ownUrl);
  context = person.contexts()[0];
  for (const name of NAMES) {
    await (await context.newPage()).goto(site.url(`/${name}`));
  }
});

after(async () => {
  await person?.close();
  await chain?.stop();
  // The last test started another.
  await chain?.relay.stop();
  site?.stop();
});

beforeEach(async () => {
  popup = await context.newPage();
  await popup.setViewportSize({ width: 360, height: 560 });
  await popup.goto(`chrome-extension://${EXTENSION_ID}/popup.html`);
  await shows('Connected');
});

afterEach(() => popup.close());

// ---- what is there to see ----

const shows = (headline) =>
  popup.locator('#headline').getByText(headline, { exact: true }).waitFor();
const explains = (text) => popup.locator('#explanation').filter({ hasText: text }).waitFor();
const detachButton = (name) => popup.getByRole('button', { name: `Detach ${name}` });
const address = () => popup.getByLabel('Relay', { exact: true });
const save = () => popup.getByRole('button', { name: 'Save' });
const power = () => popup.getByRole('switch');
const relayAddress = () => `127.0.0.1:${chain.relay.port}`;

/** Waits until a list has exactly these tabs: the lists follow the headline a moment later. */
async function lists(id, names) {
  const titles = popup.locator(`#${id} .tab-title`);
  await until(`${id} lists ${names}`, async () =>
    isDeepStrictEqual(await titles.allTextContents(), names),
  );
}

/** A client on the relay that has used these tabs; it leaves with the test. */
async function useTabs(t, ...names) {
  const client = await chromium.connectOverCDP(chain.cdpUrl);
  t.after(async () => {
    await client.close();
    await until('the client has left', async () => (await chain.relay.status()).clients === 0);
  });
  for (const name of names) {
    const page = client
      .contexts()[0]
      .pages()
      .find((open) => open.url() === site.url(`/${name}`));
    assert.equal(await page.title(), name);
  }
}

function serviceWorker() {
  return context.serviceWorkers().find((worker) => worker.url().includes(EXTENSION_ID));
}

/**
 * The titles of the tabs that have the extension's debugger. Chrome's list of targets does not say it here: this test's own
 * debugger is on every tab too. But a command goes through only where the extension's is.
 */
async function debugged() {
  return serviceWorker().evaluate(async () => {
    const tabs = await chrome.tabs.query({ url: 'http://127.0.0.1/*' });
    const answers = await Promise.allSettled(
      tabs.map(({ id }) => chrome.debugger.sendCommand({ tabId: id }, 'Page.getFrameTree')),
    );
    return tabs.filter((_, at) => answers[at].status === 'fulfilled').map(({ title }) => title);
  });
}

// ---- the state ----

test('connected, it names the relay and counts the tabs that nobody uses', async () => {
  await explains(`To the relay at ${relayAddress()}.`);
  assert.equal(await address().inputValue(), relayAddress());
  assert.equal(await power().isChecked(), true);
  await popup.getByText('None. A tab is attached only when first used.').waitFor();
  await popup.getByText('Other tabs').click();
  await lists('others', ['about:blank', ...NAMES]);
  assert.deepEqual(await debugged(), []);
});

test('a tab is listed as in use once a client uses it, and the others are not', async (t) => {
  await useTabs(t, 'Beta');
  await shows('1 tab in use');
  await lists('in-use', ['Beta']);
  await lists('others', ['about:blank', 'Alpha', 'Gamma']);
  assert.deepEqual(await debugged(), ['Beta']);
});

test('restricted pages are in neither list', async (t) => {
  const settings = await context.newPage();
  t.after(() => settings.close());
  await settings.goto('chrome://version/');
  await popup.reload();
  await popup.locator('#other-count').getByText('4', { exact: true }).waitFor();
  await lists('others', ['about:blank', ...NAMES]);
});

// ---- taking tabs back ----

test('Detach takes back exactly that tab', async (t) => {
  await useTabs(t, ...NAMES);
  await shows('3 tabs in use');
  await detachButton('Beta').click();
  await shows('2 tabs in use');
  await lists('in-use', ['Alpha', 'Gamma']);
  assert.deepEqual(await debugged(), ['Alpha', 'Gamma']);
});

test('Detach all takes back every tab', async (t) => {
  await useTabs(t, ...NAMES);
  await shows('3 tabs in use');
  await popup.getByRole('button', { name: 'Detach all' }).click();
  await shows('Connected');
  await popup.getByRole('button', { name: 'Detach all' }).waitFor({ state: 'hidden' });
  assert.deepEqual(await debugged(), []);
});

test('the keyboard stays where it is when a tab changes, and goes to the next button when its own has gone', async (t) => {
  await useTabs(t, 'Alpha', 'Beta');
  await shows('2 tabs in use');
  const focused = () => popup.evaluate(() => document.activeElement.getAttribute('aria-label'));
  await detachButton('Alpha').focus();
  const beta = context.pages().find((page) => page.url() === site.url('/Beta'));
  t.after(() => beta.evaluate(() => (document.title = 'Beta')));
  await beta.evaluate(() => (document.title = 'Beta anew'));
  await detachButton('Beta anew').waitFor();
  assert.equal(await focused(), 'Detach Alpha');
  await popup.keyboard.press('Enter');
  await lists('in-use', ['Beta anew']);
  assert.equal(await focused(), 'Detach Beta anew');
});

// ---- the address and the switch ----

test('a wrong address is explained and cannot be saved', async () => {
  assert.equal(await save().isDisabled(), true);
  await address().fill('example.org:19222');
  await popup.getByRole('alert').getByText('The relay runs on this machine').waitFor();
  assert.equal(await save().isDisabled(), true);
  await address().press('Enter');
  await address().fill('127.0.0.1:1');
  await popup.getByRole('alert').waitFor({ state: 'hidden' });
  assert.equal(await save().isDisabled(), false);
  await shows('Connected');
});

test('a saved address is connected to, and kept', async (t) => {
  t.after(() => serviceWorker().evaluate(() => chrome.storage.local.remove('address')));
  await address().fill('localhost:1');
  await save().click();
  await shows('Not connected');
  await explains('No relay answers at localhost:1.');
  await popup.reload();
  await shows('Not connected');
  assert.equal(await address().inputValue(), 'localhost:1');
  await address().fill(` ${chain.relay.port} `);
  await save().click();
  await shows('Connected');
  assert.equal(await address().inputValue(), relayAddress());
});

test('switched off it leaves the relay and gives the tabs back; switched on it is there again', async (t) => {
  await useTabs(t, 'Alpha');
  await shows('1 tab in use');
  await power().click();
  await shows('Switched off');
  assert.deepEqual(await debugged(), []);
  await until('the relay is alone', async () => !(await chain.relay.status()).extension);
  await popup.reload();
  await shows('Switched off');
  assert.equal(await power().isChecked(), false);
  await power().click();
  await shows('Connected');
  await until('the extension is there', async () => (await chain.relay.status()).extension);
});

// ---- what ends meanwhile ----

test('it outlives its service worker: the next one tells it the state and obeys it', async (t) => {
  await useTabs(t, 'Gamma');
  await shows('1 tab in use');
  const worker = serviceWorker();
  await worker.evaluate(() => (globalThis.isFirstLife = true));
  const browser = await person.newBrowserCDPSession();
  const { targetInfos } = await browser.send('Target.getTargets');
  await browser.send('Target.closeTarget', {
    targetId: targetInfos.find(({ url }) => url === worker.url()).targetId,
  });
  await until('the next worker lives', () =>
    serviceWorker()
      .evaluate(() => !globalThis.isFirstLife)
      .catch(() => false),
  );
  await shows('1 tab in use');
  await detachButton('Gamma').click();
  await shows('Connected');
  assert.deepEqual(await debugged(), []);
});

test('when the relay stops it says so and what to do, and it finds the relay again', async () => {
  const { home, port } = chain.relay;
  await chain.relay.stop({ keepHome: true });
  await shows('Not connected');
  await explains(`No relay answers at ${relayAddress()}. Start one with “tabwire serve”.`);
  chain.relay = await startRelay({ home, port });
  await shows('Connected');
});
