/** The badge and tooltip of the toolbar button. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describe, showBadge } from '../../extension/badge.js';
import { FakeBrowser } from './fake_chrome.mjs';

test('shows "on" when connected with no tabs in use', () => {
  const [text, , title] = describe('connected', 0);
  assert.deepEqual([text, title], ['on', 'Tabwire: connected']);
});

test('shows the number of tabs in use', () => {
  assert.deepEqual(
    [describe('connected', 1)[0], describe('connected', 1)[2]],
    ['1', 'Tabwire: 1 tab in use'],
  );
  assert.deepEqual(
    [describe('connected', 3)[0], describe('connected', 3)[2]],
    ['3', 'Tabwire: 3 tabs in use'],
  );
});

test('shows "off" when turned off', () => {
  const [text, , title] = describe('stopped', 0);
  assert.deepEqual([text, title], ['off', 'Tabwire: turned off']);
});

test('shows no text without a relay, even if tabs are still attached', () => {
  for (const state of ['offline', 'connecting']) {
    const [text, , title] = describe(state, 2);
    assert.deepEqual([text, title], ['', 'Tabwire: not connected']);
  }
});

test('uses different colours for in use, idle and off', () => {
  const colours = [
    describe('connected', 1)[1],
    describe('connected', 0)[1],
    describe('stopped', 0)[1],
  ];
  assert.equal(new Set(colours).size, 3);
});

test('sets text, colours and title of the button', () => {
  const browser = new FakeBrowser();
  globalThis.chrome = browser.chrome;
  showBadge('connected', 2);
  const [text, color, title] = describe('connected', 2);
  assert.deepEqual(browser.calls, [
    ['action.setBadgeText', { text }],
    ['action.setBadgeBackgroundColor', { color }],
    ['action.setBadgeTextColor', { color: '#ffffff' }],
    ['action.setTitle', { title }],
  ]);
});

test('works in a browser without setBadgeTextColor', () => {
  const browser = new FakeBrowser();
  delete browser.chrome.action.setBadgeTextColor;
  globalThis.chrome = browser.chrome;
  showBadge('stopped', 0);
  assert.deepEqual(browser.callsTo('action.setBadgeText'), [[{ text: 'off' }]]);
});
