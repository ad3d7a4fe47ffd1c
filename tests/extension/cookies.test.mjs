/** Cookies of the profile: their form in CDP, and what is passed to Chrome. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeBrowser } from './fake_chrome.mjs';
import { newWorker } from './worker.mjs';

async function start(...cookies) {
  const browser = new FakeBrowser();
  browser.cookies = cookies;
  const load = newWorker(browser);
  const { runCommand } = await load('commands.js');
  const run = (method, params, tabId) => runCommand('browserCommand', { method, params, tabId });
  return { browser, run, load };
}

const stored = (fields) => ({
  name: 'a',
  value: '1',
  domain: 'example.org',
  hostOnly: true,
  path: '/',
  secure: false,
  httpOnly: false,
  sameSite: 'unspecified',
  session: true,
  storeId: '0',
  ...fields,
});

/** What Chrome gets to set for this cookie. */
async function detailsOf(cookie) {
  const { browser, run } = await start();
  await run('Storage.setCookies', { cookies: [cookie] });
  return browser.callsTo('cookies.set')[0][0];
}

/** The error for these cookies. Chrome must not have set any of them. */
async function errorOf(...cookies) {
  const { browser, run } = await start();
  const error = await run('Storage.setCookies', { cookies }).then(
    () => assert.fail('accepted'),
    ({ message }) => JSON.parse(message),
  );
  assert.deepEqual(browser.callsTo('cookies.set'), []);
  return error;
}

test('reports all attributes of a cookie, and of partitioned ones', async () => {
  const partitionKey = { topLevelSite: 'https://top.example', hasCrossSiteAncestor: true };
  const { browser, run } = await start(
    stored({}),
    stored({
      name: 'b',
      value: 'ü€',
      domain: '.example.org',
      hostOnly: false,
      path: '/x',
      secure: true,
      httpOnly: true,
      sameSite: 'no_restriction',
      session: false,
      expirationDate: 1795088173.5,
      partitionKey,
    }),
  );
  const { cookies } = await run('Storage.getCookies');
  const unknown = { priority: 'Medium', sourceScheme: 'Unset', sourcePort: -1 };
  assert.deepEqual(cookies, [
    {
      name: 'a',
      value: '1',
      domain: 'example.org',
      path: '/',
      expires: -1,
      size: 2,
      httpOnly: false,
      secure: false,
      session: true,
      ...unknown,
    },
    {
      name: 'b',
      value: 'ü€',
      domain: '.example.org',
      path: '/x',
      expires: 1795088173.5,
      size: 6,
      httpOnly: true,
      secure: true,
      session: false,
      sameSite: 'None',
      ...unknown,
      partitionKey,
    },
  ]);
  assert.deepEqual(browser.callsTo('cookies.getAll'), [[{ partitionKey: {} }]]);
});

test('a domain with a leading dot includes its subdomains, any other is one host', async () => {
  assert.deepEqual(await detailsOf({ name: 'a', value: '1', domain: 'example.org' }), {
    url: 'http://example.org/',
    name: 'a',
    value: '1',
    path: '/',
    secure: false,
    httpOnly: false,
    sameSite: 'unspecified',
  });
  const { url, domain } = await detailsOf({ name: 'a', value: '1', domain: '.example.org' });
  assert.deepEqual({ url, domain }, { url: 'http://example.org/', domain: '.example.org' });
});

test('an https address makes a cookie secure, and its port and path do not matter', async () => {
  const cookie = { name: 'a', value: '1', url: 'https://example.org:8443/x/y' };
  const { url, secure, path } = await detailsOf(cookie);
  assert.deepEqual({ url, secure, path }, { url: 'https://example.org/', secure: true, path: '/' });
});

test('sets what a client that copies cookies has read', async () => {
  const { browser, run } = await start(
    stored({ secure: true, sameSite: 'lax', session: false, expirationDate: 4102444800 }),
  );
  const before = structuredClone(browser.cookies);
  const { cookies } = await run('Storage.getCookies');
  browser.cookies = [];
  await run('Storage.setCookies', { cookies });
  assert.deepEqual(browser.cookies, before);
});

