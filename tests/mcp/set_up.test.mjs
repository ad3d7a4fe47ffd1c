/** Before the first call: what the tools cost, what is started and installed by itself, and what is missing. */

import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, readFile, readdir, rm, stat, symlink, writeFile } from 'node:fs/promises';
import http from 'node:http';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

import { asAgent, prepareRunner, startAgent, useAgent } from '../harness/agent.mjs';
import { useChain } from '../harness/chain.mjs';
import {
  TABWIRE,
  endProcess,
  isRunning,
  startRelay,
  temporaryFolder,
  until,
} from '../harness/processes.mjs';

const shared = useChain({ args: ['--client-mode', 'multi-client'] });
const agent = useAgent(shared);

const INSTALL_NODE =
  process.platform === 'darwin' ? 'brew install node' : 'sudo apt-get install nodejs npm';

/** A port that nobody listens on. */
async function freePort() {
  const server = http.createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}

const stateOf = async (home) =>
  JSON.parse(await readFile(path.join(home.path, 'state.json'), 'utf8'));

async function endRelayOf(home) {
  const { pid } = await stateOf(home);
  process.kill(pid);
  await until('the relay is ended', () => !isRunning(pid));
}

test('the two tools cost an agent few tokens, and say what they do to the world', async () => {
  const { client } = await agent.started();
  const { tools } = await client.listTools();
  assert.deepEqual(
    tools.map(({ name }) => name),
    ['execute', 'reset'],
  );
  // English and JSON are about four characters a token; three are on the safe side.
  const tokens = JSON.stringify(tools).length / 3;
  assert.ok(tokens <= 1_200, `${tokens} tokens`);
  assert.deepEqual(tools[0].inputSchema.required, ['code']);
  assert.equal(tools[0].annotations.destructiveHint, true);
  assert.equal(tools[0].annotations.openWorldHint, true);
  assert.equal(tools[1].annotations.idempotentHint, true);
  assert.match(client.getInstructions(), /user's own browser/);
  assert.ok(client.getInstructions().length < 600);
});

test('the MCP inspector lists the tools and calls them', async () => {
  const inspector = fileURLToPath(new URL('../node_modules/.bin/mcp-inspector', import.meta.url));
  const { relay } = shared.chain;
  await prepareRunner(relay.home);
  const inspect = async (...args) => {
    const { stdout } = await promisify(execFile)(
      inspector,
      ['--cli', '-e', `TABWIRE_HOME=${relay.home.path}`, TABWIRE, 'mcp', ...args],
      { timeout: 60_000 },
    );
    return JSON.parse(stdout);
  };
  assert.equal((await inspect('--method', 'tools/list')).tools.length, 2);
  const { content } = await inspect(
    '--method',
    'tools/call',
    '--tool-name',
    'execute',
    '--tool-arg',
    'code=return 6 * 7',
  );
  assert.deepEqual(content, [{ type: 'text', text: '42' }]);
});

test('where no relay runs one is started, which stays; without an extension it says how to load it', async () => {
  const home = await temporaryFolder('mcp');
  const port = await freePort();
  const lonely = await startAgent({ home, port });
  try {
    await until('the relay is there before the first call', () =>
      fetch(`http://127.0.0.1:${port}/`).catch(() => undefined),
    );
    const { text, error } = await lonely.execute('1');
    assert.equal(error.kind, 'no-extension');
    assert.match(
      text,
      /`tabwire install-extension`, then chrome:\/\/extensions, Developer mode, Load unpacked/,
    );
    assert.match(text, /`tabwire up`/);
    await lonely.stop();
    assert.ok((await fetch(`http://127.0.0.1:${port}/`)).ok, 'it outlives its server');
    assert.equal((await stat(path.join(home.path, 'relay.log'))).mode & 0o077, 0);
  } finally {
    await lonely.stop();
    await endRelayOf(home);
    await home.remove();
  }
});

/**
 * Gives `use` the chain's home as it is before its first use, without the runner, and a folder for programs. In a home of its own
 * there would be no relay: nobody can pass for one.
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

test('at the first use the runner is installed, with progress; without Node or npm it says the one thing to do', () =>
  withoutRunner(async (home, programs) => {
    const start = (env) => startAgent({ home, port: shared.chain.relay.port, env, runner: false });
    const without = await start({ PATH: programs });
    assert.ok(
      (await without.execute('1')).text.includes(
        `Node.js 20 or newer, but \`node\` was not found.\nNext: Ask the user to run \`${INSTALL_NODE}\``,
      ),
    );
    await without.stop();

    await symlink(process.execPath, path.join(programs, 'node'));
    const withoutNpm = await start({ PATH: programs });
    const { text: words, error } = await withoutNpm.execute('1');
    assert.equal(error.kind, 'no-npm');
    assert.ok(
      words.includes(
        `\`npm\`, which installs it, was not found.\nNext: Ask the user to run \`${INSTALL_NODE}\``,
      ),
      words,
    );
    await withoutNpm.stop();

    await writeFile(
      path.join(programs, 'npm'),
      '#!/bin/sh\necho "npm error network unreachable" >&2\nexit 1\n',
    );
    await chmod(path.join(programs, 'npm'), 0o755);
    const offline = await start({ PATH: `${programs}:/bin` });
    assert.match(
      (await offline.execute('1')).text,
      /Cannot install playwright-core: npm failed with exit status: 1: npm error network unreachable\.\nNext: Ask the user to run `tabwire mcp --install`/,
    );
    await offline.stop();

    const whole = await start({});
    const messages = [];
    const { text } = await whole.execute('2', {
      onprogress: ({ message }) => messages.push(message),
    });
    assert.equal(text, '2');
    assert.equal(messages[0], 'installing playwright-core with npm (only once, about 15 MB)');
    assert.ok(messages.includes('playwright-core is installed'));
    assert.match(whole.log(), /installing playwright-core with npm/);
    await whole.stop();
  }));

test('a Node that is too old is told of with the way to a newer one, before and after the runner was installed', () =>
  withoutRunner(async (home, programs) => {
    await writeFile(
      path.join(programs, 'node'),
      '#!/bin/sh\nif [ "$1" = --version ]; then echo v16.20.2; exit; fi\necho "SyntaxError: Unexpected token" >&2\nexit 1\n',
    );
    await chmod(path.join(programs, 'node'), 0o755);
    for (const runner of [false, true]) {
      const old = await startAgent({
        home,
        port: shared.chain.relay.port,
        env: { PATH: `${programs}:/bin` },
        runner,
      });
      const { text, error } = await old.execute('1');
      assert.equal(error.kind, 'node-too-old', text);
      assert.match(
        text,
        /`node --version` prints 'v16\.20\.2'\.\nNext: Ask the user to run `(sudo npx --yes n lts|brew upgrade node)`/,
      );
      await old.stop();
    }
  }));

test('installs that run at once agree on one runner; one that is broken is told of with the way out', () =>
  withoutRunner(async (home) => {
    const install = () =>
      promisify(execFile)(TABWIRE, ['mcp', '--install'], {
        env: { ...process.env, TABWIRE_HOME: home.path },
      });
    const [{ stdout }] = await Promise.all([install(), install()]);
    assert.equal((await readdir(path.join(home.path, 'runner'))).length, 1);
    const folder = /Ready: (\S+)/.exec(stdout)[1];
    await rm(path.join(folder, 'node_modules/acorn'), { recursive: true });
    const broken = await startAgent({ home, port: shared.chain.relay.port, runner: false });
    const { text } = await broken.execute('1');
    assert.match(
      text,
      /Cannot start the process that runs the code: [\s\S]*Cannot find package 'acorn'/,
    );
    assert.ok(
      text.includes(`Next: Ask the user to run \`rm -r '${folder}' && tabwire mcp --install\``),
      text,
    );
    await broken.stop();
  }));

test('a port that something else has, and a relay of another home, are told apart', async () => {
  const other = http.createServer((_, response) => response.end('hello')).listen(0, '127.0.0.1');
  await once(other, 'listening');
  const home = await temporaryFolder('mcp');
  const stranger = await startAgent({ home, port: other.address().port });
  assert.match(
    (await stranger.execute('1')).text,
    /does not respond like a Tabwire relay\.\nNext: .*another --port/,
  );
  await stranger.stop();
  other.close();
  const seen = [];
  const squatter = http.createServer(({ url }, response) => {
    seen.push(url);
    response.end('{"status":"ok","extension":true}');
  });
  squatter.on('upgrade', ({ url }, socket) => {
    seen.push(url);
    socket.destroy();
  });
  squatter.listen(0, '127.0.0.1');
  await once(squatter, 'listening');
  const deceived = await startAgent({ home, port: squatter.address().port });
  assert.match((await deceived.execute('1')).text, /is not this home's relay/);
  // A relay that was killed has left its file; its number is another's by now, and its port is this one.
  await writeFile(
    path.join(home.path, 'state.json'),
    JSON.stringify({ port: squatter.address().port, pid: process.pid }),
  );
  assert.match((await deceived.execute('1')).text, /is not this home's relay/);
  assert.deepEqual([...new Set(seen)], ['/'], 'and is told no token');
  await deceived.stop();
  squatter.close();
  const foreign = await startAgent({ home, port: shared.chain.relay.port });
  assert.match(
    (await foreign.execute('1')).text,
    /is not this home's relay\.\nNext: It may belong to another home/,
  );
  await foreign.stop();
  await home.remove();
});

test('a relay that has moved to another port is found there, and no second one is started', async () => {
  const first = await startRelay();
  const { home } = first;
  const moving = await startAgent({ home });
  let second;
  try {
    assert.equal((await moving.execute('1')).error.kind, 'no-extension');
    await first.stop({ keepHome: true });
    second = await startRelay({ home });
    assert.notEqual(second.port, first.port);
    assert.equal((await moving.execute('1')).error.kind, 'no-extension');
    assert.deepEqual(await stateOf(home), { port: second.port, pid: second.child.pid });
    await assert.rejects(fetch(`http://127.0.0.1:${first.port}/`), 'nobody is where it was');

    await second.stop({ keepHome: true });
    const waiting = moving.execute('1').catch(() => {}); // for an extension, which does not come
    const state = await until('one is started', () => stateOf(home).catch(() => undefined));
    assert.equal(state.port, second.port, 'where the extension looks for it');
    assert.notEqual(state.pid, second.child.pid);
    await moving.stop();
    await waiting;
  } finally {
    await moving.stop();
    await second?.stop({ keepHome: true });
    await endRelayOf(home);
    await home.remove();
  }
});

test('a port that was asked for starts no relay beside the one of this home', async () => {
  const relay = await startRelay();
  const port = await freePort();
  const elsewhere = await startAgent({ home: relay.home, port });
  try {
    const { text, error } = await elsewhere.execute('1');
    assert.equal(error.kind, 'relay-elsewhere');
    assert.ok(
      text.includes(
        `This home's relay is on port ${relay.port} (process ${relay.child.pid}), not on port ${port}.\nNext: Ask the user to leave out --port`,
      ),
      text,
    );
    await assert.rejects(fetch(`http://127.0.0.1:${port}/`));
  } finally {
    await elsewhere.stop();
    await relay.stop();
  }
});

test('a relay of this home that is stopped is told of as ours, and not as a program of somebody else', async () => {
  const relay = await startRelay();
  const { pid } = relay.child;
  relay.child.kill('SIGSTOP');
  const waiting = await startAgent({ home: relay.home });
  try {
    const { text, error } = await waiting.execute('1');
    assert.equal(error.kind, 'silent-relay');
    assert.ok(
      text.includes(
        `This home's relay (process ${pid}, port ${relay.port}) does not respond.\nNext: Ask the user to run \`kill -CONT ${pid}\``,
      ),
      text,
    );
    relay.child.kill('SIGCONT');
    assert.equal((await waiting.execute('1')).error.kind, 'no-extension');
  } finally {
    relay.child.kill('SIGCONT');
    await waiting.stop();
    await relay.stop();
  }
});

test('over HTTP only those with the token are let in, from no web page, and on this machine only', async () => {
  const { home, port } = shared.chain.relay;
  await prepareRunner(home);
  const child = spawn(TABWIRE, ['mcp', '--http', '127.0.0.1:0', '--port', String(port)], {
    env: { ...process.env, TABWIRE_HOME: home.path },
  });
  let printed = '';
  child.stdout.on('data', (data) => (printed += data));
  try {
    const [address] = await until('it listens', () =>
      /http:\/\/127\.0\.0\.1:\d+\/mcp/.exec(printed),
    );
    const token = (await readFile(path.join(home.path, 'auth-token'), 'utf8')).trim();
    assert.ok(!printed.includes(token));
    const post = (headers) =>
      new Promise((resolve, reject) => {
        const request = http.request(
          address,
          {
            method: 'POST',
            headers: {
              'content-type': 'application/json',
              accept: 'application/json, text/event-stream',
              ...headers,
            },
          },
          (response) => {
            response.resume();
            resolve(response.statusCode);
          },
        );
        request.on('error', reject);
        request.end('{}');
      });
    const bearer = { authorization: `Bearer ${token}` };
    assert.equal(await post({}), 401);
    assert.match(
      (await (await fetch(address, { method: 'POST' })).json()).error,
      /missing or wrong\. Send the content of the file `auth-token` in Tabwire's home as `Authorization: Bearer`/,
    );
    assert.equal(await post({ authorization: 'Bearer wrong' }), 401);
    assert.equal(await post({ ...bearer, origin: 'https://example.com' }), 403);
    assert.equal(await post({ ...bearer, host: 'example.com' }), 403);
    assert.equal(await post({ ...bearer, 'sec-fetch-site': 'cross-site' }), 403);

    const client = new Client({ name: 'tests', version: '1' });
    await client.connect(
      new StreamableHTTPClientTransport(new URL(address), { requestInit: { headers: bearer } }),
    );
    const remote = asAgent(client);
    assert.equal(
      (
        await remote.execute(
          'state.n = 1; await page.setContent("<title>Far</title>"); page.title()',
        )
      ).text,
      'Far',
    );
    assert.equal((await remote.execute('state.n')).text, '1');
    await remote.stop();

    await writeFile(path.join(home.path, 'auth-token'), 'A'.repeat(token.length));
    assert.equal(await post(bearer), 401, 'a token that is no longer in the file opens nothing');
    await writeFile(path.join(home.path, 'auth-token'), token);
  } finally {
    await endProcess(child);
  }
  await assert.rejects(
    promisify(execFile)(TABWIRE, ['mcp', '--http', '0.0.0.0:0']),
    /Tabwire listens on 127\.0\.0\.1 only/,
  );
});
