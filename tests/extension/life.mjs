/**
 * One life of the extension's service worker: its modules loaded anew, with nothing left of the life before.
 *
 * Node keeps a module by its address, so each life has its number in the query of every module's address. A resolve hook
 * hands the number on to the modules that a module imports, which a query alone would not do.
 */

import { register } from 'node:module';
import { turn } from './fake_chrome.mjs';
import { FakeSocket } from './fake_socket.mjs';

const EXTENSION = new URL('../../extension/', import.meta.url);

const hook = `
  export async function resolve(specifier, { parentURL, ...context }, next) {
    const resolved = await next(specifier, { parentURL, ...context });
    if (!resolved.url.startsWith('${EXTENSION}')) {
      return resolved;
    }
    const life = new URL(resolved.url).search || new URL(parentURL).search;
    return { ...resolved, url: resolved.url.split('?')[0] + life, format: 'module' };
  }`;
register(`data:text/javascript,${encodeURIComponent(hook)}`);

let lives = 0;

/**
 * Puts the modules of a new worker into this browser.
 * @returns {(module: string) => Promise<any>} Loads one of its modules, by file name.
 */
export function startLife(browser) {
  lives += 1;
  const life = lives;
  FakeSocket.reset();
  setGlobals({
    chrome: browser.chrome,
    WebSocket: FakeSocket,
    fetch: async () => ({ json: async () => ({ port: browser.installedPort }) }),
    navigator: {
      userAgent:
        'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Safari/537.36',
      userAgentData: {
        getHighEntropyValues: async () => ({
          fullVersionList: [
            { brand: 'Not A Brand', version: '1' },
            { brand: 'Chromium', version: '156.0.8078.79' },
          ],
        }),
      },
    },
  });
  return (module) => import(`${EXTENSION}${module}?life=${life}`);
}

/** Newer versions of Node have a `navigator` of their own, which cannot be assigned to. */
function setGlobals(values) {
  for (const [name, value] of Object.entries(values)) {
    Object.defineProperty(globalThis, name, { value, writable: true, configurable: true });
  }
}

/** The whole service worker in this browser, as far as it gets without a relay. */
export async function startWorker(browser) {
  await startLife(browser)('background.js');
  await turn();
}

/** The same with a relay that has answered and been greeted. Returns the socket between them, without the greeting. */
export async function startConnected(browser) {
  await startWorker(browser);
  const socket = FakeSocket.last;
  socket.opens();
  await turn();
  socket.frames.length = 0;
  return socket;
}
