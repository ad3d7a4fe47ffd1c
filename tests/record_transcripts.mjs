/**
 * Records which commands real clients send to a page when they connect to Chromium's own port, and
 * writes them to `fixtures/transcripts/`. Run `node tests/record_transcripts.mjs` when the version
 * of a client changes.
 */

import { execFile } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';

import { FIXTURES_DIR, startChromium } from './harness/processes.mjs';

const run = promisify(execFile);
const FOLDER = path.join(FIXTURES_DIR, 'transcripts');

const CLIENTS = [
  { name: 'playwright', module: 'playwright-core', code: playwrightCode },
  { name: 'playwright', module: 'playwright-core-1.56', code: playwrightCode },
  { name: 'puppeteer', module: 'puppeteer-core', code: puppeteerCode },
];

/** With `DEBUG=pw:protocol`, Playwright logs every message. */
function playwrightCode(module, url) {
  return `import pw from '${module}'; const browser = await pw.chromium.connectOverCDP('${url}'); await browser.close();`;
}

/**
 * Puppeteer truncates its own log, so this transport logs what it sends. With its default viewport, it sends more
 * than without one.
 */
function puppeteerCode(module, url) {
  return `import puppeteer from '${module}'; import WebSocket from 'ws';
    const socket = new WebSocket('${url}', { perMessageDeflate: false });
    await new Promise((resolve) => socket.once('open', resolve));
    const transport = { send: (message) => { console.log(message); socket.send(message); }, close: () => socket.close() };
    socket.on('message', (data) => transport.onmessage(String(data)));
    const browser = await puppeteer.connect({ transport });
    await browser.pages(); await browser.disconnect();`;
}

/** The commands in a log. A message may start anywhere in its line. */
function* sentCommands(log) {
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
      // The line only looks like a message.
    }
  }
}

async function record({ name, module, code }, url) {
  const manifest = new URL(`node_modules/${module}/package.json`, import.meta.url);
  const { version } = JSON.parse(await readFile(manifest, 'utf8'));
  const { stdout, stderr } = await run('node', ['--input-type=module', '-e', code(module, url)], {
    cwd: new URL('.', import.meta.url),
    env: { ...process.env, DEBUG: 'pw:protocol', DEBUG_COLORS: '0', DEBUG_DEPTH: '20' },
    maxBuffer: 1 << 26,
  });
  const sent = [...sentCommands(stderr + stdout)];
  const session = sent.find(({ method }) => method === 'Page.getFrameTree')?.sessionId;
  const toPage = sent
    .filter(({ sessionId }) => sessionId === session)
    .map(({ method, params }) => ({ method, params: params ?? {} }));
  const file = path.join(FOLDER, `${name}-${version}.json`);
  await writeFile(file, `${JSON.stringify({ client: name, version, toPage }, null, 1)}\n`);
  console.log(`${file}: ${toPage.length} commands`);
}

const chromium = await startChromium();
try {
  await mkdir(FOLDER, { recursive: true });
  for (const client of CLIENTS) {
    await record(client, chromium.ownUrl);
  }
} finally {
  await chromium.stop();
}
