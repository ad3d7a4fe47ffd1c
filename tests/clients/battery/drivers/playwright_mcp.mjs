/** @playwright/mcp, through its tools. `--caps` turns on those for cookies and interception. */

import { readFile } from 'node:fs/promises';
import path from 'node:path';

import { at, given, serve } from '../driver.mjs';
import { address, found, installed, startServer } from './mcp.mjs';

let server;
let own = false;

/** Lines such as `- 3: (current) [Inbox](http://…/inbox)`. */
const LINE = /^- (\d+): (?:\(current\) )?\[(.*)\]\((\S+)\)/;

const pagesIn = (text) =>
  text
    .split('\n')
    .map((line) => LINE.exec(line))
    .filter((match) => match)
    .map(([, index, title, url]) => ({ index: Number(index), title, url }));

const pages = async () => pagesIn(await server.tool('browser_tabs', { action: 'list' }));

async function select(path) {
  const { index } = (await pages()).find(({ url }) => url === at(path));
  await server.tool('browser_tabs', { action: 'select', index });
}

async function evaluate(source) {
  const text = await server.tool('browser_evaluate', { function: source });
  return JSON.parse(found(text, /### Result\n(.*)/)[0]);
}

const refOf = async (pattern) => found(await server.tool('browser_snapshot'), pattern)[0];

/** Selects a tab that the client has opened. */
async function work() {
  if (!own) {
    await server.tool('browser_tabs', { action: 'new', url: at('/work') });
    own = true;
  } else if ((await evaluate('() => location.pathname')) !== '/work') {
    await server.tool('browser_navigate', { url: at('/work') });
  }
}

await serve({
  async connect() {
    server = await startServer(
      installed('@playwright/mcp/cli.js'),
      ...['--cdp-endpoint', address, '--caps', 'network,storage'],
      ...['--output-dir', path.join(given.folder, 'output'), '--cdp-timeout', '15000'],
    );
    return (await pages()).map(({ url }) => url);
  },
  title: async () => (await pages()).find(({ url }) => url === at('/inbox')).title,
  async evaluate() {
    await select('/notes');
    return evaluate('() => window.answer');
  },
  async click() {
    await select('/form');
    const target = await refOf(/button "Press".*\[ref=(\w+)\]/);
    await server.tool('browser_click', { target, element: 'Press' });
    return evaluate("() => document.querySelector('output').textContent");
  },
  async type() {
    await select('/form');
    const target = await refOf(/textbox "Name".*\[ref=(\w+)\]/);
    await server.tool('browser_type', { target, element: 'Name', text: 'hello', slowly: true });
    return evaluate("() => document.querySelector('#name').value");
  },
  async frame() {
    await select('/framed');
    return refOf(/iframe[^]*: (inside the frame)/);
  },
  async open() {
    await work();
    return evaluate('() => document.title');
  },
  async navigate() {
    await work();
    await server.tool('browser_navigate', { url: at('/next') });
    return evaluate('() => document.title');
  },
  async screenshot() {
    await work();
    return server.picture('browser_take_screenshot', { type: 'png' });
  },
  async intercept() {
    await work();
    await server.tool('browser_route', { pattern: '**/data', body: 'from the client' });
    const text = await evaluate("async () => (await fetch('/data')).text()");
    await server.tool('browser_unroute', { pattern: '**/data' });
    return text;
  },
  async popup() {
    await work();
    const target = await refOf(/button "Open popup".*\[ref=(\w+)\]/);
    await server.tool('browser_click', { target, element: 'Open popup' });
    await select('/popup');
    const title = await evaluate('() => document.title');
    await server.tool('browser_tabs', { action: 'close' });
    await select('/work');
    return title;
  },
  async download() {
    await work();
    const target = await refOf(/link "Download file".*\[ref=(\w+)\]/);
    let text = await server.tool('browser_click', { target, element: 'Download file' });
    for (let tries = 0; !/Downloaded file/.test(text) && tries < 4; tries += 1) {
      text = await server.tool('browser_wait_for', { time: 0.5 });
    }
    const file = /Downloaded file \S+ to "(.*)"/.exec(text);
    if (!file) {
      throw new Error('no response names the downloaded file');
    }
    return readFile(path.resolve(file[1]), 'utf8');
  },
  async cookies() {
    await server.tool('browser_cookie_set', { name: 'client', value: 'set', domain: '127.0.0.1' });
    const text = await server.tool('browser_cookie_list');
    return [...text.matchAll(/^(\w+)=(\w+)/gm)]
      .map(([, name, value]) => `${name}=${value}`)
      .sort()
      .join(' ');
  },
  async close() {
    if (own) {
      await work();
      await server.tool('browser_tabs', { action: 'close' });
    }
  },
  disconnect: () => server.close(),
});
