/** Which pages are restricted, and where tabs may not be navigated. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkNavigation, isRestricted } from '../../extension/policy.js';

test("restricts the browser's own pages", () => {
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
    'about:blank/x',
  ];
  for (const url of own) {
    assert.equal(isRestricted(url), true, url);
  }
});

test('restricts other extensions, DevTools and view-source', () => {
  const restricted = [
    'chrome-extension://jdnijfjfenoiidgbdaeakppincocjdkn/popup.html',
    'devtools://devtools/bundled/inspector.html',
    'view-source:https://example.org/',
    'isolated-app://app/',
  ];
  for (const url of restricted) {
    assert.equal(isRestricted(url), true, url);
  }
});

test('restricts the old and the new web store', () => {
  assert.equal(isRestricted('https://chromewebstore.google.com/detail/x/y'), true);
  assert.equal(isRestricted('https://chrome.google.com/webstore/category/extensions'), true);
  assert.equal(isRestricted('https://chrome.google.com/webstore'), true);
});

test('allows similar URLs outside the web store', () => {
  for (const url of [
    'https://chrome.google.com/',
    'https://www.google.com/webstore',
    'https://chromewebstore.google.com.example.org/',
  ]) {
    assert.equal(isRestricted(url), false, url);
  }
});

test('allows empty pages, with or without a URL', () => {
  for (const end of ['', '#x', '?x', '?x#y']) {
    assert.equal(isRestricted(`about:blank${end}`), false, end);
  }
  for (const url of [undefined, '', 'about:srcdoc']) {
    assert.equal(isRestricted(url), false, url);
  }
});

test('allows ordinary pages, whatever their URL contains', () => {
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

test('parses URLs like Chrome: capitals and spaces do not bypass the check', () => {
  for (const url of [
    'CHROME://settings/',
    ' chrome://settings/',
    'View-Source:https://example.org/',
    'HTTPS://ChromeWebStore.Google.com/x',
  ]) {
    assert.equal(isRestricted(url), true, url);
  }
});

test('restricts relative URLs, which Chrome would resolve inside this extension', () => {
  for (const url of ['popup.html', 'example.org', '/x', 'http://']) {
    assert.equal(isRestricted(url), true, url);
  }
});

test('refuses to navigate where Chrome would crash', () => {
  for (const url of ['about:version', 'about:blank#x', 'about:blank?x#y', 'about:blank#']) {
    assert.throws(() => checkNavigation(url), /^Error: Cannot navigate to about:/, url);
  }
  for (const url of ['about:blank', 'about:blank?x', 'https://x/#y', 'x', undefined]) {
    checkNavigation(url);
  }
});
