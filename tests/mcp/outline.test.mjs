/** The text of snapshots, made from trees like those of Playwright. */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { compact, showLine, toLines } from '../../mcp-client/runner/outline.mjs';

const linesOf = (...nodes) => toLines(compact(nodes)).map(showLine);

test('a sentence with emphasized words is one text, and paragraphs are not joined', () => {
  const paragraphs = [
    { role: 'paragraph', children: ['Price:', { role: 'strong', text: '€17' }, '.'] },
    { role: 'paragraph', children: [{ role: 'emphasis', text: 'Only' }, 'today'] },
    { role: 'paragraph', text: 'In stock' },
  ];
  assert.deepEqual(linesOf(...paragraphs), ['"Price: €17."', '"Only today"', '"In stock"']);
});

test('an emphasized link keeps its line and its ref', () => {
  const link = { role: 'link', name: 'here', ref: 'e3' };
  assert.deepEqual(linesOf('Click', { role: 'strong', children: [link] }, 'to go on'), [
    '"Click"',
    'link "here" [ref=e3]',
    '"to go on"',
  ]);
});

test('one element in another is one line', () => {
  const picture = { role: 'img', name: 'Lamp' };
  const link = { role: 'link', name: 'Lamp', ref: 'e5' };
  assert.deepEqual(
    linesOf(
      { role: 'link', ref: 'e4', children: [picture] },
      { role: 'heading', level: 3, children: [link] },
      { role: 'list', children: [link, link] },
    ),
    [
      'link [ref=e4]: img "Lamp"',
      'heading [level=3]: link "Lamp" [ref=e5]',
      'list:',
      '  link "Lamp" [ref=e5]',
      '  link "Lamp" [ref=e5]',
    ],
  );
});
