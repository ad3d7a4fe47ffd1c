/**
 * Compares the calls that the relay or the extension carries out by itself with the same calls on
 * Chromium's own port: permissions, windows, cookies, targets, downloads and Chrome's HTTP addresses.
 *
 *   cargo build --release && node tests/bench/emulated.mjs [--json] [--rounds 7] [--only PART]
 *
 * It starts two Chromiums, one with the extension and one without, with the same tabs. The sides take
 * turns call by call. A figure is the median of its rounds, and a ratio is the median of the ratios of
 * the rounds. A call passes if it takes at most twice as long as on the own port, or at most 20 ms.
 * Exits with 1 if one does not.
 *
 * For many cookies, a third Chromium takes part, with an extension that does nothing but call
 * `chrome.cookies`: no extension can be faster without a debugger (`bare_cookies.mjs`).
 *
 * Safe Browsing is off in both. On the own port it does not check downloads. Through the extension it does, and
 * without a network that takes up to five seconds.
 */

import './release_binary.mjs';

import { readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { parseArgs } from 'node:util';

import { chromium as playwright } from 'playwright-core';

import { pageAt } from '../harness/chain.mjs';
import { startChromium, startRelay, temporaryFolder, until } from '../harness/processes.mjs';
import { connectRaw } from '../harness/raw_client.mjs';
import { startSite } from '../harness/site.mjs';
import { startBareCookies } from './bare_cookies.mjs';
import { CALLS, COOKIES } from './emulated_calls.mjs';
import { median, timed } from './figures.mjs';

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '7' },
    only: { type: 'string', default: '' },
    json: { type: 'boolean', default: false },
  },
});
const ROUNDS = Number(options.rounds);
const TABS = 20;
const TIMES = 10;
const MAX_RATIO = 2;
const MAX_MS = 20;

const site = await startSite({
  '/': '<title>bench</title><a href="/file" download>file</a>',
  '/tab': '<title>a tab</title>',
  '/file': (_request, response) =>
    response.setHeader('content-disposition', 'attachment; filename="file.txt"').end('bytes'),
});

/** Opens the tabs and connects to them. @param {string} url */
async function connect(url) {
  const opener = await connectRaw(url);
  for (let n = 0; n < TABS; n += 1) {
    await opener.send('Target.createTarget', { url: site.url('/tab'), background: true });
  }
  await until('all tabs have loaded', async () => {
    const { targetInfos } = await opener.send('Target.getTargets');
    return targetInfos.filter(({ title }) => title === 'a tab').length === TABS;
  });
  // A client of its own, so that nobody uses the tabs.
  await opener.close();
  const client = await connectRaw(url);
  const { targetInfos } = await client.send('Target.getTargets');
  const targetIds = targetInfos
    .filter((target) => target.url === site.url('/tab'))
    .map(({ targetId }) => targetId);
  const { targetId } = await client.send('Target.createTarget', { url: site.url('/') });
  const { windowId } = await client.send('Browser.getWindowForTarget', { targetId });
  const browser = await playwright.connectOverCDP(url);
  const side = {
    client: { ...client, waitFor: (matches) => nextEvent(client, matches) },
    session: '',
    use: async () => void (side.session = await usePage(client, targetId)),
    stopUsing: () => client.send('Target.detachFromTarget', { sessionId: side.session }),
    targetIds,
    windowId,
    dormantPage: pageAt(browser.contexts()[0], '/tab'),
    http: (method, address) => request(url, method, address),
    folder: (await temporaryFolder('bench')).path,
    count: 0,
    browser,
  };
  await side.use();
  return side;
}

/** Returns a session in this page, which has loaded. */
async function usePage(client, targetId) {
  const { sessionId } = await client.send('Target.attachToTarget', { targetId, flatten: true });
  await client.send('Page.enable', {}, sessionId);
  await until('the page has loaded', async () => {
    const expression = 'document.querySelector("a") !== null';
    const { result } = await client.send('Runtime.evaluate', { expression }, sessionId);
    return result.value;
  });
  return sessionId;
}

