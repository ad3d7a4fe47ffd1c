/** The cookies of the profile through real clients, compared with Chromium's own port. */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { attachedUrls, onOwnPort, untilDetached, useChain } from '../harness/chain.mjs';
import { connectRaw, withRawClient } from '../harness/raw_client.mjs';
import { html } from '../harness/site.mjs';

const shared = useChain({
  pages: {
    '/': '<title>home</title>',
    '/a/page': html(
      (site) => `<iframe src="/same/"></iframe>
        <iframe src="${site.url('/cross/', 'localhost')}"></iframe>`,
    ),
    '/same/': 'a frame',
    '/cross/': 'a frame of another site',
  },
  tabs: (site) => [site.url('/'), site.url('/a/page')],
});

const TOMORROW = Math.floor(Date.now() / 1000) + 86_400;
const PARTITION = { topLevelSite: 'https://top.example', hasCrossSiteAncestor: true };

/** Runs `use` with a client of the relay and one of Chromium's own port, and empties the jar. */
const withBoth = (use) =>
  withRawClient(shared.chain, async ({ client }) => {
    const own = await connectRaw(shared.chain.chromium.ownUrl);
    try {
      await own.send('Storage.clearCookies');
      await use(client, own);
      assert.deepEqual(await attachedUrls(shared.chain), [], 'nothing was attached');
    } finally {
      await own.send('Storage.clearCookies');
      await own.close();
    }
  });

/** Without what `chrome.cookies` does not know. */
const comparable = (cookies) =>
  cookies
    .map(({ priority: _p, sourceScheme: _s, sourcePort: _o, ...cookie }) => cookie)
    .sort((a, b) => keyOf(a).localeCompare(keyOf(b)));
const keyOf = ({ domain, name, path, partitionKey }) =>
  JSON.stringify([domain, name, path, partitionKey]);

const jarOf = async (client) => comparable((await client.send('Storage.getCookies')).cookies);

/** Cookies with every attribute, as a client can set them. */
const COOKIES = [
  { name: 'host', value: '1', domain: 'example.com' },
  { name: 'domain', value: '1', domain: '.example.com', path: '/x', httpOnly: true },
  { name: 'url', value: '1', url: 'https://sub.example.com/foo/bar' },
  { name: 'strict', value: '1', domain: 'example.com', sameSite: 'Strict', expires: TOMORROW },
  { name: 'lax', value: '1', domain: 'example.com', sameSite: 'Lax', expires: TOMORROW + 0.5 },
  { name: 'none', value: '1', domain: 'example.com', sameSite: 'None', secure: true },
  { name: 'session', value: '1', domain: 'example.com', expires: -1 },
  { name: 'far', value: '1', domain: 'example.com', expires: TOMORROW + 86_400 * 300 },
  { name: 'past', value: '1', domain: 'example.com', expires: 1 },
  { name: 'port', value: '1', domain: 'example.com', secure: true, sourcePort: 8443 },
  { name: 'text', value: 'ü€ "quoted"', domain: 'example.com' },
  { name: '', value: 'nameless', domain: 'example.com' },
  { name: '__Host-prefix', value: '1', domain: 'example.com', path: '/', secure: true },
  { name: 'local', value: '1', url: 'http://127.0.0.1:8080/' },
  { name: 'v6', value: '1', domain: '[::1]' },
  { name: 'suffix', value: '1', domain: 'com' },
  { name: 'idn', value: '1', domain: 'münchen.de' },
  { name: 'parted', value: '1', domain: 'example.com', secure: true, partitionKey: PARTITION },
];

test("reads all attributes as Chromium's own port does", () =>
  withBoth(async (client, own) => {
    await own.send('Storage.setCookies', { cookies: COOKIES });
    const jar = await jarOf(client);
    assert.deepEqual(jar, await jarOf(own));
    assert.equal(jar.length, COOKIES.length - 1, 'all but the one that has expired');
    const { cookies } = await client.send('Storage.getCookies');
    for (const { priority, sourceScheme, sourcePort } of cookies) {
      assert.deepEqual([priority, sourceScheme, sourcePort], ['Medium', 'Unset', -1]);
    }
  }));

