/**
 * Cross-process frames as targets of their own, compared with Chromium's own port: listed and
 * discovered without attaching to their tab, and attached by their id.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { attachedUrls, openTabs, pageAt, untilDetached, useChain } from '../harness/chain.mjs';
import { until, untilEqual } from '../harness/processes.mjs';
import { connectRaw, evaluateIn, withRawClient } from '../harness/raw_client.mjs';
import { framing } from '../harness/site.mjs';

const shared = useChain({
  args: ['--client-mode', 'multi-client'],
  pages: {
    '/one': framing('/inner'),
    '/two': framing('/inner?two'),
    '/moving': framing('/inner?moving'),
    '/inner': '<title>Inner</title><p id="text">inside</p>',
    '/moved': '<title>Moved</title>',
  },
  tabs: (site) => ['/one', '/two'].map((path) => site.url(path)),
});

const isFrame = ({ type }) => type === 'iframe';
const TEXT = `document.querySelector('#text').textContent`;
const frameUrl = (path) => shared.site.url(path, 'localhost');

async function listedFrames(client) {
  const { targetInfos } = await client.send('Target.getTargets');
  return targetInfos.filter(isFrame);
}

const frameAt = async (client, path) =>
  (await listedFrames(client)).find(({ url }) => url === frameUrl(path));

async function attach(client, path) {
  const { targetId } = await until('the frame is listed', () => frameAt(client, path));
  const { sessionId } = await client.send('Target.attachToTarget', { targetId, flatten: true });
  return sessionId;
}

async function withOwnPort(use) {
  const client = await connectRaw(shared.chain.chromium.ownUrl);
  try {
    return await use(client);
  } finally {
    await client.close();
  }
}

/** What must be the same through the relay: browser contexts have the relay's own id. */
const comparable = (targets) =>
  targets
    .map(({ browserContextId: _own, ...rest }) => rest)
    .sort((one, other) => one.url.localeCompare(other.url));

/** The frames of `/json/list`. */
async function httpFrames(base, token = '') {
  const targets = await (await fetch(`${base}/json/list${token}`)).json();
  return targets.filter(isFrame);
}

/** What has the address of the port, or is not offered. */
const withoutAddresses = ({ webSocketDebuggerUrl: _own, devtoolsFrontendUrl: _other, ...rest }) =>
  rest;

test('frames are listed as on the own port, and no tab is attached', () =>
  withRawClient(shared.chain, async ({ client }) => {
    const own = await withOwnPort(listedFrames);
    assert.equal(own.length, 2);
    await until('the frames are known', async () => (await listedFrames(client)).length === 2);
    assert.deepEqual(comparable(await listedFrames(client)), comparable(own));
    await client.send('Target.setDiscoverTargets', { discover: true });
    const created = client.eventsOf(undefined, 'Target.targetCreated');
    const discovered = created.map(({ targetInfo }) => targetInfo).filter(isFrame);
    assert.deepEqual(comparable(discovered), comparable(own));
    assert.deepEqual(await attachedUrls(shared.chain), []);
  }));

test('/json/list has the frames as on the own port, and their sockets work', async () => {
  const cdp = new URL(shared.chain.cdpUrl);
  const frames = await httpFrames(`http://${cdp.host}`, cdp.search);
  const own = await httpFrames(`http://${new URL(shared.chain.chromium.ownUrl).host}`);
  const byUrl = (list) => comparable(list.map(withoutAddresses));
  assert.equal(own.length, 2);
  assert.deepEqual(byUrl(frames), byUrl(own));
  const { id, webSocketDebuggerUrl } = frames.find(({ url }) => url === frameUrl('/inner'));
  const client = await connectRaw(webSocketDebuggerUrl);
  const { targetInfo } = await client.send('Target.getTargetInfo');
  assert.equal(targetInfo.targetId, id);
  assert.deepEqual(await attachedUrls(shared.chain), []);
  assert.equal(await evaluateIn(client, undefined, TEXT), 'inside');
  assert.deepEqual(await attachedUrls(shared.chain), [shared.site.url('/one')]);
  await client.close();
  await untilDetached(shared.chain);
});

