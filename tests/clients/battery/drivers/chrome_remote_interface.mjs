/** chrome-remote-interface, which opens a WebSocket for each page. On the relay it shows the token. */

import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';

import { at, given, serve } from '../driver.mjs';

const require = createRequire(
  new URL('../packages/chrome-remote-interface/package.json', import.meta.url),
);
const CDP = require('chrome-remote-interface');

const { hostname, port, searchParams } = new URL(given.address.http);
const token = searchParams.get('token');
const withToken = (path) => `${path}${path.includes('?') ? '&' : '?'}token=${token}`;
const options = {
  host: hostname,
  port: Number(port),
  alterPath: (path) => (token && path.startsWith('/json') ? withToken(path) : path),
};

/** The sockets, by the id of their target. */
const clients = new Map();
let own;

async function use(target) {
  if (!clients.has(target.id)) {
    clients.set(target.id, await CDP({ ...options, target }));
  }
  return clients.get(target.id);
}

const list = async () => (await CDP.List(options)).filter(({ type }) => type === 'page');
const find = async (url) => (await list()).find((target) => target.url === url);
const pageAt = async (path) => use(await find(at(path)));

async function evaluate(client, expression) {
  const { result, exceptionDetails } = await client.Runtime.evaluate({
    expression,
    awaitPromise: true,
    returnByValue: true,
  });
  if (exceptionDetails) {
    throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
  }
  return result.value;
}

async function goTo(client, url) {
  await client.Page.enable();
  await Promise.all([client.Page.loadEventFired(), client.Page.navigate({ url })]);
}

/** A tab that the client has opened. */
async function work() {
  own ??= await CDP.New({ ...options, url: at('/work') });
  const client = await use(own);
  const isThere = `location.pathname === '/work' && document.readyState === 'complete'`;
  if (!(await evaluate(client, isThere))) {
    await goTo(client, at('/work'));
  }
  return client;
}

async function click(client, selector) {
  const place = `(() => { const { x, y, width, height } = document.querySelector('${selector}').getBoundingClientRect();
    return { x: x + width / 2, y: y + height / 2 }; })()`;
  const { x, y } = await evaluate(client, place);
  for (const type of ['mousePressed', 'mouseReleased']) {
    await client.Input.dispatchMouseEvent({ type, x, y, button: 'left', clickCount: 1 });
  }
}

async function until(what, probe) {
  for (let left = 200; left > 0; left -= 1) {
    const found = await probe();
    if (found) {
      return found;
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`waited too long for ${what}`);
}

await serve({
  connect: async () => (await list()).map(({ url }) => url),
  title: async () => evaluate(await pageAt('/inbox'), 'document.title'),
  evaluate: async () => evaluate(await pageAt('/notes'), 'window.answer'),
  async click() {
    const page = await pageAt('/form');
    await page.Emulation.setFocusEmulationEnabled({ enabled: true });
    await click(page, '#press');
    return evaluate(page, `document.querySelector('output').textContent`);
  },
  async type() {
    const page = await pageAt('/form');
    await evaluate(page, `document.querySelector('#name').focus()`);
    await page.Input.insertText({ text: 'hello' });
    return evaluate(page, `document.querySelector('#name').value`);
  },
  async frame() {
    const page = await pageAt('/framed');
    const attached = new Promise((resolve) => {
      page.on('Target.attachedToTarget', ({ sessionId, targetInfo }) => {
        if (targetInfo.url.endsWith('/inner')) {
          resolve(sessionId);
        }
      });
    });
    const autoAttach = { autoAttach: true, waitForDebuggerOnStart: false, flatten: true };
    await page.Target.setAutoAttach(autoAttach);
    const expression = `document.querySelector('#text').textContent`;
    const read = await page.send('Runtime.evaluate', { expression }, await attached);
    return read.result.value;
  },
  open: async () => evaluate(await work(), 'document.title'),
  async navigate() {
    const page = await work();
    await goTo(page, at('/next'));
    return evaluate(page, 'document.title');
  },
  async screenshot() {
    const { data } = await (await work()).Page.captureScreenshot();
    return data;
  },
  async intercept() {
    const page = await work();
    await page.Fetch.enable({ patterns: [{ urlPattern: '*/data' }] });
    page.once('Fetch.requestPaused', ({ requestId }) => {
      const body = Buffer.from('from the client').toString('base64');
      page.Fetch.fulfillRequest({ requestId, responseCode: 200, body });
    });
    const text = await evaluate(page, `fetch('/data').then((response) => response.text())`);
    await page.Fetch.disable();
    return text;
  },
  async popup() {
    const page = await work();
    await click(page, '#popup');
    const popup = await until('the popup', () => find(at('/popup')));
    const client = await use(popup);
    const title = await until('its title', () => evaluate(client, 'document.title'));
    await CDP.Close({ ...options, id: popup.id });
    return title;
  },
  async download() {
    const page = await work();
    const { webSocketDebuggerUrl } = await CDP.Version(options);
    const browser = await CDP({ ...options, target: webSocketDebuggerUrl });
    const behavior = { behavior: 'allowAndName', downloadPath: given.folder, eventsEnabled: true };
    await browser.Browser.setDownloadBehavior(behavior);
    const completed = new Promise((resolve) => {
      browser.on('Browser.downloadProgress', ({ guid, state }) => {
        if (state === 'completed') {
          resolve(path.join(given.folder, guid));
        }
      });
    });
    await click(page, '#download');
    const text = await readFile(await completed, 'utf8');
    await browser.close();
    return text;
  },
  async cookies() {
    const page = await work();
    await page.Network.setCookie({ name: 'client', value: 'set', url: at('/') });
    const { cookies } = await page.Network.getCookies({ urls: [at('/')] });
    return cookies
      .map(({ name, value }) => `${name}=${value}`)
      .sort()
      .join(' ');
  },
  close: () => CDP.Close({ ...options, id: own.id }),
  async disconnect() {
    const open = [...clients.values()].filter(({ _ws }) => _ws?.readyState === 1);
    await Promise.all(open.map((client) => client.close()));
  },
});
