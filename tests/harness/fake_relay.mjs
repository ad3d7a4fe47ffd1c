/**
 * A relay in Node for tests of the extension in a real Chromium: an honest one, or a program that
 * listens on the relay's port and is not the user's relay. It knows nothing about tabs.
 */

import { once } from 'node:events';
import http from 'node:http';
import { WebSocketServer } from 'ws';
import { busy, challenge, factsOf, newNonce, proofOf, welcome } from './handshake.mjs';
import { until } from './processes.mjs';

/**
 * What a fake does with a new connection. Each gets the socket, its first `hello` as a promise, and
 * the relay's address.
 * @type {Record<string, (connection: Connection) => unknown>}
 */
export const BEHAVIORS = {
  honest: (connection) => connection.answerHello(welcome),
  /** Another browser is connected. `takeOver` replaces it. */
  busy: (connection) =>
    connection.answerHello((facts, hello) =>
      hello.params.takeOver ? welcome(facts) : busy(facts),
    ),
  forgetful: async (connection) => {
    await connection.greet();
    connection.socket.close(4401, 'not paired');
  },
  newer: (connection) => connection.send(challenge(newNonce(), 3)),
  older: (connection) => connection.send(challenge(newNonce(), 1)),

  // ---- not the user's relay ----
  silent: () => {},
  /** Has no secret, so it makes up a proof. */
  guessing: (connection) =>
    connection.answerHello((facts) => welcome(facts, { secret: newNonce() })),
  /** Sends the extension's own proof back. */
  reflecting: (connection) =>
    connection.answerHello((_facts, hello) => ({
      method: 'welcome',
      params: { proof: hello.params.proof, version: '0.1.0' },
    })),
  /** Speaks protocol 1, in which the relay proves nothing. */
  commanding: (connection) => connection.send({ id: 1, method: 'listTabs' }),
  closing: (connection) => connection.socket.close(),
};

/** One connection of the extension. */
class Connection {
  #hello;

  constructor(socket, address, onMessage) {
    this.socket = socket;
    this.address = address;
    const first = once(socket, 'message');
    this.#hello = first.then(([data]) => JSON.parse(data));
    this.#hello.catch(() => {});
    socket.on('message', (data) => [JSON.parse(data)].flat().forEach(onMessage));
    socket.on('error', () => {});
  }

  send(message) {
    this.socket.send(JSON.stringify(message));
  }

  /** Sends a challenge and waits for `hello`. */
  async greet(nonce = newNonce()) {
    this.send(challenge(nonce));
    const hello = await this.#hello;
    return { hello, facts: factsOf(nonce, hello, this.address) };
  }

  /** Checks the extension's proof and sends what `answer` returns. */
  async answerHello(answer) {
    const { hello, facts } = await this.greet();
    if (hello.params.proof !== proofOf('extension', facts)) {
      this.socket.close(4403, 'wrong proof');
      return;
    }
    const message = answer(facts, hello);
    this.send(message);
    if (message.method === 'busy') {
      this.socket.close(4409, 'busy');
    }
  }
}

/**
 * @param {object} [options]
 * @param {number} [options.port]
 * @param {keyof typeof BEHAVIORS | ((connection: Connection) => unknown)} [options.behavior]
 * @param {(message: any) => void} [options.onMessage]
 * @param {(bytes: Buffer) => void} [options.onBytes] Called with all that arrives, requests too.
 */
export async function startFakeRelay({ port = 0, behavior = 'honest', onMessage, onBytes } = {}) {
  const server = http.createServer((_request, response) => response.end('{"status":"ok"}'));
  if (onBytes) {
    server.on('connection', (socket) => socket.on('data', onBytes));
  }
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const address = `127.0.0.1:${server.address().port}`;
  const sockets = new WebSocketServer({ server });
  const relay = {
    port: server.address().port,
    address,
    behavior,
    /** Every message of the extension, oldest first. */
    received: [],
    /** @type {Connection[]} Every connection, oldest first. */
    connections: [],
    receivedMethods: () => relay.received.map(({ method }) => method),
    waitFor: (method) =>
      until(`the extension sends ${method}`, () => relay.receivedMethods().includes(method)),
    /** Ends all connections and treats new ones differently. */
    become(next) {
      relay.behavior = next;
      sockets.clients.forEach((socket) => socket.terminate());
    },
    async stop() {
      sockets.clients.forEach((socket) => socket.terminate());
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  sockets.on('connection', (socket) => {
    const connection = new Connection(socket, address, (message) => {
      relay.received.push(message);
      onMessage?.(message);
    });
    relay.connections.push(connection);
    const behave = BEHAVIORS[relay.behavior] ?? relay.behavior;
    Promise.resolve(behave(connection)).catch(() => {});
  });
  return relay;
}