/** Resolves as soon as this event has arrived. */
async function nextEvent(client, matches) {
  for (;;) {
    const event = client.events.find(matches);
    if (event) {
      return event;
    }
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

/** A request to the HTTP addresses beside this WebSocket. */
async function request(url, method, address) {
  const { host, searchParams } = new URL(url);
  const token = searchParams.get('token');
  const headers = token ? { authorization: `Bearer ${token}` } : {};
  const response = await fetch(`http://${host}${address}`, { method, headers });
  if (!response.ok) {
    throw new Error(`${method} ${address}: ${response.status}`);
  }
  return response.json();
}

/** The median time of a call. */
async function measure(call, side) {
  const times = [];
  for (let n = 0; n < (call.times ?? TIMES); n += 1) {
    side.count += 1;
    const prepared = await call.before?.(side);
    let result;
    times.push(await timed(async () => (result = await call.run(side, prepared))));
    await call.after?.(side, result);
  }
  return median(times);
}

async function compare(tabwire, own, bare) {
  const calls = CALLS.filter(({ name }) => name.includes(options.only));
  const results = calls.map((call) => ({ call, tabwire: [], own: [], bare: [] }));
  // Round 0 warms up and is not counted.
  for (let round = 0; round <= ROUNDS; round += 1) {
    for (const result of results) {
      const { call } = result;
      const sides = Object.entries({ tabwire, own, ...(call.bare ? { bare } : {}) });
      for (const [name, side] of round % 2 === 0 ? sides : sides.reverse()) {
        const time = await measure(name === 'bare' ? call.bare : call, side);
        if (round > 0) {
          result[name].push(time);
        }
      }
    }
  }
  return results.map(summarize);
}

function summarize({ call: { name }, tabwire, own, bare }) {
  const ratioTo = (times) => median(tabwire.map((time, round) => time / times[round]));
  const ratio = ratioTo(own);
  const ms = median(tabwire);
  const met = ratio <= MAX_RATIO || ms <= MAX_MS;
  const least = bare.length > 0 ? { bare: median(bare), ratioToBare: ratioTo(bare) } : {};
  return { name, tabwire: ms, own: median(own), ratio, ...least, met };
}

function print(rows) {
  const line = (...[name, ...cells]) =>
    console.log(name.padEnd(42) + cells.map((cell) => cell.padStart(11)).join(''));
  console.log(`Emulated calls, medians of ${ROUNDS} rounds (<= ${MAX_RATIO}x or <= ${MAX_MS} ms)`);
  line('milliseconds', 'Tabwire', 'own port', 'ratio', '', 'extension', 'ratio');
  for (const { name, tabwire, own, ratio, met, bare, ratioToBare } of rows) {
    const verdict = met ? 'met' : 'MISSED';
    const least = bare === undefined ? [] : [bare.toFixed(2), `${ratioToBare.toFixed(2)}x`];
    line(name, tabwire.toFixed(2), own.toFixed(2), `${ratio.toFixed(2)}x`, verdict, ...least);
  }
}

/** @param {string} profile */
async function turnOffSafeBrowsing(profile) {
  const file = path.join(profile, 'Default/Preferences');
  const preferences = JSON.parse(await readFile(file, 'utf8'));
  await writeFile(file, JSON.stringify({ ...preferences, safebrowsing: { enabled: false } }));
}

const relay = await startRelay({ args: ['--client-mode', 'multi-client'] });
const chromium = await startChromium({ relay, prepare: turnOffSafeBrowsing });
const plain = await startChromium({ prepare: turnOffSafeBrowsing });
const bare = await startBareCookies(COOKIES);
try {
  await relay.waitForExtension();
  const tabwire = await connect(relay.cdpUrl);
  const own = await connect(plain.ownUrl);
  const rows = await compare(tabwire, own, bare);
  if (options.json) {
    console.log(JSON.stringify({ rounds: ROUNDS, rows }, null, 2));
  } else {
    print(rows);
  }
  process.exitCode = rows.every(({ met }) => met) ? 0 : 1;
  for (const { browser, client, folder } of [tabwire, own]) {
    await browser.close();
    client.kill();
    await rm(folder, { recursive: true });
  }
} finally {
  await bare.stop();
  await plain.stop();
  await chromium.stop();
  await relay.stop();
  site.stop();
}