test("sets cookies exactly as Chromium's own port does", () =>
  withBoth(async (client, own) => {
    await own.send('Storage.setCookies', { cookies: COOKIES });
    const { cookies: expected } = await own.send('Storage.getCookies');
    await own.send('Storage.clearCookies');
    await client.send('Storage.setCookies', { cookies: COOKIES });
    const { cookies } = await own.send('Storage.getCookies');
    const byName = (a, b) => a.name.localeCompare(b.name);
    assert.deepEqual(cookies.sort(byName), expected.sort(byName), 'with their source');
  }));

test('rejects the same cookies as Chromium, and sets none of their batch', () =>
  withBoth(async (client, own) => {
    for (const bad of [
      { name: 'a', value: '1' },
      { name: 'a', value: '1', url: 'ftp://x' },
      { name: 'a', value: '1', url: 'about:blank' },
      { name: 'a', value: 1, domain: 'example.com' },
      { name: 'a', value: '1', domain: 'example.com', partitionKey: 'https://top.example' },
    ]) {
      const cookies = [{ name: 'good', value: '1', domain: 'example.com' }, bad];
      const [mine, theirs] = await Promise.all(
        [client, own].map((each) => each.request('Storage.setCookies', { cookies })),
      );
      assert.deepEqual(
        [mine.error.code, mine.error.message],
        [theirs.error.code, theirs.error.message],
      );
      assert.deepEqual(await jarOf(own), []);
    }
  }));

test('reports cookies that Chrome does not keep', () =>
  withBoth(async (client) => {
    for (const bad of [
      { name: 'a;', value: '1', domain: 'example.com' },
      { name: '__Host-a', value: '1', domain: '.example.com', secure: true },
      { name: 'a', value: 'x'.repeat(5000), domain: 'example.com' },
      { name: 'a', value: '1', domain: 'example.com', sameSite: 'None' },
      { name: 'a', value: '1', domain: 'example.com', partitionKey: PARTITION },
      { name: 'a', value: '1', domain: 'example.com', path: 'relative' },
    ]) {
      const { error } = await client.request('Storage.setCookies', { cookies: [bad] });
      assert.deepEqual([error.code, error.message], [-32602, 'Invalid cookie fields']);
      assert.match(error.data, /The other 0 cookies were set/);
    }
  }));

/** Reads, copies and clears 5,000 cookies, and compares each step with Chromium's own port. */
async function copyMany(client, own) {
  // Chrome keeps at most 3,300 cookies, and partitioned ones beside them.
  const cookies = Array.from({ length: 5000 }, (_, index) => {
    const isPartitioned = index >= 3000;
    const topLevelSite = `https://top${Math.floor(index / 25)}.com`;
    return {
      name: `name${index % 25}`,
      value: `value${index}`,
      domain: `${index % 2 ? '.' : ''}site${Math.floor(index / 25)}.com`,
      secure: isPartitioned || index % 3 === 0,
      httpOnly: index % 5 === 0,
      expires: TOMORROW,
      ...(isPartitioned ? { partitionKey: { topLevelSite, hasCrossSiteAncestor: true } } : {}),
    };
  });
  await own.send('Storage.setCookies', { cookies });
  const read = await client.send('Storage.getCookies');
  assert.equal(read.cookies.length, 5000);
  await client.send('Storage.clearCookies');
  assert.deepEqual(await jarOf(own), []);
  await client.send('Storage.setCookies', { cookies: read.cookies });
  assert.deepEqual(await jarOf(own), comparable(read.cookies));
  await client.send('Storage.clearCookies');
  assert.deepEqual(await jarOf(own), []);
}

test('reads, copies and clears 5,000 cookies without attaching a tab', () => withBoth(copyMany));

