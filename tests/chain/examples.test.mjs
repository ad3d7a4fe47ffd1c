/**
 * Runs every program in `examples/` as its README says, and the samples of the documentation as they are printed, and
 * checks that they leave the browser as it was.
 */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { copyFile, cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';

import { prepareRunner } from '../harness/agent.mjs';
import { actOnTab, inExtension, openTabs, untilDetached, useChain } from '../harness/chain.mjs';
import { PYTHON, ROOT, TABWIRE } from '../harness/processes.mjs';

const EXAMPLES = path.join(ROOT, 'examples');
const TESTS = path.join(ROOT, 'tests');
const shared = useChain({
  pages: {
    '/': '<title>Home</title><h1>Welcome</h1><a href="/next">next</a>',
    '/open': '<title>Open</title>',
    '/example.com': '<title>Example</title><h1>Sample</h1>',
  },
  tabs: (site) => [site.url('/open')],
});

/** `tabwire` is in the PATH, and its home is that of the test's relay. */
const environment = () => ({
  ...process.env,
  PATH: `${path.dirname(TABWIRE)}${path.delimiter}${process.env.PATH}`,
  TABWIRE_HOME: shared.chain.relay.home.path,
});

const run = async (command, args, env = {}) => {
  const options = { env: { ...environment(), ...env }, timeout: 60_000 };
  return (await promisify(execFile)(command, args, options)).stdout;
};

/** Runs `use` and checks that tabs, debuggers and clients are as before. */
async function leavingNothing(use) {
  const tabs = () =>
    inExtension(shared.chain, async () =>
      (await chrome.tabs.query({})).map(({ id, url, active }) => ({ id, url, active })),
    );
  const before = await tabs();
  await use();
  await shared.chain.relay.waitForClients(0);
  await untilDetached(shared.chain);
  assert.deepEqual(await tabs(), before);
}

/** Runs a Node example in a folder where it finds the packages of the tests. */
async function runNodeExample(name) {
  const folder = await mkdtemp(path.join(TESTS, '.example-'));
  try {
    await copyFile(path.join(EXAMPLES, name), path.join(folder, name));
    return await run(process.execPath, [path.join(folder, name), shared.site.url('/')]);
  } finally {
    await rm(folder, { recursive: true });
  }
}

test('the Playwright example lists tabs and reads a page', () =>
  leavingNothing(async () => {
    const output = await runNodeExample('playwright.mjs');
    assert.match(output, new RegExp(`^Open tab: ${shared.site.url('/open')}$`, 'm'));
    assert.match(output, /^Title: Home\nHeading: Welcome$/m);
  }));

test('the Puppeteer example counts tabs and collects links', () =>
  leavingNothing(async () => {
    const output = await runNodeExample('puppeteer.mjs');
    assert.match(output, /^Open tabs: 2$/m);
    assert.match(output, /^Title: Home$/m);
    assert.match(output, new RegExp(`^Link: ${shared.site.url('/next')}$`, 'm'));
  }));

test('the tests of the Playwright Test example pass in the existing context', () =>
  leavingNothing(async () => {
    const folder = await mkdtemp(path.join(TESTS, '.example-'));
    try {
      await cp(path.join(EXAMPLES, 'playwright_test'), folder, { recursive: true });
      const cli = path.join(TESTS, 'node_modules/@playwright/test/cli.js');
      const { stdout } = await promisify(execFile)(
        process.execPath,
        [cli, 'test', '--output', 'results'],
        {
          cwd: folder,
          env: { ...environment(), EXAMPLE_ADDRESS: shared.site.url('/') },
          timeout: 60_000,
        },
      );
      assert.match(stdout, /^ +2 passed/m);
    } finally {
      await rm(folder, { recursive: true });
    }
  }));

const skip = existsSync(PYTHON) ? false : 'run `make python` to install Playwright for Python';

test('the Python example lists tabs and reads a page', { skip }, () =>
  leavingNothing(async () => {
    const script = path.join(EXAMPLES, 'python_playwright.py');
    const output = await run(PYTHON, [script, shared.site.url('/')]);
    assert.match(output, new RegExp(`^Open tab: ${shared.site.url('/open')}$`, 'm'));
    assert.match(output, /^Title: Home\nText: Welcome/m);
  }),
);

/** The code blocks in this language, with a page of the test instead of a real site. */
async function readSamples(document, language) {
  const text = await readFile(path.join(ROOT, document), 'utf8');
  const blocks = text.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'gms'));
  const address = shared.site.url('/example.com');
  return Array.from(blocks, ([, code]) => code.replaceAll('https://example.com', address));
}

/** Runs those of the samples that are whole programs, for a user with a home of their own. */
async function runPrograms(documents, language, command, file) {
  const folder = await mkdtemp(path.join(TESTS, '.example-'));
  try {
    await symlink(shared.chain.relay.home.path, path.join(folder, '.tabwire'));
    const samples = await Promise.all(documents.map((name) => readSamples(name, language)));
    const outputs = [];
    for (const code of samples.flat().filter((sample) => /\.tabwire\W+cdp-url/.test(sample))) {
      await writeFile(path.join(folder, file), code);
      outputs.push(await run(command, [path.join(folder, file)], { HOME: folder }));
    }
    return outputs;
  } finally {
    await rm(folder, { recursive: true });
  }
}

test('the JavaScript samples of the documentation run', () =>
  leavingNothing(async () => {
    const documents = ['README.md', 'docs/clients.md'];
    const outputs = await runPrograms(documents, 'js', process.execPath, 'sample.mjs');
    const [readme, playwright, puppeteer, ...others] = outputs;
    assert.ok(readme.includes(shared.site.url('/open')) && readme.endsWith('\nExample\n'), readme);
    assert.equal(playwright, 'Example\n');
    assert.ok(puppeteer.includes(shared.site.url('/open')), puppeteer);
    assert.deepEqual(others, []);
  }));

test('the Python sample of the documentation runs', { skip }, () =>
  leavingNothing(async () => {
    const outputs = await runPrograms(['docs/clients.md'], 'python', PYTHON, 'sample.py');
    assert.deepEqual(outputs, ['Example\n']);
  }),
);

test('the shell sample of the README runs', async () => {
  const address = shared.site.url('/example.com');
  await prepareRunner(shared.chain.relay.home);
  await openTabs(shared.chain, [address]);
  await leavingNothing(async () => {
    const samples = await readSamples('README.md', 'sh');
    const [sample, ...others] = samples.filter((code) => code.includes('tabwire exec'));
    assert.deepEqual(others, []);
    const output = await run('sh', ['-e', '-c', sample]);
    assert.match(output, /open.*heading "Sample".*\nExample\n$/s);
  });
  await actOnTab(shared.chain, address, 'remove');
});

test('the MCP configuration starts a server with its tools', () =>
  leavingNothing(async () => {
    const config = JSON.parse(await readFile(path.join(EXAMPLES, 'mcp.json'), 'utf8'));
    const { command, args } = config.mcpServers.tabwire;
    const client = new Client({ name: 'examples', version: '1' });
    await client.connect(new StdioClientTransport({ command, args, env: environment() }));
    const { tools } = await client.listTools();
    await client.close();
    assert.deepEqual(tools.map(({ name }) => name).sort(), ['execute', 'reset']);
  }));

test('the examples install the versions that are tested', async () => {
  const read = async (folder) =>
    JSON.parse(await readFile(path.join(folder, 'package.json'), 'utf8'));
  const { devDependencies } = await read(TESTS);
  for (const [name, version] of Object.entries((await read(EXAMPLES)).dependencies)) {
    assert.equal(version, devDependencies[name], name);
  }
});
