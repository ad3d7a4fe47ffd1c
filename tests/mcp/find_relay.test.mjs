/** How `tabwire mcp` finds its relay or starts one, and what it reports if another program is in the way. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFile, stat, writeFile } from 'node:fs/promises';
import http from 'node:http';
import path from 'node:path';
import { test } from 'node:test';

import { startAgent } from '../harness/agent.mjs';
import { isRunning, startRelay, temporaryFolder, until } from '../harness/processes.mjs';

/** A port that nothing listens on. */
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

async function stopRelayOf(home) {
  const { pid } = await stateOf(home);
  process.kill(pid);
  await until('the relay has exited', () => !isRunning(pid));
}

test('starts a relay that outlives the server, and explains how to load the extension', async () => {
  const home = await temporaryFolder('mcp');
  const port = await freePort();
  const lonely = await startAgent({ home, port });
  try {
    await until('the relay responds before the first call', () =>
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
    assert.ok((await fetch(`http://127.0.0.1:${port}/`)).ok, 'the relay outlives the server');
    for (const name of ['relay.log', 'relay.out']) {
      assert.equal((await stat(path.join(home.path, name))).mode & 0o077, 0, name);
    }
  } finally {
    await lonely.stop();
    await stopRelayOf(home);
    await home.remove();
  }
});

/** Runs `use` with an agent whose relay should be on a certain port. */
async function withAgentOn(home, port, use) {
  const agent = await startAgent({ home, port });
  try {
    await use(agent);
  } finally {
    await agent.stop();
  }
}

/** A home without a relay, for the time of `use`. */
async function withHome(use) {
  const home = await temporaryFolder('mcp');
  try {
    await use(home);
  } finally {
    await home.remove();
  }
}

test('reports a program on the port that is not a relay', () =>
  withHome(async (home) => {
    const other = http.createServer((_, response) => response.end('hello')).listen(0, '127.0.0.1');
    await once(other, 'listening');
    await withAgentOn(home, other.address().port, async (agent) =>
      assert.match(
        (await agent.execute('1')).text,
        /does not respond like a Tabwire relay\.\nNext: .*another --port/,
      ),
    );
    other.close();
  }));

test('never sends the token to a program that poses as the relay', () =>
  withHome(async (home) => {
    const urls = [];
    const impostor = http.createServer(({ url }, response) => {
      urls.push(url);
      response.end('{"status":"ok","extension":true}');
    });
    impostor.on('upgrade', ({ url }, socket) => {
      urls.push(url);
      socket.destroy();
    });
    impostor.listen(0, '127.0.0.1');
    await once(impostor, 'listening');
    const { port } = impostor.address();
    await withAgentOn(home, port, async (agent) => {
      assert.match((await agent.execute('1')).text, /is not this home's relay/);
      // A relay that was killed leaves its file behind. Meanwhile, other programs may have its pid and its port.
      const state = JSON.stringify({ port, pid: process.pid });
      await writeFile(path.join(home.path, 'state.json'), state);
      assert.match((await agent.execute('1')).text, /is not this home's relay/);
    });
    assert.deepEqual([...new Set(urls)], ['/']);
    impostor.close();
  }));

test('reports a relay of another home', () =>
  withHome(async (home) => {
    const relay = await startRelay();
    await withAgentOn(home, relay.port, async (agent) =>
      assert.match(
        (await agent.execute('1')).text,
        /is not this home's relay\.\nNext: It may belong to another home/,
      ),
    );
    await relay.stop();
  }));

test('follows a relay to another port instead of starting a second one', async () => {
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
    await assert.rejects(
      fetch(`http://127.0.0.1:${first.port}/`),
      'nothing listens on the old port',
    );

    await second.stop({ keepHome: true });
    const waiting = moving.execute('1').catch(() => {}); // It waits for an extension that never connects.
    const state = await until('a relay has started', () => stateOf(home).catch(() => undefined));
    assert.equal(state.port, second.port, 'on the port where the extension looks for it');
    assert.notEqual(state.pid, second.child.pid);
    await moving.stop();
    await waiting;
  } finally {
    await moving.stop();
    await second?.stop({ keepHome: true });
    await stopRelayOf(home);
    await home.remove();
  }
});

test('never starts a second relay for a home, even on another port', async () => {
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

test('recognizes a suspended relay as its own', async () => {
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