test('does the same through a tab that a client uses', () =>
  withBoth(async (client, own) => {
    const session = await client.attach(shared.site.url('/'));
    await client.send('Runtime.evaluate', { expression: '1' }, session);
    await copyMany(client, own);
    await client.send('Target.detachFromTarget', { sessionId: session });
    await untilDetached(shared.chain);
  }));

test('clears cookies of all kinds', () =>
  withBoth(async (client, own) => {
    await own.send('Storage.setCookies', { cookies: COOKIES });
    await client.send('Storage.clearCookies');
    assert.deepEqual(await jarOf(own), []);
  }));

test('a dormant page answers for the profile without waking', () =>
  withBoth(async (client, own) => {
    const session = await client.attach(shared.site.url('/'));
    const cookie = { name: 'a', value: '1', domain: 'example.com' };
    const set = await client.send('Network.setCookie', cookie, session);
    assert.deepEqual(set, { success: true });
    const { cookies } = await client.send('Network.getAllCookies', {}, session);
    assert.deepEqual(comparable(cookies), await jarOf(own));
    assert.equal(cookies.length, 1);
    await client.send('Network.clearBrowserCookies', {}, session);
    assert.deepEqual(await jarOf(own), []);
  }));

/** Cookies of the page with a frame and of others, as far as the page is concerned. */
const OF_PAGE = [
  ...['/', '/a', '/same', '/cross', '/other'].flatMap((path) =>
    ['127.0.0.1', 'localhost'].map((domain) => ({ name: path, value: '1', domain, path })),
  ),
  { name: 'secure', value: '1', domain: '127.0.0.1', secure: true, httpOnly: true },
  { name: 'strict', value: '1', domain: 'localhost', sameSite: 'Strict' },
  { name: 'other', value: '1', domain: 'example.com' },
  { name: 'subdomains', value: '1', domain: '.example.com' },
  ...['http://127.0.0.1', 'http://localhost', 'https://top.example'].flatMap((topLevelSite) =>
    ['127.0.0.1', 'localhost', 'example.com'].flatMap((domain) =>
      [true, false].map((hasCrossSiteAncestor) => ({
        name: `of ${topLevelSite} ${hasCrossSiteAncestor}`,
        value: '1',
        domain,
        secure: true,
        partitionKey: { topLevelSite, hasCrossSiteAncestor },
      })),
    ),
  ),
];

test("a dormant page reads the cookies of its own addresses as Chromium's own port does", () =>
  withBoth(async (client, own) => {
    await own.send('Storage.setCookies', { cookies: OF_PAGE });
    const address = shared.site.url('/a/page');
    const [mine, theirs] = [await client.attach(address), await own.attach(address)];
    for (const urls of [
      undefined,
      [],
      [shared.site.url('/')],
      ['https://www.example.com/', 'http://example.com/', address, address],
      ['nonsense', 'about:blank', 'data:text/html,', 'ws://example.com/', 'file:///tmp'],
    ]) {
      const [{ cookies }, { cookies: expected }] = [
        await client.send('Network.getCookies', { urls }, mine),
        await own.send('Network.getCookies', { urls }, theirs),
      ];
      assert.deepEqual(comparable(cookies), comparable(expected), String(urls));
    }
    const [bad, refused] = [
      await client.request('Network.getCookies', { urls: 'https://example.com/' }, mine),
      await own.request('Network.getCookies', { urls: 'https://example.com/' }, theirs),
    ];
    assert.deepEqual(
      [bad.error.code, bad.error.message],
      [refused.error.code, refused.error.message],
    );
    await own.send('Target.detachFromTarget', { sessionId: theirs });
  }));

