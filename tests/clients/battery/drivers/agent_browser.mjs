/** agent-browser, by its command line. Its first command starts a daemon, which has the connection. */

import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { at, given, serve } from '../driver.mjs';

const PROGRAM = fileURLToPath(
  new URL('../packages/agent-browser/node_modules/.bin/agent-browser', import.meta.url),
);
const SAVED = path.join(given.folder, 'saved');
const DAEMON = path.join(given.folder, 'agent-browser/default.pid');

let own;

// After an operation that failed, the daemon may still run.
process.on('exit', () => {
  try {
    process.kill(Number(readFileSync(DAEMON, 'utf8')));
  } catch {
    // It has exited.
  }
});

/** Runs a command and returns its data. */
async function run(...args) {
  const { stdout } = await promisify(execFile)(PROGRAM, [...args, '--json']).catch((error) => {
    if (error.stdout) {
      return error;
    }
    throw error;
  });
  const { success, data, error } = JSON.parse(stdout.trim().split('\n').at(-1));
  if (!success) {
    throw new Error(error);
  }
  return data;
}

const tabs = async () => (await run('tab', 'list')).tabs;

async function select(path) {
  const { tabId } = (await tabs()).find(({ url }) => url === at(path));
  await run('tab', tabId);
  return tabId;
}

const evaluate = async (source) => (await run('eval', source)).result;

/** Selects a tab that the client has opened. */
async function work() {
  if (own === undefined) {
    await run('tab', 'new', at('/work'));
    own = (await tabs()).find(({ active }) => active).tabId;
  } else {
    await run('tab', own);
    if ((await run('get', 'url')).url !== at('/work')) {
      await run('open', at('/work'));
    }
  }
  await run('wait', '#download');
}

await serve({
  async connect() {
    await run('connect', given.address.ws);
    return (await tabs()).map(({ url }) => url);
  },
  async title() {
    await select('/inbox');
    return (await run('get', 'title')).title;
  },
  async evaluate() {
    await select('/notes');
    return evaluate('window.answer');
  },
  async click() {
    await select('/form');
    await run('click', '#press');
    return (await run('get', 'text', 'output')).text;
  },
  async type() {
    await select('/form');
    await run('type', '#name', 'hello');
    return (await run('get', 'value', '#name')).value;
  },
  async frame() {
    await select('/framed');
    const { snapshot } = await run('snapshot');
    return /Iframe[^]*(inside the frame)/.exec(snapshot)?.[1] ?? snapshot;
  },
  async open() {
    await work();
    return (await run('get', 'title')).title;
  },
  async navigate() {
    await work();
    await run('open', at('/next'));
    return (await run('get', 'title')).title;
  },
  async screenshot() {
    await work();
    await run('screenshot', `${SAVED}.png`);
    return readFile(`${SAVED}.png`, 'base64');
  },
  async intercept() {
    await work();
    await run('network', 'route', '**/data', '--body', 'from the client');
    const text = await evaluate("fetch('/data').then((response) => response.text())");
    await run('network', 'unroute', '**/data');
    return text;
  },
  async popup() {
    await work();
    await run('click', '#popup');
    const popup = await select('/popup');
    const { title } = await run('get', 'title');
    await run('tab', 'close', popup);
    return title;
  },
  async download() {
    await work();
    await run('download', '#download', SAVED);
    return readFile(SAVED, 'utf8');
  },
  async cookies() {
    await run('cookies', 'set', 'client', 'set', '--url', at('/'));
    return (await run('cookies')).cookies
      .map(({ name, value }) => `${name}=${value}`)
      .sort()
      .join(' ');
  },
  close: () => own && run('tab', 'close', own).then(() => true),
  disconnect: () => run('close').then(() => true),
});
