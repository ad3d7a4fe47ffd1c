/**
 * Starts the extension's service worker in a fake browser, with freshly loaded modules.
 *
 * Node caches modules by URL, so each start has its number in the query of every module's URL. A
 * resolve hook adds the query to the imports of those modules.
 */

import { register } from 'node:module';
import { FakeBrowser, FakePort, settle } from './fake_chrome.mjs';
import { FakeSocket } from './fake_socket.mjs';
import { challenge, factsOf, newNonce, welcome } from '../harness/handshake.mjs';

const EXTENSION = new URL('../../extension/', import.meta.url);

const hook = `
  export async function resolve(specifier, { parentURL, ...context }, next) {
    const resolved = await next(specifier, { parentURL, ...context });
    if (!resolved.url.startsWith('${EXTENSION}')) {
      return resolved;
    }
    const query = new URL(resolved.url).search || new URL(parentURL).search;
    return { ...resolved, url: resolved.url.split('?')[0] + query, format: 'module' };
  }`;
register(`data:text/javascript,${encodeURIComponent(hook)}`);

let starts = 0;

// A worker's timers end with it: when the next one starts, and after the last test.
const { setTimeout } = globalThis;
globalThis.setTimeout = (callback, ms, ...args) => {
  const start = starts;
  const timer = setTimeout(() => start === starts && callback(...args), ms);
  return ms >= 250 ? timer.unref() : timer;
};

/**
 * A new worker in this browser, with none of its modules loaded yet.
 * @returns {(module: string) => Promise<any>} Loads a module by file name.
 */
export function newWorker(browser) {
  starts += 1;
  const start = starts;
  FakeSocket.reset();
  setGlobals({
    chrome: browser.chrome,
    WebSocket: FakeSocket,
    fetch: (url, options) => browser.fetch(url, options),
    navigator: {
      userAgent:
        'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Safari/537.36',
      userAgentData: {
        getHighEntropyValues: async () => ({
          fullVersionList: [
            { brand: 'Not A Brand', version: '1' },
            { brand: 'Chromium', version: '156.0.8078.79' },
            { brand: 'Google Chrome', version: '156.0.8078.79' },
          ],
        }),
      },
    },
  });
  return (module) => import(`${EXTENSION}${module}?start=${start}`);
}

/** Newer versions of Node have a `navigator` of their own that cannot be assigned. */
function setGlobals(values) {
  for (const [name, value] of Object.entries(values)) {
    Object.defineProperty(globalThis, name, { value, writable: true, configurable: true });
  }
}

/** Starts the whole service worker. No relay has accepted its connection yet. */
export async function startWorker(browser) {
  await newWorker(browser)('background.js');
  await settle();
}

/** Sends a challenge, and returns what the proofs of this connection are about. */
export async function sendChallenge(socket, nonce = newNonce()) {
  socket.receive(challenge(nonce));
  await settle();
  return factsOf(nonce, JSON.parse(socket.frames.at(-1)), new URL(socket.url).host);
}

/** Completes the handshake on this socket as the user's relay does. */
export async function acceptSocket(socket = FakeSocket.last, options) {
  socket.receive(welcome(await sendChallenge(socket), options));
  await settle();
}

/** Starts the worker with a relay connected. Returns the socket, with all frames removed. */
export async function startConnected(browser) {
  await startWorker(browser);
  const socket = FakeSocket.last;
  await acceptSocket(socket);
  socket.frames.length = 0;
  return socket;
}

export const browserWithTabs = (...ids) =>
  new FakeBrowser(...ids.map((id) => ({ id, url: `https://example.org/${id}` })));

/** Sends a call as the relay does, and waits for the reply. */
export async function call(socket, id, method, params) {
  socket.receive({ id, method, params });
  await settle();
}

/** Attaches tabs as the relay does, and removes the replies from the socket. */
export async function attachTabs(socket, ...tabIds) {
  for (const tabId of tabIds) {
    await call(socket, tabId, 'attachTab', { tabId });
  }
  socket.frames.length = 0;
}

export const tabDetached = (tabId, reason) => ({
  method: 'tabDetached',
  params: { tabId, reason },
});

/** How long the toolbar button may lag behind. */
export const BADGE_DELAY_MS = 200;

/** The text of the badge on the toolbar button, once it is up to date. */
export async function badgeText(browser) {
  await new Promise((resolve) => setTimeout(resolve, BADGE_DELAY_MS + 10));
  return browser.callsTo('action.setBadgeText').at(-1)?.[0].text;
}

/** The user opens the popup. */
export async function openPopup(browser) {
  const popup = new FakePort();
  browser.chrome.runtime.onConnect.fire(popup);
  await settle();
  return popup;
}
