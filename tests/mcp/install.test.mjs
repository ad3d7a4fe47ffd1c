/** Installing the runner at its first use, and what is reported if Node, npm or a package is missing. */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmod, readFile, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';

import { startAgent } from '../harness/agent.mjs';
import { useChain } from '../harness/chain.mjs';
import { TABWIRE, temporaryFolder } from '../harness/processes.mjs';

const shared = useChain({ args: ['--client-mode', 'multi-client'] });

const INSTALL_NODE =
  process.platform === 'darwin' ? 'brew install node' : 'sudo apt-get install nodejs npm';

/**
 * Passes `use` the chain's home without a runner, as before the first use, and an empty folder for programs. It has to be the
 * home of a relay that is running.
 */
async function withoutRunner(use) {
  const { home } = shared.chain.relay;
  const runner = path.join(home.path, 'runner');
  const programs = await temporaryFolder('bin');
  await rm(runner, { recursive: true, force: true });
  try {
    await use(home, programs.path);
  } finally {
    await rm(runner, { recursive: true, force: true });
    await programs.remove();
  }
}

/** Starts an agent with other environment variables and runs code that needs no page. */
async function executeWith(home, { env = {}, runner = false, ...options } = {}) {
  const agent = await startAgent({ home, port: shared.chain.relay.port, env, runner });
  try {
    return { ...(await agent.execute('2', options)), log: agent.log() };
  } finally {
    await agent.stop();
  }
}

async function writeProgram(folder, name, script) {
  await writeFile(path.join(folder, name), `#!/bin/sh\n${script}\n`);
  await chmod(path.join(folder, name), 0o755);
}

test('installs the runner at first use and reports progress', () =>
  withoutRunner(async (home) => {
    const messages = [];
    const { text, log } = await executeWith(home, {
      onprogress: ({ message }) => messages.push(message),
    });
    assert.equal(text, '2');
    assert.equal(messages[0], 'installing playwright-core with npm (only once, about 15 MB)');
    assert.ok(messages.includes('playwright-core is installed'));
    assert.match(log, /installing playwright-core with npm/);
  }));

test('reports how to install Node or npm if one is missing', () =>
  withoutRunner(async (home, programs) => {
    const withoutNode = await executeWith(home, { env: { PATH: programs } });
    assert.ok(
      withoutNode.text.includes(
        `Node.js 20 or newer, but \`node\` was not found.\nNext: Ask the user to run \`${INSTALL_NODE}\``,
      ),
      withoutNode.text,
    );
    await symlink(process.execPath, path.join(programs, 'node'));
    const withoutNpm = await executeWith(home, { env: { PATH: programs } });
    assert.equal(withoutNpm.error.kind, 'no-npm');
    assert.ok(
      withoutNpm.text.includes(
        `\`npm\`, which installs it, was not found.\nNext: Ask the user to run \`${INSTALL_NODE}\``,
      ),
      withoutNpm.text,
    );
  }));

test('reports why npm failed', () =>
  withoutRunner(async (home, programs) => {
    await symlink(process.execPath, path.join(programs, 'node'));
    await writeProgram(programs, 'npm', 'echo "npm error network unreachable" >&2\nexit 1');
    const { text } = await executeWith(home, { env: { PATH: `${programs}:/bin` } });
    assert.match(
      text,
      /Cannot install playwright-core: npm failed with exit status: 1: npm error network unreachable\.\nNext: Ask the user to run `tabwire mcp --install`/,
    );
  }));

test('reports a Node that is too old, with or without an installed runner', () =>
  withoutRunner(async (home, programs) => {
    await writeProgram(
      programs,
      'node',
      'if [ "$1" = --version ]; then echo v16.20.2; exit; fi\necho "SyntaxError: Unexpected token" >&2\nexit 1',
    );
    for (const runner of [false, true]) {
      const env = { PATH: `${programs}:/bin` };
      const { text, error } = await executeWith(home, { env, runner });
      assert.equal(error.kind, 'node-too-old', text);
      assert.match(
        text,
        /`node --version` prints 'v16\.20\.2'\.\nNext: Ask the user to run `(sudo npx --yes n lts|brew upgrade node)`/,
      );
    }
  }));

test('concurrent installs share one runner, and a broken one is reported with its remedy', () =>
  withoutRunner(async (home) => {
    const install = () =>
      promisify(execFile)(TABWIRE, ['mcp', '--install'], {
        env: { ...process.env, TABWIRE_HOME: home.path },
      });
    const [{ stdout }] = await Promise.all([install(), install()]);
    assert.equal((await readdir(path.join(home.path, 'runner'))).length, 1);
    const folder = /Ready: (\S+)/.exec(stdout)[1];
    await rm(path.join(folder, 'node_modules/acorn'), { recursive: true });
    const { text } = await executeWith(home);
    assert.match(
      text,
      /Cannot start the process that runs the code: [\s\S]*Cannot find package 'acorn'/,
    );
    assert.ok(
      text.includes(`Next: Ask the user to run \`rm -r '${folder}' && tabwire mcp --install\``),
      text,
    );
  }));

test('types are checked with the packages that the runner installs', async () => {
  const read = async (file) => JSON.parse(await readFile(new URL(file, import.meta.url), 'utf8'));
  const { dependencies } = await read('../../mcp-client/runner/package.json');
  const { devDependencies } = await read('../package.json');
  const checked = Object.keys(dependencies).map((name) => [name, devDependencies[name]]);
  assert.deepEqual(Object.fromEntries(checked), dependencies);
});
