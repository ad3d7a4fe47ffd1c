/**
 * A CDP client without a library: it sends exactly what a test gives it, and records every event it
 * receives.
 */

import { once } from 'node:events';

import WebSocket from 'ws';

/** @param {string} url */
export async function connectRaw(url) {
  const socket = new WebSocket(url, { maxPayload: 256 << 20 });
  const events = [];
  const messages = [];
  const sent = [];
  const pending = new Map();
  let lastId = 0;
  socket.on('message', (data) => {
    const message = JSON.parse(String(data));
    messages.push(message);
    if (message.id === undefined) {
      events.push(message);
      return;
    }
    pending.get(message.id)?.(message);
    pending.delete(message.id);
  });
  await once(socket, 'open');
  const client = {
    socket,
    /** Every event received, in order. */
    events,
    /** Every message received, events and replies, in order. */
    messages,
    /** Every request, in order. */
    sent,
    /** Resolves with the whole reply, whether it is a result or an error. */
    request: (method, params = {}, sessionId = undefined) =>
      new Promise((resolve) => {
        lastId += 1;
        pending.set(lastId, resolve);
        const request = { id: lastId, method, params, sessionId };
        sent.push(request);
        socket.send(JSON.stringify(request));
      }),
    /** Sends a text as it is, and expects nothing. */
    raw: (text) => socket.send(text),
    /** Resolves with the result, and throws an error reply. */
    async send(method, params = {}, sessionId = undefined) {
      const { result, error } = await client.request(method, params, sessionId);
      if (error) {
        throw new Error(`${method}: ${error.message} (${error.code})`);
      }
      return result;
    },
    /** Attaches to the page at this address and returns the session id. */
    async attach(url) {
      const { targetInfos } = await client.send('Target.getTargets');
      const { targetId } = targetInfos.find((info) => info.type === 'page' && info.url === url);
      const { sessionId } = await client.send('Target.attachToTarget', { targetId, flatten: true });
      return sessionId;
    },
    /** The parameters of every event of one method in one session. */
    eventsOf: (sessionId, method) =>
      events
        .filter((event) => event.sessionId === sessionId && event.method === method)
        .map((event) => event.params),
    /** How the connection was closed: code and reason. */
    closed: new Promise((resolve) => {
      socket.on('close', (code, reason) => resolve([code, String(reason)]));
    }),
    close: async () => {
      const closed = once(socket, 'close');
      socket.close();
      await closed;
    },
    /** Drops the connection without a close frame, as when the client's process is killed. */
    kill: () => socket.terminate(),
  };
  return client;
}

/**
 * Evaluates an expression in a session of a raw client, awaits its promise, and throws what it
 * throws.
 */
export async function evaluateIn(client, sessionId, expression) {
  const params = { expression, awaitPromise: true, returnByValue: true };
  const { result, exceptionDetails } = await client.send('Runtime.evaluate', params, sessionId);
  if (exceptionDetails) {
    throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
  }
  return result.value;
}

/** One session of a raw client on the page at this address. */
async function openSession(client, url) {
  const id = await client.attach(url);
  return {
    send: (method, params) => client.send(method, params, id),
    events: (method) => client.eventsOf(id, method),
    detach: () => client.send('Target.detachFromTarget', { sessionId: id }),
    evaluate: (expression) => evaluateIn(client, id, expression),
  };
}

/**
 * Connects to the relay, passes the client and a function that opens sessions to `use`, and
 * disconnects.
 */
export async function withRawClient(chain, use) {
  const client = await connectRaw(chain.cdpUrl);
  try {
    await use({ client, open: (url) => openSession(client, url) });
  } finally {
    await client.close();
    await chain.relay.waitForClients(0);
  }
}

/**
 * Clicks as the user, through Chromium's own port. Playwright would pause whatever the click opens.
 */
export async function clickAsUser(chain, url, selector) {
  const client = await connectRaw(chain.chromium.ownUrl);
  const session = await openSession(client, url);
  await session.send('Runtime.evaluate', {
    expression: `document.querySelector('${selector}').click()`,
    userGesture: true,
  });
  await client.close();
}
