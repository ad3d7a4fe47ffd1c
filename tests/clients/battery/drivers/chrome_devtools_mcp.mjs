/** chrome-devtools-mcp, through its tools. It has none for interception, downloads and cookies. */

import { at, serve } from '../driver.mjs';
import { address, found, installed, startServer } from './mcp.mjs';

const PROGRAM = installed('chrome-devtools-mcp/build/src/bin/chrome-devtools-mcp.js');

let server;
let own;

/** Lines such as `3: Inbox (http://…/inbox) [selected]`. */
const LINE = /^(\d+): (.*) \((\S+)\)/;

const pagesIn = (text) =>
  text
    .split('\n')
    .map((line) => LINE.exec(line))
    .filter((match) => match)
    .map(([, pageId, title, url]) => ({ pageId: Number(pageId), title, url }));

const pages = async () => pagesIn(await server.tool('list_pages'));

const idAt = async (path) => (await pages()).find(({ url }) => url === at(path)).pageId;

async function evaluate(pageId, source) {
  const text = await server.tool('evaluate_script', { pageId, function: source });
  return JSON.parse(found(text, /```json\n(.*)\n```/)[0]);
}

const uidOf = async (pageId, pattern) =>
  found(await server.tool('take_snapshot', { pageId }), pattern)[0];

/** The page of a tab that the client has opened. */
async function work() {
  if (own === undefined) {
    const before = (await pages()).map(({ pageId }) => pageId);
    const opened = pagesIn(await server.tool('new_page', { url: at('/work'), background: true }));
    own = opened.find(({ pageId }) => !before.includes(pageId)).pageId;
  }
  if ((await evaluate(own, '() => location.pathname')) !== '/work') {
    await server.tool('navigate_page', { pageId: own, url: at('/work') });
  }
  return own;
}

await serve({
  async connect() {
    const flags = ['--no-usage-statistics', '--no-performance-crux'];
    server = await startServer(PROGRAM, '--wsEndpoint', address, ...flags);
    return (await pages()).map(({ url }) => url);
  },
  title: async () => evaluate(await idAt('/inbox'), '() => document.title'),
  evaluate: async () => evaluate(await idAt('/notes'), '() => window.answer'),
  async click() {
    const pageId = await idAt('/form');
    const uid = await uidOf(pageId, /uid=(\w+) button "Press"/);
    await server.tool('click', { pageId, uid });
    return evaluate(pageId, "() => document.querySelector('output').textContent");
  },
  async type() {
    const pageId = await idAt('/form');
    const uid = await uidOf(pageId, /uid=(\w+) textbox "Name"/);
    await server.tool('fill', { pageId, uid, value: 'hello' });
    return evaluate(pageId, "() => document.querySelector('#name').value");
  },
  async frame() {
    const pageId = await idAt('/framed');
    return uidOf(pageId, /Iframe[^]*"(inside the frame)"/i);
  },
  open: async () => evaluate(await work(), '() => document.title'),
  async navigate() {
    const pageId = await work();
    await server.tool('navigate_page', { pageId, url: at('/next') });
    return evaluate(pageId, '() => document.title');
  },
  screenshot: async () => server.picture('take_screenshot', { pageId: await work() }),
  async popup() {
    const pageId = await work();
    const uid = await uidOf(pageId, /uid=(\w+) button "Open popup"/);
    await server.tool('click', { pageId, uid });
    const popup = await idAt('/popup');
    const title = await evaluate(popup, '() => document.title');
    await server.tool('close_page', { pageId: popup });
    return title;
  },
  close: () => own && server.tool('close_page', { pageId: own }).then(() => true),
  disconnect: () => server.close(),
});
