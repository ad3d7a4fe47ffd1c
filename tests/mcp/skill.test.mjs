/** The skill for agents describes the tool as it is: every name, option and command in it exists, and no name is missing. */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';

import { useAgent } from '../harness/agent.mjs';
import { useChain } from '../harness/chain.mjs';
import { ROOT, TABWIRE } from '../harness/processes.mjs';

const skill = await readFile(path.join(ROOT, 'skills/tabwire/SKILL.md'), 'utf8');
const [, frontMatter, body] = /^---\n(.*?)\n---\n(.*)$/s.exec(skill);
/** The rows of the table of names: the first cell and the second. */
const rows = [...body.matchAll(/^\| (`.*?) \| (.*) \|$/gm)].map(([, names, text]) => ({
  names,
  text,
}));
const codeIn = (text) => [...text.matchAll(/`([^`]+)`/g)].map(([, code]) => code);
const helpOf = async (...command) =>
  (await promisify(execFile)(TABWIRE, [...command, '--help'])).stdout;

const shared = useChain();
const agent = useAgent(shared);

test('its front matter is what agents expect', () => {
  const fields = Object.fromEntries(frontMatter.split('\n').map((line) => line.split(/: (.*)/s)));
  assert.deepEqual(Object.keys(fields), ['name', 'description']);
  assert.equal(fields.name, 'tabwire');
  assert.ok(fields.description.length > 100 && fields.description.length <= 1024);
});

test('it lists the names in scope, all of them and no others', async () => {
  const { text } = await agent.run('Object.keys(globalThis)');
  const listed = rows.flatMap(({ names }) => codeIn(names).map((name) => /^\w+/.exec(name)[0]));
  assert.deepEqual([...new Set(listed)].sort(), JSON.parse(text).sort());
});

test('it names every option of the functions', async () => {
  const first = { find: `'text', `, download: '() => {}, ' };
  const functions = ['snapshot', 'logs', 'requests', 'record.start', 'markdown', 'networkIdle'];
  for (const name of [...functions, ...Object.keys(first)]) {
    const { text } = await agent.fails(`await ${name}(${first[name] ?? ''}{ noSuchOption: 1 })`);
    const [, options] = /Options: (.*)\./.exec(text);
    const row = rows.find(({ names }) => names.includes(`${name}(`));
    const named = codeIn(row.text).map((code) => /^\w+/.exec(code)?.[0]);
    const missing = options.split(', ').filter((option) => !named.includes(option));
    assert.deepEqual(missing, [], name);
  }
});

test('its commands and their options exist', async () => {
  const commands = [...body.matchAll(/`tabwire (\w+)/g)].map(([, command]) => command);
  assert.ok(commands.includes('exec') && commands.includes('mcp'), commands.join(', '));
  const help = await Promise.all([...new Set(commands)].map((command) => helpOf(command)));
  for (const [option] of body.matchAll(/--[a-z][a-z-]*/g)) {
    assert.ok(help.join('\n').includes(option), option);
  }
});

test('what it says about the tools is true', async () => {
  const { tools } = await (await agent.started()).client.listTools();
  const names = tools.map(({ name }) => name);
  assert.deepEqual(names, ['execute', 'reset']);
  names.forEach((name) => assert.ok(body.includes(`\`${name}\``), name));
});
