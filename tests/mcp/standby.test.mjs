/** How a server waits for a busy browser, seen by its requests to the relay. */

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

/** A proxy that calls `onRequest` with the path of each request before it forwards it to a port. */
async function startProxy(port, onRequest) {
  const record = ({ url }) => onRequest(new URL(url, 'http://relay').pathname);
  const forwarded = ({ method, url, headers }) => ({
    method,
    path: url,
    headers: { ...headers, host: `127.0.0.1:${port}` },
    host: '127.0.0.1',
    port,
  });
  const server = http.createServer((request, response) => {
    record(request);
    http.get(forwarded(request), (reply) =>
      reply.pipe(response.writeHead(reply.statusCode, reply.headers)),
    );
  });
  server.on('upgrade', (request, socket, head) => {
    record(request);
    const { method, path: target, headers } = forwarded(request);
    const upstream = net.connect(port, '127.0.0.1');
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    upstream.write(`${method} ${target} HTTP/1.1\r\n${lines.join('')}\r\n`);
    upstream.write(head);
    upstream.pipe(socket).pipe(upstream);
    [upstream, socket].forEach((end) => end.on('error', () => {}));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

/** Counts the requests of new clients, by pointing the state file of the home to a proxy. */
async function watchRelay(relay) {
  const paths = [];
  const proxy = await startProxy(relay.port, (requested) => paths.push(requested));
  const file = path.join(relay.home.path, 'state.json');
  const state = await readFile(file, 'utf8');
  await writeFile(file, JSON.stringify({ ...JSON.parse(state), port: proxy.address().port }));
  return {
    count: (wanted) => paths.filter((requested) => requested === wanted).length,
    async stop() {
      proxy.closeAllConnections();
      proxy.close();
      await writeFile(file, state);
    },
  };
}

test('polls a busy slot, and connects only once it is free', async () => {
  const { relay } = shared.chain;
  const holder = await startAgent({ home: relay.home, args: ['--idle', '6'] });
  await holder.execute('1');
  const watch = await watchRelay(relay);
  const waiting = await startAgent({ home: relay.home });
  try {
    const { text } = await waiting.execute('2');
    assert.equal(text, '2');
    // It polls every 200 to 400 ms, for almost six seconds.
    const polls = watch.count('/client-slot');
    assert.ok(polls >= 7 && polls <= 60, `${polls} polls`);
    assert.equal(watch.count('/cdp'), 2, 'rejected once, then accepted when the slot was free');
  } finally {
    await waiting.stop();
    await holder.stop();
    await watch.stop();
  }
});