test("a dormant page deletes the same cookies as Chromium's own port", () =>
  withBoth(async (client, own) => {
    const address = shared.site.url('/a/page');
    const [mine, theirs] = [await client.attach(address), await own.attach(address)];
    const name = 'a';
    const cookies = [
      { name, value: '1', domain: 'example.com' },
      { name, value: '1', domain: 'example.com', path: '/x' },
      { name, value: '1', domain: '.example.com' },
      { name, value: '1', domain: 'www.example.com' },
      { name, value: '1', domain: 'example.com', secure: true, partitionKey: PARTITION },
      { name: 'b', value: '1', domain: 'example.com' },
    ];
    for (const params of [
      { name, domain: 'example.com' },
      { name, domain: '.example.com' },
      { name, domain: 'example.com', path: '/x' },
      { name, domain: 'example.com', path: '/y' },
      { name, url: 'https://example.com/x/y' },
      { name, url: 'https://www.example.com/', domain: 'example.com' },
      { name, domain: 'example.com', partitionKey: PARTITION },
      { name, domain: 'example.com', partitionKey: { ...PARTITION, hasCrossSiteAncestor: false } },
      { name: 'none', domain: 'example.com' },
      { name },
      { name, url: 'about:blank' },
      { name, url: 'nonsense' },
      { name, url: '' },
      { name, domain: '' },
      { domain: 'example.com' },
      { name: 7, domain: 'example.com' },
      { name, domain: 'example.com', partitionKey: 'https://top.example' },
    ]) {
      const results = [];
      for (const [side, session] of [
        [own, theirs],
        [client, mine],
      ]) {
        await own.send('Storage.setCookies', { cookies });
        const { error } = await side.request('Network.deleteCookies', params, session);
        results.push([error?.code, error?.message, await jarOf(own)]);
        await own.send('Storage.clearCookies');
      }
      assert.deepEqual(results[1], results[0], JSON.stringify(params));
    }
    await own.send('Target.detachFromTarget', { sessionId: theirs });
  }));

test('Playwright reads, adds and clears cookies, and attaches nothing', () =>
  shared.withPlaywright(async ({ context }) => {
    const cookie = { name: 'a', value: '1', domain: 'example.com', path: '/' };
    await context.addCookies([
      cookie,
      { ...cookie, name: 'b', domain: '.example.com', secure: true, sameSite: 'None' },
      { name: 'c', value: '1', url: 'https://other.example/' },
    ]);
    const names = async (...urls) => (await context.cookies(...urls)).map(({ name }) => name);
    assert.deepEqual((await names()).sort(), ['a', 'b', 'c']);
    assert.deepEqual(await names('https://other.example/'), ['c']);
    await context.clearCookies({ name: 'b' });
    assert.deepEqual((await names()).sort(), ['a', 'c']);
    await context.clearCookies();
    assert.deepEqual(await names(), []);
    assert.deepEqual(await attachedUrls(shared.chain), []);
  }));

test("storageState has the cookies of Chromium's own port, and attaches nothing", async () => {
  const stateOf = async (context) => {
    const { cookies, origins } = await context.storageState();
    return { cookies: cookies.sort((a, b) => a.name.localeCompare(b.name)), origins };
  };
  const own = await connectRaw(shared.chain.chromium.ownUrl);
  await own.send('Storage.setCookies', { cookies: COOKIES });
  const expected = await onOwnPort(shared.chain, (_browser, context) => stateOf(context));
  assert.equal(expected.cookies.length, COOKIES.length - 1);
  await shared.withPlaywright(async ({ context }) => {
    assert.deepEqual(await stateOf(context), expected);
    assert.deepEqual(await attachedUrls(shared.chain), []);
  });
  await own.send('Storage.clearCookies');
  await own.close();
});

test('Puppeteer reads, sets and deletes cookies of the browser, and attaches nothing', () =>
  shared.withPuppeteer(async (browser) => {
    await browser.setCookie({ name: 'a', value: '1', domain: 'example.com' });
    const cookies = await browser.cookies();
    assert.deepEqual(
      cookies.map(({ name }) => name),
      ['a'],
    );
    await browser.setCookie(...cookies);
    await browser.deleteCookie(...cookies);
    assert.deepEqual(await browser.cookies(), []);
    assert.deepEqual(await attachedUrls(shared.chain), []);
  }));
