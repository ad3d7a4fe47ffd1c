/** How a server waits for a browser that another client has: seen by counting what it asks of the relay. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import http from 'node:http';
import net from 'node:net';
import path from 'node:path';
import { test } from 'node:test';

import { startAgent } from '../harness/agent.mjs';
import { useChain } from '../harness/chain.mjs';

const shared = useChain();

/** Stands before the relay, where its home says that the relay is, and keeps when each path was asked for. */
async function watchRelay(relay) {
  const asked = [];
  const keep = ({ url }) =>
    asked.push({ path: new URL(url, 'http://relay').pathname, at: performance.now() });
  const passed = ({ method, url, headers }) => ({
    method,
    path: url,
    headers: { ...headers, host: `127.0.0.1:${relay.port}` },
    host: '127.0.0.1',
    port: relay.port,
  });
  const server = http.createServer((request, response) => {
    keep(request);
    http.get(passed(request), (answer) =>
      answer.pipe(response.writeHead(answer.statusCode, answer.headers)),
    );
  });
  server.on('upgrade', (request, socket, head) => {
    keep(request);
    const { method, path: target, headers } = passed(request);
    const onward = net.connect(relay.port, '127.0.0.1');
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    onward.write(`${method} ${target} HTTP/1.1\r\n${lines.join('')}\r\n`);
    onward.write(head);
    onward.pipe(socket).pipe(onward);
    for (const end of [onward, socket]) {
      end.on('error', () => {});
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  const file = path.join(relay.home.path, 'state.json');
  const state = await readFile(file, 'utf8');
  await writeFile(file, JSON.stringify({ ...JSON.parse(state), port }));
  return {
    times: (wanted) => asked.filter((request) => request.path === wanted).map(({ at }) => at),
    async stop() {
      server.closeAllConnections();
      server.close();
      await writeFile(file, state);
    },
  };
}

test('a busy slot is asked for every 200 to 400 ms, never at a fixed beat, and connected to once it is free', async () => {
  const { relay } = shared.chain;
  const holder = await startAgent({ home: relay.home, args: ['--idle', '6'] });
  await holder.execute('1');
  const watch = await watchRelay(relay);
  const waiting = await startAgent({ home: relay.home });
  try {
    const { text } = await waiting.execute('2');
    assert.equal(text, '2');
    const times = watch.times('/client-slot');
    const gaps = times.slice(1).map((at, index) => at - times[index]);
    assert.ok(gaps.length >= 6, `asked ${times.length} times`);
    // A busy machine makes one late, and the next seem early; it does not do so to half of them.
    assert.ok(
      gaps.every((gap) => gap > 180),
      `${gaps}`,
    );
    const sorted = gaps.toSorted((a, b) => a - b);
    assert.ok(sorted[Math.floor(gaps.length / 2)] < 450, `${gaps}`);
    assert.ok(sorted.at(-1) - sorted[0] > 20, `a fixed beat: ${gaps}`);
    assert.equal(
      watch.times('/cdp').length,
      2,
      'one that was refused, and one when the slot was free',
    );
  } finally {
    await waiting.stop();
    await holder.stop();
    await watch.stop();
  }
});
