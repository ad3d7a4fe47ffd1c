/** The popup in a real Chromium, with a real relay and a real client. */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { after, afterEach, before, beforeEach, test } from 'node:test';
import { isDeepStrictEqual, promisify } from 'node:util';
import { chromium } from 'playwright-core';
import { titleIn } from '../harness/chain.mjs';
import { EXTENSION_ID, startChain, startRelay, TABWIRE, until } from '../harness/processes.mjs';
import { startSite } from '../harness/site.mjs';

const NAMES = ['Alpha', 'Beta', 'Gamma'];

let site, chain, user, context, popup;

before(async () => {
  site = await startSite(
    Object.fromEntries(NAMES.map((name) => [`/${name}`, `<!doctype html><title>${name}</title>`])),
  );
  chain = await startChain();
  // The user acts through Chromium's own debugging port, which the relay does not see.
  user = await chromium.connectOverCDP(chain.chromium.ownUrl);
  context = user.contexts()[0];
  for (const name of NAMES) {
    await (await context.newPage()).goto(site.url(`/${name}`));
  }
});

after(async () => {
  await user?.close();
  await chain?.stop();
  // The last test replaces the relay.
  await chain?.relay.stop();
  site?.stop();
});

beforeEach(async () => {
  popup = await context.newPage();
  await popup.setViewportSize({ width: 360, height: 560 });
  await popup.goto(`chrome-extension://${EXTENSION_ID}/popup.html`);
  await waitForHeadline('Connected');
});

afterEach(() => popup.close());

const waitForHeadline = (headline) =>
  popup.locator('#headline').getByText(headline, { exact: true }).waitFor();
const waitForExplanation = (text) =>
  popup.locator('#explanation').filter({ hasText: text }).waitFor();
const releaseButton = (name) => popup.getByRole('button', { name: `Release ${name}` });
const addressField = () => popup.getByLabel('Relay', { exact: true });
const saveButton = () => popup.getByRole('button', { name: 'Save' });
const enabledSwitch = () => popup.getByRole('switch');
const relayAddress = () => `127.0.0.1:${chain.relay.port}`;

/** Waits until a list shows exactly these tabs. Lists are updated after the headline. */
async function waitForList(id, names) {
  const titles = popup.locator(`#${id} .tab-title`);
  await until(`${id} to show ${names}`, async () =>
    isDeepStrictEqual(await titles.allTextContents(), names),
  );
}

/** Uses a tab: reads its title. */
function titleOf(client, name) {
  const pages = client.contexts()[0].pages();
  return titleIn(pages.find((page) => page.url() === site.url(`/${name}`)));
}

/** Connects a client to the relay and uses these tabs. It disconnects after the test. */
async function useTabs(t, ...names) {
  const client = await chromium.connectOverCDP(chain.cdpUrl);
  t.after(async () => {
    await client.close();
    await until('the client to disconnect', async () => (await chain.relay.status()).clients === 0);
  });
  for (const name of names) {
    assert.equal(await titleOf(client, name), name);
  }
  return client;
}

function serviceWorker() {
  return context.serviceWorkers().find((worker) => worker.url().includes(EXTENSION_ID));
}

/**
 * The titles of the tabs that the extension is attached to. Chrome's list of targets cannot tell,
 * because this test's own debugger is attached to every tab. But a command from the extension
 * succeeds only where the extension is attached.
 */
async function attachedTitles() {
  return serviceWorker().evaluate(async () => {
    const tabs = await chrome.tabs.query({ url: 'http://127.0.0.1/*' });
    const replies = await Promise.allSettled(
      tabs.map(({ id }) => chrome.debugger.sendCommand({ tabId: id }, 'Page.getFrameTree')),
    );
    return tabs.filter((_, i) => replies[i].status === 'fulfilled').map(({ title }) => title);
  });
}

// ---- status ----

test('shows the relay and the tabs that are not in use', async () => {
  await waitForExplanation(`Agents can use this browser through the relay at ${relayAddress()}.`);
  assert.equal(await addressField().inputValue(), relayAddress());
  assert.equal(await enabledSwitch().isChecked(), true);
  await popup.getByText('None. Agents use a tab only when they need it.').waitFor();
  await popup.getByText('Other tabs').click();
  await waitForList('others', ['about:blank', ...NAMES]);
  assert.deepEqual(await attachedTitles(), []);
});

