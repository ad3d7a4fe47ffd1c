/** Closing tabs: in the same order as on Chromium's own port, and whatever the page says. */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { chromium as playwright } from 'playwright-core';

import { inExtension, openTabs, pageAt, useChain, userTabs } from '../harness/chain.mjs';
import { until } from '../harness/processes.mjs';
import { connectRaw } from '../harness/raw_client.mjs';

const shared = useChain({
  args: ['--client-mode', 'multi-client'],
  pages: { '/asks': '<title>asks</title>' },
});

/** How a client closes a tab: by its target, in a session of the browser or of the page. */
const WAYS = {
  'Target.closeTarget': (client, targetId) => client.request('Target.closeTarget', { targetId }),
  'Target.closeTarget in the page': (client, targetId, sessionId) =>
    client.request('Target.closeTarget', { targetId }, sessionId),
  'Page.close': (client, _targetId, sessionId) => client.request('Page.close', {}, sessionId),
};

/** A new tab of a client that discovers targets and has attached to it. */
async function openPage(client) {
  await client.send('Target.setDiscoverTargets', { discover: true });
  const { targetId } = await client.send('Target.createTarget', { url: 'about:blank' });
  const { sessionId } = await client.send('Target.attachToTarget', { targetId, flatten: true });
  await client.send('Page.enable', {}, sessionId);
  return { targetId, sessionId };
}

/** What a client receives about the end of its tab, in order. */
async function endOf(url, close, prepare = () => {}) {
  const client = await connectRaw(url);
  try {
    const { targetId, sessionId } = await openPage(client);
    await prepare(client, sessionId);
    client.messages.length = 0;
    const { id, result } = await close(client, targetId, sessionId);
    const isGone = ({ method, params }) =>
      method === 'Target.targetDestroyed' && params.targetId === targetId;
    await until('the tab is gone', () => client.messages.some(isGone));
    const isEnd = ({ method, id: of }) => of === id || /^(Inspector|Target)\.|Dialog/.test(method);
    const isOther = ({ params }) => params?.targetInfo || params?.targetId !== targetId;
    const names = client.messages
      .filter((message) => isEnd(message) && !(/^Target/.test(message.method) && isOther(message)))
      .map((message) => (message.id === id ? 'reply' : message.method));
    return { result, names };
  } finally {
    client.kill();
  }
}

/** `Inspector.detached` comes from the page, which may be gone before it can send it. */
const withoutDetached = ({ result, names }) => ({
  result,
  names: names.filter((name) => name !== 'Inspector.detached'),
});

for (const [name, close] of Object.entries(WAYS)) {
  test(`${name} is answered before the tab is gone, as on Chromium's own port`, async () => {
    const own = await endOf(shared.chain.chromium.ownUrl, close);
    const relayed = await endOf(shared.chain.cdpUrl, close);
    assert.equal(relayed.names[0], 'reply');
    assert.deepEqual(withoutDetached(relayed), withoutDetached(own));
    assert.deepEqual(withoutDetached(own).names, [
      'reply',
      'Target.detachedFromTarget',
      'Target.targetDestroyed',
    ]);
  });
}

/** Lets a page ask for confirmation when it is closed. It may do so only after a click. */
const objectToClosing = (client, sessionId) =>
  client.send(
    'Runtime.evaluate',
    { expression: 'onbeforeunload = () => "stay"; 1', userGesture: true },
    sessionId,
  );

test("a page that asks for confirmation is closed anyway, as on Chromium's own port", async () => {
  const close = WAYS['Target.closeTarget'];
  const own = await endOf(shared.chain.chromium.ownUrl, close, objectToClosing);
  const relayed = await endOf(shared.chain.cdpUrl, close, objectToClosing);
  assert.deepEqual(withoutDetached(relayed), withoutDetached(own));
});

async function closeTarget(url, prepare = () => {}) {
  const client = await connectRaw(shared.chain.cdpUrl);
  await prepare(client);
  const { targetInfos } = await client.send('Target.getTargets');
  const { targetId } = targetInfos.find((info) => info.url === url);
  assert.deepEqual(await client.send('Target.closeTarget', { targetId }), { success: true });
  await client.close();
}

/** How clients close a tab of the user. */
const WAYS_OF_CLIENTS = {
  'Target.closeTarget of a page in use': (url) =>
    closeTarget(url, async (client) => {
      const sessionId = await client.attach(url);
      await client.send('Runtime.evaluate', { expression: '1' }, sessionId);
    }),
  'Target.closeTarget': (url) => closeTarget(url),
  async '/json/close'(url) {
    const { host, search } = new URL(shared.chain.cdpUrl);
    const ask = (path) => fetch(`http://${host}/json/${path}${search}`);
    const pages = await (await ask('list')).json();
    const response = await ask(`close/${pages.find((page) => page.url === url).id}`);
    assert.equal(await response.text(), 'Target is closing');
  },
  async 'page.close() of Playwright'(url) {
    const browser = await playwright.connectOverCDP(shared.chain.cdpUrl);
    await pageAt(browser.contexts()[0], url).close();
    await browser.close();
  },
};

/** Every tab that Chrome has brought to the front since the last call. */
const activations = () =>
  inExtension(shared.chain, async () => {
    if (!globalThis.activated) {
      globalThis.activated = [];
      chrome.tabs.onActivated.addListener(({ tabId }) => globalThis.activated.push(tabId));
    }
    return globalThis.activated.splice(0);
  });

for (const [name, close] of Object.entries(WAYS_OF_CLIENTS)) {
  test(`${name} does not ask the user, nor show the page`, async () => {
    const url = shared.site.url('/asks');
    await openTabs(shared.chain, [url]);
    // The user has typed something there.
    const own = await connectRaw(shared.chain.chromium.ownUrl);
    await objectToClosing(own, await own.attach(url));
    await own.close();
    await activations();
    await close(url);
    await until('the tab is gone', async () =>
      (await userTabs(shared.chain)).every((tab) => tab.url !== url),
    );
    assert.deepEqual(await activations(), [], 'the user sees the same tab');
  });
}