test('the source of a cookie is part of the address that Chrome gets', async () => {
  const source = { secure: true, sourceScheme: 'Secure', sourcePort: 8443 };
  const { url } = await detailsOf({ name: 'a', value: '1', domain: 'example.org', ...source });
  assert.equal(url, 'https://example.org:8443/');
});

test('passes expiry and partition on', async () => {
  const partitionKey = { topLevelSite: 'https://top.example', hasCrossSiteAncestor: true };
  const cookie = { name: 'a', value: '1', domain: 'example.org', expires: 99, partitionKey };
  const details = await detailsOf(cookie);
  assert.deepEqual([details.expirationDate, details.partitionKey], [99, partitionKey]);
});

test('rejects cookies without a host, with the words of Chrome, before it sets any', async () => {
  const good = { name: 'a', value: '1', domain: 'example.org' };
  for (const bad of [{ url: 'ftp://x' }, { url: 'about:blank' }, {}]) {
    const error = await errorOf(good, { name: 'b', value: '1', ...bad });
    assert.deepEqual([error.code, error.message], [-32602, 'Invalid cookie fields']);
    assert.match(error.data, /"b"/);
  }
});

test('rejects fields of the wrong type', async () => {
  for (const bad of [
    { value: 1, domain: 'example.org' },
    { value: '1', domain: 7 },
    { value: '1', domain: 'example.org', expires: 'soon' },
    { value: '1', domain: 'example.org', partitionKey: 'https://top.example' },
  ]) {
    const error = await errorOf({ name: 'a', ...bad });
    assert.deepEqual([error.code, error.message], [-32602, 'Invalid parameters']);
  }
});

test('does not pretend to set a priority', async () => {
  const cookie = { name: 'a', value: '1', domain: 'example.org', priority: 'High' };
  assert.match((await errorOf(cookie)).message, /"a" cannot have the priority High/);
});

test('reports cookies that Chrome does not accept, and how many were set', async () => {
  const { browser, run } = await start();
  const cookies = ['a', 'b;', 'c'].map((name) => ({ name, value: '1', domain: 'example.org' }));
  await assert.rejects(run('Storage.setCookies', { cookies }), ({ message }) => {
    assert.deepEqual(JSON.parse(message), {
      code: -32602,
      message: 'Invalid cookie fields',
      data: 'http://example.org/: Failed to parse or set cookie named "b;". The other 2 cookies were set.',
    });
    return true;
  });
  assert.deepEqual(
    browser.cookies.map(({ name }) => name),
    ['a', 'c'],
  );
});

test('clears all cookies, one by one only where Chrome keeps one', async () => {
  const partitionKey = { topLevelSite: 'https://top.example' };
  const { browser, run } = await start(
    stored({}),
    stored({ name: 'b', domain: '.example.org', hostOnly: false, secure: true }),
    stored({ name: 'c', partitionKey, secure: true }),
    stored({ name: 'kept;' }),
  );
  assert.equal(await run('Storage.clearCookies'), undefined);
  assert.deepEqual(browser.cookies, []);
  assert.deepEqual(browser.callsTo('cookies.remove'), [
    [{ url: 'http://example.org/', name: 'kept;' }],
  ]);
});

test('deletes exactly the cookies that are named', async () => {
  const partitionKey = { topLevelSite: 'https://top.example', hasCrossSiteAncestor: true };
  const others = [
    stored({ name: 'b' }),
    stored({ domain: '.example.org', hostOnly: false }),
    stored({ path: '/x' }),
    stored({ partitionKey, secure: true }),
  ];
  const { browser, run } = await start(stored({}), ...others);
  const place = { name: 'a', url: 'https://example.org/', path: '/' };
  assert.equal(await run('Network.deleteCookies', place), undefined);
  assert.deepEqual(browser.cookies, others);
  await run('Network.deleteCookies', { name: 'a', domain: 'example.org', partitionKey });
  assert.deepEqual(browser.cookies, others.slice(0, 3));
});