test('lists only the tabs that a client has used as in use', async (t) => {
  await useTabs(t, 'Beta');
  await waitForHeadline('1 tab in use');
  await waitForList('in-use', ['Beta']);
  await waitForList('others', ['about:blank', 'Alpha', 'Gamma']);
  assert.deepEqual(await attachedTitles(), ['Beta']);
});

test('names an agent, first without a tab and then beside the tab it uses', async (t) => {
  const client = await useTabs(t);
  const idle = popup.locator('#idle-agents .agent');
  await idle.waitFor();
  const name = await idle.textContent();
  await titleOf(client, 'Beta');
  await popup.locator('#in-use').getByText(`Used by ${name}`).waitFor();
  await idle.waitFor({ state: 'hidden' });
});

test('lists no restricted pages', async (t) => {
  const settings = await context.newPage();
  t.after(() => settings.close());
  await settings.goto('chrome://version/');
  await popup.reload();
  await popup.locator('#other-count').getByText('4', { exact: true }).waitFor();
  await waitForList('others', ['about:blank', ...NAMES]);
});

// ---- releasing tabs ----

test('Release detaches only that tab', async (t) => {
  await useTabs(t, ...NAMES);
  await waitForHeadline('3 tabs in use');
  await releaseButton('Beta').click();
  await waitForHeadline('2 tabs in use');
  await waitForList('in-use', ['Alpha', 'Gamma']);
  assert.deepEqual(await attachedTitles(), ['Alpha', 'Gamma']);
});

test('Release all detaches every tab and pauses agents, until the user resumes', async (t) => {
  const client = await useTabs(t, ...NAMES);
  await waitForHeadline('3 tabs in use');
  await popup.getByRole('button', { name: 'Release all' }).click();
  await waitForHeadline('Paused');
  await popup.getByRole('button', { name: 'Release all' }).waitFor({ state: 'hidden' });
  await until('no tab is attached', async () => (await attachedTitles()).length === 0);
  await assert.rejects(titleOf(client, 'Alpha'), /The person stopped this/);
  await popup.getByRole('button', { name: 'Resume' }).click();
  await waitForHeadline('Connected');
  assert.deepEqual(await attachedTitles(), []);
  assert.equal(await titleOf(client, 'Alpha'), 'Alpha');
});

test('Pause stops agents that use no tab too, and keeps the focus for Resume', async (t) => {
  const client = await useTabs(t);
  const pauseButton = popup.getByRole('button', { name: 'Pause agents' });
  await pauseButton.focus();
  await popup.keyboard.press('Enter');
  await waitForHeadline('Paused');
  await waitForExplanation('You have stopped all agents.');
  await assert.rejects(titleOf(client, 'Beta'), /The person stopped this/);
  await popup.reload();
  await waitForHeadline('Paused');
  assert.equal(await pauseButton.isVisible(), false);
  await popup.getByRole('button', { name: 'Resume' }).focus();
  await popup.keyboard.press('Enter');
  await waitForHeadline('Connected');
  const focused = await popup.evaluate(() => document.activeElement.id);
  assert.equal(focused, 'pause');
});

test('keeps the focus when a tab changes, and moves it when the focused button disappears', async (t) => {
  await useTabs(t, 'Alpha', 'Beta');
  await waitForHeadline('2 tabs in use');
  const focused = () => popup.evaluate(() => document.activeElement.getAttribute('aria-label'));
  await releaseButton('Alpha').focus();
  const beta = context.pages().find((page) => page.url() === site.url('/Beta'));
  t.after(() => beta.evaluate(() => (document.title = 'Beta')));
  await beta.evaluate(() => (document.title = 'Beta again'));
  await releaseButton('Beta again').waitFor();
  assert.equal(await focused(), 'Release Alpha');
  await popup.keyboard.press('Enter');
  await waitForList('in-use', ['Beta again']);
  assert.equal(await focused(), 'Release Beta again');
});

