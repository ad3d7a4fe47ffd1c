/** The MCP server as its clients see it: the tools, and the transports stdio and HTTP. */

import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import http from 'node:http';
import path from 'node:path';
import readline from 'node:readline';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

import { asAgent, prepareRunner, useAgent } from '../harness/agent.mjs';
import { actOnTab, useChain, userTabs } from '../harness/chain.mjs';
import { TABWIRE, endProcess, until } from '../harness/processes.mjs';

const shared = useChain({
  args: ['--client-mode', 'multi-client'],
  pages: { '/kept': '<title>Kept</title>' },
});
const agent = useAgent(shared);

test('offers two tools that cost few tokens and carry hints', async () => {
  const { client } = await agent.started();
  const { tools } = await client.listTools();
  assert.deepEqual(
    tools.map(({ name }) => name),
    ['execute', 'reset'],
  );
  // A token is about four characters of English or JSON; three is a safe estimate.
  const tokens = JSON.stringify(tools).length / 3;
  assert.ok(tokens <= 1_200, `${tokens} tokens`);
  assert.deepEqual(tools[0].inputSchema.required, ['code']);
  assert.equal(tools[0].annotations.destructiveHint, true);
  assert.equal(tools[0].annotations.openWorldHint, true);
  assert.equal(tools[1].annotations.idempotentHint, true);
  assert.match(client.getInstructions(), /user's own browser/);
  assert.ok(client.getInstructions().length < 600);
});

test('the relay knows the agent by the name of its host', async () => {
  await agent.run('1');
  const slot = await fetch(`http://127.0.0.1:${shared.chain.relay.port}/client-slot`);
  const { connected } = await slot.json();
  assert.deepEqual(
    connected.map(({ name }) => name),
    ['tests 1'],
  );
});

test('works with the MCP inspector', async () => {
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

test('serves an agent whatever comes before `initialize`, and whatever it sends that is no message', async () => {
  const { home, port } = shared.chain.relay;
  const child = spawn(TABWIRE, ['mcp', '--port', String(port)], {
    env: { ...process.env, TABWIRE_HOME: home.path },
  });
  try {
    const replies = new Map();
    readline.createInterface({ input: child.stdout }).on('line', (line) => {
      const message = JSON.parse(line);
      replies.set(message.id, message);
    });
    const send = (...lines) => child.stdin.write(lines.map((line) => `${line}\n`).join(''));
    const request = (id, method, params = {}) =>
      JSON.stringify({ jsonrpc: '2.0', id, method, params });
    const replyTo = (id) => until(`the reply to request ${id}`, () => replies.get(id));
    const stray = [
      '{"jsonrpc":"2.0","method":"notifications/initialized"}',
      '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":70}}',
      '{"jsonrpc":"2.0","method":"unknown/notification"}',
      '{"jsonrpc":"2.0","id":70,"result":{}}',
      '{"jsonrpc":"2.0","id":71,"error":{"code":1,"message":"x"}}',
    ];
    const malformed = ['no JSON', '', '[]', '1', 'null', '{}', '{"jsonrpc":"2.0","method'];
    send(...stray, ...malformed, ...stray, request(1, 'ping'));
    assert.deepEqual((await replyTo(1)).result, {});
    send(request(2, 'tools/list'), ...stray, '{"jsonrpc":"2.0","id":3,"broken', ...stray);
    assert.ok((await replyTo(2)).error);
    assert.ok((await replyTo(3)).error);
    const clientInfo = { name: 'tests', version: '1' };
    const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo };
    send(request(4, 'initialize', params), ...stray, ...malformed, request(5, 'tools/list'));
    assert.equal((await replyTo(4)).result.serverInfo.name, 'tabwire');
    assert.equal((await replyTo(5)).result.tools.length, 2);
    child.stdin.end();
    const [code] = await once(child, 'exit');
    assert.equal(code, 0);
  } finally {
    await endProcess(child);
  }
});

/** Starts the server over HTTP, and runs `use` with its URL, the token, and what stops it. */
async function withHttpServer(use) {
  const { home, port } = shared.chain.relay;
  await prepareRunner(home);
  const child = spawn(TABWIRE, ['mcp', '--http', '127.0.0.1:0', '--port', String(port)], {
    env: { ...process.env, TABWIRE_HOME: home.path },
  });
  let printed = '';
  child.stdout.on('data', (data) => (printed += data));
  try {
    const [url] = await until('the server listens', () =>
      /http:\/\/127\.0\.0\.1:\d+\/mcp/.exec(printed),
    );
    const token = (await readFile(path.join(home.path, 'auth-token'), 'utf8')).trim();
    assert.ok(!printed.includes(token));
    await use(url, token, () => endProcess(child));
  } finally {
    await endProcess(child);
  }
}

/** The status of the response to a POST request. `fetch` would not send some of the headers. */
async function post(url, headers) {
  const accept = 'application/json, text/event-stream';
  const request = http.request(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept, ...headers },
  });
  request.end('{}');
  const [response] = await once(request, 'response');
  response.resume();
  return response.statusCode;
}