test('a client attaches to a frame of a dormant tab twice, and only its use wakes the tab', () =>
  withRawClient(shared.chain, async ({ client }) => {
    const one = await attach(client, '/inner');
    const other = await attach(client, '/inner');
    assert.notEqual(one, other);
    assert.deepEqual(await attachedUrls(shared.chain), []);
    assert.equal(await evaluateIn(client, one, `window.mark = 1, ${TEXT}`), 'inside');
    assert.equal(await evaluateIn(client, other, 'window.mark'), 1);
    assert.deepEqual(await attachedUrls(shared.chain), [shared.site.url('/one')]);
    await client.send('Target.detachFromTarget', { sessionId: one });
    assert.equal(await evaluateIn(client, other, 'window.mark'), 1, 'the other one goes on');
    assert.equal((await listedFrames(client)).length, 2);
  }));

test('a client that uses a page attaches to its frame', () =>
  withRawClient(shared.chain, async ({ client, open }) => {
    const page = await open(shared.site.url('/two'));
    assert.equal(await page.evaluate('document.title'), 'Framing');
    assert.equal(await evaluateIn(client, await attach(client, '/inner?two'), TEXT), 'inside');
  }));

test('Puppeteer connects although a page has removed a frame, and finds each frame once', () =>
  shared.withClients(async (connect) => {
    const client = await connectRaw(shared.chain.cdpUrl);
    const url = shared.site.url('/two?removed');
    await openTabs(shared.chain, [url]);
    const isThere = ({ parentFrameId }) => parentFrameId === removed.targetId;
    const { targetInfos } = await client.send('Target.getTargets');
    const removed = targetInfos.find((info) => info.url === url);
    await until('its frame is known', async () => (await listedFrames(client)).some(isThere));
    // Nobody has asked for the frames of this page, so nobody is told that one is gone.
    const page = await client.attach(url);
    await evaluateIn(client, page, `document.querySelector('#inner').remove()`);
    assert.ok((await listedFrames(client)).some(isThere));
    const browser = await connect.puppeteer();
    const pages = await browser.pages();
    const framesOf = (path) => pageAt(pages, path).frames().slice(1);
    assert.equal(framesOf('/two?removed').length, 0);
    await pageAt(pages, '/one').waitForFrame((frame) => frame.url() === frameUrl('/inner'));
    assert.equal(framesOf('/one').length, 1);
    assert.ok(!(await listedFrames(client)).some(isThere));
    await client.close();
  }));

test('a frame that navigates has its new address, whether its tab is attached or not', async () => {
  const url = shared.site.url('/moving');
  await openTabs(shared.chain, [url]);
  /** As a script of the page, without the relay. */
  const move = (path) =>
    withOwnPort(async (own) => {
      const page = await own.attach(url);
      await evaluateIn(own, page, `document.querySelector('#inner').src = '${frameUrl(path)}'`);
    });
  await withRawClient(shared.chain, async ({ client, open }) => {
    const changes = () =>
      client
        .eventsOf(undefined, 'Target.targetInfoChanged')
        .map(({ targetInfo }) => targetInfo)
        .filter(isFrame)
        .map((info) => info.url);
    await client.send('Target.setDiscoverTargets', { discover: true });
    const frame = await attach(client, '/inner?moving');
    await client.send('Page.enable', {}, frame);
    await move('/moved');
    await until('the new address is known', () => frameAt(client, '/moved'));
    await until('it was announced', () => changes().includes(frameUrl('/moved')));
    const navigatedTo = () => client.eventsOf(frame, 'Page.frameNavigated').at(-1)?.frame.url;
    await untilEqual('its session knows', navigatedTo, frameUrl('/moved'));
    const { frameTree } = await client.send('Page.getFrameTree', {}, frame);
    assert.equal(frameTree.frame.url, frameUrl('/moved'));
    assert.deepEqual(await attachedUrls(shared.chain), [], 'it was dormant all the time');

    assert.equal(await evaluateIn(client, frame, 'location.pathname'), '/moved');
    const page = await open(url);
    const source = `document.querySelector('#inner').src = '${frameUrl('/inner?back')}'`;
    await page.evaluate(source);
    await until('Chrome has reported it', () => frameAt(client, '/inner?back'));
    await until('it was announced', () => changes().includes(frameUrl('/inner?back')));
    await page.evaluate(`document.querySelector('#inner').remove()`);
    await until('it is gone', async () => !(await frameAt(client, '/inner?back')));
    await until('its session has ended', () =>
      client
        .eventsOf(undefined, 'Target.detachedFromTarget')
        .some(({ sessionId }) => sessionId === frame),
    );
  });
});
