/** A client with no library around it: it says what it is told to say, and keeps everything it hears. */

import { once } from 'node:events';

import WebSocket from 'ws';

import { until } from './processes.mjs';

/** @param {string} url */
export async function connectBare(url) {
  const socket = new WebSocket(url, { maxPayload: 256 << 20 });
  const heard = [];
  const waiting = new Map();
  let last = 0;
  socket.on('message', (data) => {
    const message = JSON.parse(String(data));
    if (message.id === undefined) {
      heard.push(message);
      return;
    }
    waiting.get(message.id)?.(message);
    waiting.delete(message.id);
  });
  await once(socket, 'open');
  const client = {
    /** Every event so far. */
    heard,
    /** The whole reply, be it a result or an error. */
    ask: (method, params = {}, sessionId = undefined) =>
      new Promise((resolve) => {
        last += 1;
        waiting.set(last, resolve);
        socket.send(JSON.stringify({ id: last, method, params, sessionId }));
      }),
    /** The result; an error is thrown. */
    async send(method, params = {}, sessionId = undefined) {
      const { result, error } = await client.ask(method, params, sessionId);
      if (error) {
        throw new Error(`${method}: ${error.message} (${error.code})`);
      }
      return result;
    },
    /** Attaches to a page by its address, and gives the session's id. */
    async attach(url) {
      const { targetInfos } = await client.send('Target.getTargets');
      const { targetId } = targetInfos.find((info) => info.type === 'page' && info.url === url);
      const { sessionId } = await client.send('Target.attachToTarget', { targetId, flatten: true });
      return sessionId;
    },
    /** Events of one method in one session. */
    of: (sessionId, method) =>
      heard
        .filter((event) => event.sessionId === sessionId && event.method === method)
        .map((event) => event.params),
    close: async () => {
      const closed = once(socket, 'close');
      socket.close();
      await closed;
    },
    /** The client is gone without a word, as when its process is killed. */
    kill: () => socket.terminate(),
  };
  return client;
}

/** One session of a bare client on the page at this address. */
async function openSession(client, url) {
  const id = await client.attach(url);
  return {
    send: (method, params) => client.send(method, params, id),
    heard: (method) => client.of(id, method),
    detach: () => client.send('Target.detachFromTarget', { sessionId: id }),
    /** What an expression is in the page; promises are waited for. */
    async valueOf(expression) {
      const params = { expression, awaitPromise: true, returnByValue: true };
      const { result, exceptionDetails } = await client.send('Runtime.evaluate', params, id);
      if (exceptionDetails) {
        throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
      }
      return result.value;
    },
  };
}

/** Connects to the relay with nothing but a socket, gives `use` the client and what opens its sessions, and leaves. */
export async function withBareClient(chain, use) {
  const client = await connectBare(chain.cdpUrl);
  try {
    await use({ client, open: (url) => openSession(client, url) });
  } finally {
    await client.close();
    await until('the slot is free', async () => (await chain.relay.status()).clients === 0);
  }
}

/** Clicks as the person, over Chromium's own port. Playwright there would hold up whatever the click opens. */
export async function clickAsPerson(chain, url, selector) {
  const client = await connectBare(chain.chromium.ownUrl);
  const session = await openSession(client, url);
  await session.send('Runtime.evaluate', {
    expression: `document.querySelector('${selector}').click()`,
    userGesture: true,
  });
  await client.close();
}