test('reads the cookies of a page and its frames, once, and in the partition of the page', async () => {
  const partitioned = (topLevelSite, hasCrossSiteAncestor) =>
    stored({
      name: `${topLevelSite} ${hasCrossSiteAncestor}`,
      secure: true,
      partitionKey: { topLevelSite, hasCrossSiteAncestor },
    });
  const { browser, run } = await start(
    stored({}),
    ...['https://top.example', 'https://p.example', 'http://top.example'].flatMap((site) => [
      partitioned(site, true),
      partitioned(site, false),
    ]),
  );
  browser.openTab({ id: 1, url: 'https://www.top.example/' });
  browser.stub('webNavigation.getAllFrames', () => [
    { frameId: 0, url: 'https://www.top.example/' },
    { frameId: 1, url: 'about:blank' },
    { frameId: 2, url: 'wss://other.example/' },
  ]);
  const { cookies } = await run('Network.getCookies', {}, 1);
  const names = cookies.map(({ name }) => name).sort();
  assert.deepEqual(names, ['a', 'https://top.example false', 'https://top.example true']);
  const asked = new Set(browser.callsTo('cookies.getAll').map(([{ url }]) => url));
  assert.deepEqual([...asked], ['https://www.top.example/', 'https://other.example/']);
  const { cookies: ofOther } = await run('Network.getCookies', { urls: ['https://b.example'] }, 1);
  assert.equal(ofOther.length, 2, 'an address of another site, in the partition of the page');
});

test('reports cookies that cannot be cleared', async () => {
  const { browser, run } = await start(stored({ name: 'kept;' }));
  browser.stub('cookies.remove', () => {});
  await assert.rejects(run('Network.clearBrowserCookies'), /1 of 1 cookies could not be removed/);
});

test('serves the commands of a page, too', async () => {
  const { browser, run } = await start();
  const cookie = { name: 'a', value: '1', domain: 'example.org' };
  assert.deepEqual(await run('Network.setCookie', cookie), { success: true });
  await run('Network.setCookies', { cookies: [{ ...cookie, name: 'b' }] });
  assert.equal((await run('Network.getAllCookies')).cookies.length, 2);
  assert.equal(browser.cookies.length, 2);
});

test('rejects a command that it does not have', async () => {
  const { run } = await start();
  for (const method of ['Browser.crash', 'toString']) {
    await assert.rejects(run(method), { message: `Unknown command: ${method}` });
  }
});

test('changes many cookies at once through a debugger that is attached anyway', async () => {
  const cookies = Array.from({ length: 60 }, (_, index) => ({
    name: `name${index}`,
    value: '1',
    domain: 'example.org',
  }));
  const { browser, run, load } = await start(stored({}));
  browser.openTab({ id: 1, url: 'https://example.org/' });
  const commands = () => browser.callsTo('debugger.sendCommand').map(([, method]) => method);
  await run('Storage.setCookies', { cookies });
  assert.deepEqual(commands(), [], 'none is attached for it');
  assert.equal(browser.callsTo('cookies.set').length, 60);
  const { attach } = await load('attachments.js');
  await attach(1);
  await run('Storage.setCookies', { cookies });
  await run('Storage.setCookies', { cookies: cookies.slice(0, 2) });
  await run('Storage.clearCookies', {});
  assert.deepEqual(commands(), ['Network.setCookies', 'Network.clearBrowserCookies']);
  assert.equal(browser.callsTo('cookies.set').length, 62, 'few are set one by one');
  // What the debugger refuses is tried one by one, which tells what is wrong.
  browser.stub('debugger.sendCommand', () => {
    throw new Error('Invalid cookie fields');
  });
  await run('Storage.setCookies', { cookies });
  assert.equal(browser.callsTo('cookies.set').length, 122);
  await run('Storage.clearCookies', {});
  assert.deepEqual(browser.cookies, []);
});
