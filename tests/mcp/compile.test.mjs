/** Compiling an agent's code: its value, whether it needs a page, and the position of syntax errors. */

import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';

import { runnerFolder } from '../harness/agent.mjs';

const { compile } = await import(path.join(await runnerFolder(), 'compile.mjs'));
const valueOf = (code) => compile(code).script.runInThisContext();

test('needs a page unless the code sets or declares `page` before it reads it', () => {
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

test('returns the last value, even before empty statements, and treats trailing braces as an object', async () => {
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

test('shows line and caret of code that only V8 rejects', () => {
  for (const [code, expected] of [
    ['let await = 1', 'line 1, column 5:\n  let await = 1\n      ^'],
    ['const x = 1;\n  let await = x', 'line 2, column 7:\n    let await = x\n        ^'],
    ['{ a: 1, b: }', 'line 1, column 10:'],
  ]) {
    assert.throws(
      () => compile(code),
      (error) => error.name === 'SyntaxError' && error.message.includes(expected),
      code,
    );
  }
});
