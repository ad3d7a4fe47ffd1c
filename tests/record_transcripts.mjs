/**
 * Records what real clients say to a page as they connect, from their own protocol logs, on Chromium's own port:
 * `node tests/record_transcripts.mjs` writes `fixtures/transcripts/`. Run it again when a client's version changes.
 */

import { execFile } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';

import { FIXTURES_DIR, startChromium } from './harness/processes.mjs';

const run = promisify(execFile);

const CLIENTS = [
  { name: 'playwright', module: 'playwright-core', debug: 'pw:protocol', connect: playwrightCode },
  {
    name: 'playwright',
    module: 'playwright-core-of-last-year',
    debug: 'pw:protocol',
    connect: playwrightCode,
  },
  { name: 'puppeteer', module: 'puppeteer-core', debug: '', connect: puppeteerCode },
];

function playwrightCode(module, url) {
  return `import pw from '${module}'; const browser = await pw.chromium.connectOverCDP('${url}'); await browser.close();`;
}

function puppeteerCode(module, url) {
  // Its own log is cut short, so its transport is listened to.
  return `import puppeteer from '${module}'; import WebSocket from 'ws';
    const socket = new WebSocket('${url}', { perMessageDeflate: false });
    await new Promise((resolve) => socket.once('open', resolve));
    const transport = { send: (message) => { console.log(message); socket.send(message); }, close: () => socket.close() };
    socket.on('message', (data) => transport.onmessage(String(data)));
    const browser = await puppeteer.connect({ transport, defaultViewport: null });
    await browser.pages(); await browser.disconnect();`;
}

/** The JSON objects of a log line, wherever they start. */
function* sentMessages(log) {
  for (const line of log.split('\n')) {
    const start = line.indexOf('{');
    if (start < 0 || /RECV|◀/.test(line)) {
      continue;
    }
    try {
      const message = JSON.parse(line.slice(start));
      if (message.method && message.id !== undefined) {
        yield message;
      }
    } catch {
      // A line that only looks like a message.
    }
  }
}

const chromium = await startChromium({});
const folder = path.join(FIXTURES_DIR, 'transcripts');
await mkdir(folder, { recursive: true });
try {
  for (const { name, module, debug, connect } of CLIENTS) {
    const { version } = JSON.parse(
      await readFile(new URL(`node_modules/${module}/package.json`, import.meta.url), 'utf8'),
    );
    const code = connect(module, chromium.ownUrl);
    const { stdout, stderr } = await run('node', ['--input-type=module', '-e', code], {
      cwd: new URL('.', import.meta.url),
      env: { ...process.env, DEBUG: debug, DEBUG_COLORS: '0', DEBUG_DEPTH: '20' },
      maxBuffer: 1 << 26,
    });
    const sent = [...sentMessages(stderr + stdout)].map(({ method, params, sessionId }) => ({
      method,
      params: params ?? {},
      sessionId,
    }));
    const session = sent.find(({ method }) => method === 'Page.getFrameTree')?.sessionId;
    const said = sent
      .filter((message) => message.sessionId === session)
      .map(({ method, params }) => ({ method, params }));
    const file = path.join(folder, `${name}-${version}.json`);
    await writeFile(file, `${JSON.stringify({ client: name, version, toPage: said }, null, 1)}\n`);
    console.log(`${file}: ${said.length} commands`);
  }
} finally {
  await chromium.stop();
}