test('over HTTP, requires the current token and rejects web pages', () =>
  withHttpServer(async (url, token) => {
    const bearer = { authorization: `Bearer ${token}` };
    assert.equal(await post(url, {}), 401);
    assert.match(
      (await (await fetch(url, { method: 'POST' })).json()).error,
      /missing or wrong\. Send the content of the file `auth-token` in Tabwire's home as `Authorization: Bearer`/,
    );
    assert.equal(await post(url, { authorization: 'Bearer wrong' }), 401);
    assert.equal(await post(url, { ...bearer, origin: 'https://example.com' }), 403);
    assert.equal(await post(url, { ...bearer, host: 'example.com' }), 403);
    assert.equal(await post(url, { ...bearer, 'sec-fetch-site': 'cross-site' }), 403);

    const file = path.join(shared.chain.relay.home.path, 'auth-token');
    await writeFile(file, 'A'.repeat(token.length));
    assert.equal(await post(url, bearer), 401, 'a token that is no longer in the file is rejected');
    await writeFile(file, token);
    assert.notEqual(await post(url, bearer), 401);
  }));

/** Runs code as an agent whose version of the protocol has no sessions. Returns the text of the response. */
async function executeWithoutSession(url, token, code) {
  const version = '2026-07-28';
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': version,
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const params = { name: 'execute', arguments: { code }, _meta };
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': version,
      'mcp-method': 'tools/call',
      'mcp-name': 'execute',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
  });
  const replies = (await response.text()).matchAll(/^data: (\{.*"result".*)$/gm);
  return [...replies].map(([, reply]) => JSON.parse(reply).result.content[0].text).join();
}

/** Connects an agent over HTTP. `leave` ends its session. */
async function connectOverHttp(url, token) {
  const client = new Client({ name: 'tests', version: '1' });
  const transport = new StreamableHTTPClientTransport(new URL(url), {
    requestInit: { headers: { authorization: `Bearer ${token}` } },
  });
  await client.connect(transport);
  const leave = async () => {
    await transport.terminateSession();
    await client.close();
  };
  return { ...asAgent(client), leave };
}

test('over HTTP, serves clients with the token, and closes their tabs when the last one leaves', () =>
  withHttpServer(async (url, token, stop) => {
    const before = await userTabs(shared.chain);
    const opened = async () => {
      const ids = new Set(before.map(({ id }) => id));
      return (await userTabs(shared.chain)).filter(({ id }) => !ids.has(id)).map((tab) => tab.url);
    };
    const first = await connectOverHttp(url, token);
    const second = await connectOverHttp(url, token);
    const code = 'state.n = 1; await page.setContent("<title>Far</title>"); page.title()';
    assert.equal((await first.execute(code)).text, 'Far');
    assert.equal((await second.execute('[state.n, await page.title()]')).text, '[1,"Far"]');
    const address = shared.site.url('/kept');
    await second.execute(
      `const kept = await context.newPage(); keep(kept); await kept.goto('${address}')`,
    );
    await first.leave();
    assert.equal((await second.execute('page.title()')).text, 'Far', 'another still uses it');
    await second.leave();
    assert.deepEqual(await opened(), [address]);

    const third = await connectOverHttp(url, token);
    const { text } = await third.execute('[state.n === undefined, page.url()]');
    assert.equal(text, '[true,"about:blank"]', 'nothing is left of the others');
    assert.equal((await opened()).length, 2);
    assert.equal(await executeWithoutSession(url, token, 'state.n = 3'), '3');
    await third.leave();
    const left = await executeWithoutSession(url, token, '[state.n, page.url()]');
    assert.equal(left, '[3,"about:blank"]', 'an agent without a session still uses it');
    assert.equal((await opened()).length, 2);
    await stop();
    assert.deepEqual(await opened(), [address], 'a server that is stopped closes them, too');
    await actOnTab(shared.chain, address, 'remove');
  }));

test('over HTTP, limits how many agents can be connected', () =>
  withHttpServer(async (url, token) => {
    const headers = {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    };
    const clientInfo = { name: 'tests', version: '1' };
    const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params });
    const connect = async () => {
      const response = await fetch(url, { method: 'POST', headers, body });
      return {
        status: response.status,
        id: response.headers.get('mcp-session-id'),
        text: await response.text(),
      };
    };
    const connected = [];
    for (let number = 0; number < 64; number += 1) {
      connected.push(await connect());
    }
    assert.ok(connected.every(({ status, id }) => status === 200 && id));
    const refused = await connect();
    assert.equal(refused.status, 500);
    assert.match(refused.text, /64 agents are connected to this server.* End one of them/);
    const session = { ...headers, 'mcp-session-id': connected[0].id };
    assert.ok((await fetch(url, { method: 'DELETE', headers: session })).ok);
    assert.equal((await connect()).status, 200);
  }));

test('over HTTP, listens on this machine only', () =>
  assert.rejects(
    promisify(execFile)(TABWIRE, ['mcp', '--http', '0.0.0.0:0']),
    /Tabwire listens on 127\.0\.0\.1 only/,
  ));
