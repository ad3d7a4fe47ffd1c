/** Which pages stay the person's alone. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isRestricted } from '../../extension/policy.js';

test("the browser's own pages are restricted", () => {
  const own = [
    'chrome://settings/',
    'chrome://newtab/',
    'chrome-untrusted://print/',
    'chrome-error://chromewebdata/',
    'chrome-search://local-ntp/',
    'edge://flags',
    'brave://rewards',
    'vivaldi://settings',
    'about:version',
    'about:blankets',
  ];
  for (const url of own) {
    assert.equal(isRestricted(url), true, url);
  }
});

test('other extensions, developer tools and page sources are restricted', () => {
  const kept = [
    'chrome-extension://jdnijfjfenoiidgbdaeakppincocjdkn/popup.html',
    'devtools://devtools/bundled/inspector.html',
    'view-source:https://example.org/',
    'isolated-app://app/',
  ];
  for (const url of kept) {
    assert.equal(isRestricted(url), true, url);
  }
});

test('the web store is restricted at its old and its new address', () => {
  assert.equal(isRestricted('https://chromewebstore.google.com/detail/x/y'), true);
  assert.equal(isRestricted('https://chrome.google.com/webstore/category/extensions'), true);
  assert.equal(isRestricted('https://chrome.google.com/webstore'), true);
});

test('neighbours of the web store are not restricted', () => {
  for (const url of [
    'https://chrome.google.com/',
    'https://www.google.com/webstore',
    'https://chromewebstore.google.com.example.org/',
  ]) {
    assert.equal(isRestricted(url), false, url);
  }
});

test('an empty page is not restricted, whether it has an address yet or not', () => {
  for (const url of [undefined, '', 'about:blank', 'about:blank#x', 'about:srcdoc']) {
    assert.equal(isRestricted(url), false, url);
  }
});

test('ordinary pages are not restricted, whatever their address contains', () => {
  const ordinary = [
    'https://example.org/',
    'http://127.0.0.1:8080/',
    'file:///home/x/page.html',
    'data:text/html,<p>x',
    'blob:https://example.org/1',
    'https://example.org/?url=chrome://settings',
  ];
  for (const url of ordinary) {
    assert.equal(isRestricted(url), false, url);
  }
});

test('an address is read as Chrome reads it: neither capitals nor spaces get a restricted page through', () => {
  for (const url of [
    'CHROME://settings/',
    ' chrome://settings/',
    'View-Source:https://example.org/',
    'HTTPS://ChromeWebStore.Google.com/x',
  ]) {
    assert.equal(isRestricted(url), true, url);
  }
});

test('what is no address is restricted, because Chrome would look for it inside this extension', () => {
  for (const url of ['popup.html', 'example.org', '/x', 'http://']) {
    assert.equal(isRestricted(url), true, url);
  }
});