// ---- address and switch ----

test('explains an invalid address and does not save it', async () => {
  assert.equal(await saveButton().isDisabled(), true);
  await addressField().fill('example.org:19222');
  await popup.getByRole('alert').getByText('The relay runs on this machine').waitFor();
  assert.equal(await saveButton().isDisabled(), true);
  await addressField().press('Enter');
  await addressField().fill('127.0.0.1:1');
  await popup.getByRole('alert').waitFor({ state: 'hidden' });
  assert.equal(await saveButton().isDisabled(), false);
  await waitForHeadline('Connected');
});

test('connects to a saved address and keeps it', async (t) => {
  t.after(() => serviceWorker().evaluate(() => chrome.storage.local.remove('address')));
  await addressField().fill('localhost:1');
  await saveButton().click();
  await waitForHeadline('Not connected');
  await waitForExplanation('No relay found at 127.0.0.1:1.');
  await popup.reload();
  await waitForHeadline('Not connected');
  assert.equal(await addressField().inputValue(), '127.0.0.1:1');
  await addressField().fill(` ${chain.relay.port} `);
  await saveButton().click();
  await waitForHeadline('Connected');
  assert.equal(await addressField().inputValue(), relayAddress());
});

test('the switch disconnects and releases the tabs, then connects again', async (t) => {
  await useTabs(t, 'Alpha');
  await waitForHeadline('1 tab in use');
  await enabledSwitch().click();
  await waitForHeadline('Turned off');
  assert.deepEqual(await attachedTitles(), []);
  await until('the extension to disconnect', async () => !(await chain.relay.status()).extension);
  await popup.reload();
  await waitForHeadline('Turned off');
  assert.equal(await enabledSwitch().isChecked(), false);
  await enabledSwitch().click();
  // The client is still there, but nothing is attached again by itself.
  await waitForHeadline('Connected');
  await until('the extension to connect', async () => (await chain.relay.status()).extension);
  assert.deepEqual(await attachedTitles(), []);
});

// ---- pairing ----

// From here on, the relay knows this browser by its code.
test('pairs again with a code that `tabwire pair` prints', async () => {
  const env = { ...process.env, TABWIRE_HOME: chain.relay.home.path };
  const { stdout } = await promisify(execFile)(TABWIRE, ['pair'], { env });
  const [code] = /tabwire:\d+:[\w-]{43}/.exec(stdout);
  await popup.getByText('Pairing', { exact: true }).click();
  await popup.getByLabel('Pairing code').fill(code);
  await popup.getByRole('button', { name: 'Pair', exact: true }).click();
  await until('the code to be in use', () =>
    serviceWorker().evaluate(async () => 'pairing' in (await chrome.storage.local.get('pairing'))),
  );
  await waitForHeadline('Connected');
});

// ---- restarts ----

test('reconnects to a restarted service worker', async (t) => {
  await useTabs(t, 'Gamma');
  await waitForHeadline('1 tab in use');
  const worker = serviceWorker();
  await worker.evaluate(() => (globalThis.isOldWorker = true));
  const browser = await user.newBrowserCDPSession();
  const { targetInfos } = await browser.send('Target.getTargets');
  await browser.send('Target.closeTarget', {
    targetId: targetInfos.find(({ url }) => url === worker.url()).targetId,
  });
  await until('the worker to restart', () =>
    serviceWorker()
      .evaluate(() => !globalThis.isOldWorker)
      .catch(() => false),
  );
  await waitForHeadline('1 tab in use');
  await releaseButton('Gamma').click();
  await waitForHeadline('Connected');
  assert.deepEqual(await attachedTitles(), []);
});

test('explains what to do when the relay stops, and reconnects when it is back', async () => {
  const { home, port } = chain.relay;
  await chain.relay.stop({ keepHome: true });
  await waitForHeadline('Not connected');
  await waitForExplanation(
    `No relay found at ${relayAddress()}. Start one with “tabwire serve --port`,
  );
  chain.relay = await startRelay({ home, port });
  await waitForHeadline('Connected');
});
