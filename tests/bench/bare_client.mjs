/**
 * A CDP client that does nothing of its own: it sends what it is told to, and keeps the events unread. Its socket is
 * Puppeteer's, which is nothing but a WebSocket.
 */

import { NodeWebSocketTransport } from 'puppeteer-core/internal/node/NodeWebSocketTransport.js';

import { EXTENSION_ID } from '../harness/processes.mjs';

export class BareClient {
  /** @type {Map<number, { resolve: (result: any) => void, reject: (error: Error) => void }>} */
  #waiting = new Map();
  #lastId = 0;

  /** @type {any[]} */
  events = [];

  /** @param {NodeWebSocketTransport} socket */
  constructor(socket) {
    this.socket = socket;
    this.closed = new Promise((resolve) => (socket.onclose = () => resolve(undefined)));
    socket.onmessage = (text) => {
      const message = JSON.parse(text);
      const call = this.#waiting.get(message.id);
      if (!call) {
        this.events.push(message);
        return;
      }
      this.#waiting.delete(message.id);
      if (message.error) {
        call.reject(new Error(message.error.message));
      } else {
        call.resolve(message.result);
      }
    };
  }

  /** @param {string} url */
  static async connect(url) {
    return new BareClient(await NodeWebSocketTransport.create(url));
  }

  /** @param {string} method @param {object} [params] @param {string} [sessionId] @returns {Promise<any>} */
  send(method, params = {}, sessionId = undefined) {
    this.#lastId += 1;
    const id = this.#lastId;
    this.socket.send(JSON.stringify({ id, method, params, sessionId }));
    return new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
  }

  async close() {
    this.socket.close();
    await this.closed;
  }
}

/**
 * The extension's service worker, over Chromium's own port and without touching any tab: what Chrome says of debuggers
 * that are attached would count those of a client that attaches to all, as Playwright does.
 * @param {{ chromium: { ownUrl: string } }} chain
 */
export async function openWorker(chain) {
  const client = await BareClient.connect(chain.chromium.ownUrl);
  const { targetInfos } = await client.send('Target.getTargets');
  const { targetId } = targetInfos.find(({ type, url }) => type === 'service_worker' && url.includes(EXTENSION_ID));
  const { sessionId } = await client.send('Target.attachToTarget', { targetId, flatten: true });
  return {
    /** Runs a function there. @template A, R @param {(argument: A) => R} run @param {A} [argument] @returns {Promise<Awaited<R>>} */
    async run(run, argument) {
      const expression = `(${run})(${JSON.stringify(argument)})`;
      const { result, exceptionDetails } = await client.send('Runtime.evaluate', { expression, awaitPromise: true, returnByValue: true }, sessionId);
      if (exceptionDetails) {
        throw new Error(`in the service worker: ${exceptionDetails.exception?.description ?? exceptionDetails.text}`);
      }
      return result.value;
    },
    close: () => client.close(),
  };
}
