/** The icon, badge and tooltip of the toolbar button. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describe, showBadge } from '../../extension/badge.js';
import { FakeBrowser } from './fake_chrome.mjs';

const [GREEN, AMBER, RED, GREY] = ['#1a7f4b', '#b3540a', '#b42318', '#6b7280'];

const shown = (state, tabsInUse = 0) => {
  const { text, color, title } = describe(state, tabsInUse);
  return [text, color, title];
};

test('shows "on" when connected with no tabs in use', () => {
  assert.deepEqual(shown('connected'), ['on', GREEN, 'Tabwire: connected']);
});

test('shows the number of tabs in use', () => {
  assert.deepEqual(shown('connected', 1), ['1', AMBER, 'Tabwire: 1 tab in use']);
  assert.deepEqual(shown('connected', 3), ['3', AMBER, 'Tabwire: 3 tabs in use']);
});

test('shows that agents are paused, while a relay is connected', () => {
  assert.equal(describe('connected', 0, true).text, 'II');
  assert.match(describe('connected', 0, true).title, /paused.*Resume/);
  assert.equal(describe('offline', 0, true).text, '');
});

test('shows "off" when turned off', () => {
  assert.deepEqual(shown('stopped'), ['off', GREY, 'Tabwire: turned off']);
});

test('shows no text without a relay, even if tabs are still attached', () => {
  for (const state of ['offline', 'connecting']) {
    assert.deepEqual(shown(state, 2), ['', GREY, 'Tabwire: not connected']);
  }
});

test('warns in red only about a program that is not the relay', () => {
  assert.deepEqual(shown('impostor').slice(0, 2), ['!', RED]);
  for (const state of ['notPaired', 'rejected', 'otherVersion']) {
    assert.deepEqual(shown(state).slice(0, 2), ['!', AMBER], state);
  }
});

test('shows no text while another browser is connected', () => {
  for (const state of ['busy', 'replaced']) {
    assert.deepEqual(shown(state), ['', GREY, 'Tabwire: another browser is connected']);
  }
});

test('has a colored icon only when connected', () => {
  const states = ['stopped', 'connecting', 'offline', 'notPaired', 'rejected', 'busy', 'replaced'];
  for (const state of [...states, 'otherVersion', 'impostor']) {
    assert.equal(describe(state, 1).isColored, false, state);
  }
  assert.equal(describe('connected', 0).isColored, true);
});

test('sets icon, text, colors and title of the button', () => {
  const browser = new FakeBrowser();
  globalThis.chrome = browser.chrome;
  const { text, color, title } = describe('connected', 2);
  showBadge(describe('connected', 2));
  assert.deepEqual(browser.calls, [
    ['action.setIcon', { path: { 16: '/icon-16.png', 32: '/icon-32.png' } }],
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
  showBadge(describe('stopped', 0));
  assert.deepEqual(browser.callsTo('action.setBadgeText'), [[{ text: 'off' }]]);
  assert.deepEqual(browser.callsTo('action.setIcon')[0][0].path[16], '/icon-grey-16.png');
});
