/** Rules about which module may use what, checked against the source text. */

import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { test } from 'node:test';

const EXTENSION = new URL('../../extension/', import.meta.url);

const sources = new Map();
for (const file of await readdir(EXTENSION)) {
  if (file.endsWith('.js')) {
    sources.set(file, await readFile(new URL(file, EXTENSION), 'utf8'));
  }
}

const modulesMatching = (pattern) =>
  [...sources].filter(([, source]) => pattern.test(source)).map(([file]) => file);

const importsOf = (file) =>
  [...sources.get(file).matchAll(/^import .*?from '\.\/(.*?)';$/gms)].map(([, name]) => name);

test('only attachments.js uses chrome.debugger', () => {
  assert.deepEqual(modulesMatching(/chrome\s*\??\.\s*debugger\b|\bchrome\[/), ['attachments.js']);
});

test('only downloads.js uses chrome.downloads', () => {
  assert.deepEqual(modulesMatching(/\bchrome\.downloads\.[a-zA-Z]+[.(]/), ['downloads.js']);
});

test('no module hides chrome behind another name', () => {
  assert.deepEqual(modulesMatching(/=\s*(globalThis\.)?chrome\s*[;,)]|{[^}]*}\s*=\s*chrome\b/), []);
});

test('only tab_events.js and the popup listen to tabs', () => {
  const listening = /chrome\.(tabs\.on[A-Z]|webNavigation(?!\.(getAllFrames|GetAll)))/;
  assert.deepEqual(modulesMatching(listening).sort(), ['popup_tabs.js', 'tab_events.js']);
});

test('modules without Chrome APIs stay that way', () => {
  for (const file of [
    'base64url.js',
    'cpu_throttle.js',
    'dial.js',
    'frames.js',
    'handshake.js',
    'policy.js',
    'protocol.js',
    'relay_link.js',
    'status_text.js',
    'tab_state.js',
  ]) {
    const code = sources.get(file).replace(/\/\*.*?\*\/|\/\/.*$/gms, '');
    assert.doesNotMatch(code, /\bchrome\./, file);
  }
});

test('only dial.js opens a socket', () => {
  assert.deepEqual(modulesMatching(/new WebSocket\b/), ['dial.js']);
});

test('handshake.js has no sockets and no timers', () => {
  assert.doesNotMatch(sources.get('handshake.js'), /WebSocket|setTimeout|\bfetch\(/);
});

test('the folder has no subfolders, which a folder picker could end up in', async () => {
  const entries = await readdir(EXTENSION, { withFileTypes: true });
  assert.deepEqual(
    entries.filter((entry) => entry.isDirectory()).map(({ name }) => name),
    [],
  );
});

test('imports have no cycles, and nothing imports background.js', () => {
  const visit = (file, path) => {
    assert.ok(!path.includes(file), [...path, file].join(' → '));
    importsOf(file).forEach((imported) => visit(imported, [...path, file]));
  };
  for (const file of sources.keys()) {
    visit(file, []);
    assert.ok(!importsOf(file).includes('background.js'), file);
  }
});
