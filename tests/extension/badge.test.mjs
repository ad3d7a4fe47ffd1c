/** What the button says. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describe, showBadge } from '../../extension/badge.js';
import { FakeBrowser } from './fake_chrome.mjs';

test('a relay without tabs in use shows "on"', () => {
  const [text, , title] = describe('connected', 0);
  assert.deepEqual([text, title], ['on', 'Tabwire: connected']);
});

test('tabs in use are counted, and the words agree with the count', () => {
  assert.deepEqual(
    [describe('connected', 1)[0], describe('connected', 1)[2]],
    ['1', 'Tabwire: 1 tab is in use'],
  );
  assert.deepEqual(
    [describe('connected', 3)[0], describe('connected', 3)[2]],
    ['3', 'Tabwire: 3 tabs are in use'],
  );
});

test('switched off says so', () => {
  const [text, , title] = describe('stopped', 0);
  assert.deepEqual([text, title], ['off', 'Tabwire: switched off']);
});

test('without a relay nothing is claimed, however many tabs still have the debugger', () => {
  for (const state of ['offline', 'connecting']) {
    const [text, , title] = describe(state, 2);
    assert.deepEqual([text, title], ['', 'Tabwire: no relay is running']);
  }
});

test('in use, idle and off differ in colour', () => {
  const colours = [
    describe('connected', 1)[1],
    describe('connected', 0)[1],
    describe('stopped', 0)[1],
  ];
  assert.equal(new Set(colours).size, 3);
});

test('the button gets text, colours and title', () => {
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

test('a browser that cannot colour the text of a badge is served too', () => {
  const browser = new FakeBrowser();
  delete browser.chrome.action.setBadgeTextColor;
  globalThis.chrome = browser.chrome;
  showBadge('stopped', 0);
  assert.deepEqual(browser.callsOf('action.setBadgeText'), [[{ text: 'off' }]]);
});
