/** What is made of an agent's code before it runs: its value, whether it needs a page, and where it is no code. */

import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';

import { runnerFolder } from '../harness/agent.mjs';

const { compile } = await import(path.join(await runnerFolder(), 'compile.mjs'));
const valueOf = (code) => compile(code).script.runInThisContext();

test('a page is needed unless the code is certain to have set it, or has one of its own', () => {
  for (const [code, needsPage] of [
    ['page.url()', true],
    ['pages().length', false],
    ['page = pages()[0]; page.url()', false],
    ['page = page ?? pages()[0]', true],
    ['if (found) page = found; await page.goto(url)', true],
    ['if (found) { page = found }\npage.url()', true],
    ['found && (page = found); page.url()', true],
    ['for (const found of pages()) page = found; page.url()', true],
    ['try { page = pages()[9] } catch {} page.url()', true],
    ['function use(other) { page = other }\nawait page.title()', true],
    ['const use = (other) => { page = other }; use(pages()[0])', false],
    ['page ??= pages()[0]', true],
    ['pages().find((page) => page.url())', false],
    ['for (const page of pages()) { page.url() }', false],
    ['const page = pages()[0]; page.url()', false],
    ['state.page', false],
    ['({ page: 1 })', false],
    ['({ page })', true],
  ]) {
    assert.equal(compile(code).needsPage, needsPage, code);
  }
});

test('the last value is what comes back, also before empty statements, and braces are a value if they can be', async () => {
  for (const [code, value] of [
    ['1;;', 1],
    ['1;\n;\n// the end', 1],
    ['{ a: 1 }', { a: 1 }],
    ['{ a: 1, b: 2 }', { a: 1, b: 2 }],
    ['{ a: 1, b: 2 };\n', { a: 1, b: 2 }],
    [
      'const a = 1;\n{ a, b: await Promise.resolve({ c: [{ d: 2 },\n{ d: 3 }] }) } // both',
      { a: 1, b: { c: [{ d: 2 }, { d: 3 }] } },
    ],
    ['{}', {}],
    ['{ Math.max(1, 2); }', undefined],
    ['if (true)\n{ 5 }', undefined],
    ['const a = 5; const f = () => a\n{ a }', { a: 5 }],
    ['#!/usr/bin/env -S tabwire exec\n5', 5],
  ]) {
    assert.deepEqual(await valueOf(code), value, code);
  }
});

test('what the parser takes and V8 refuses is told with line and caret too', () => {
  for (const [code, words] of [
    ['let await = 1', 'line 1, column 5:\n  let await = 1\n      ^'],
    ['const x = 1;\n  let await = x', 'line 2, column 7:\n    let await = x\n        ^'],
    ['{ a: 1, b: }', 'line 1, column 10:'],
  ]) {
    assert.throws(
      () => compile(code),
      (error) => error.name === 'SyntaxError' && error.message.includes(words),
      code,
    );
  }
});
