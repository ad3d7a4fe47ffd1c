/**
 * Measures how long a browser takes to appear: from a client's connection to its first evaluate,
 * with the extension and with `--launch-direct`, beside Playwright launching the same Chromium by
 * itself; and from the kill of a browser to the next answered request. Each round takes turns. All of
 * them evaluate in the page that the browser starts with. Playwright has a new profile each time. The
 * relay's is new for the first launch and exists for the next one.
 * Exits with 1 if a figure exceeds its limit.
 *
 *   cargo build --release && node tests/bench/launch.mjs [--rounds 7] [--json]
 */

import './release_binary.mjs';

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { parseArgs } from 'node:util';

import { chromium as playwright } from 'playwright-core';
import { WebSocketServer } from 'ws';

import { browserPid, browserPids, untilBrowserGone } from '../harness/launched.mjs';
import { CHROMIUM, endProcess, startRelay, temporaryFolder } from '../harness/processes.mjs';
import { connectRaw } from '../harness/raw_client.mjs';
import { median, timed } from './figures.mjs';

const { values: options } = parseArgs({
  options: { rounds: { type: 'string', default: '7' }, json: { type: 'boolean', default: false } },
});
const ROUNDS = Number(options.rounds);
const MAX_LAUNCH_RATIO = 1.3;
const MAX_RECOVERY_MS = 500;

/** In the page that the browser has started with. */
const evaluate = async (context) => {
  if ((await context.pages()[0].evaluate('6 * 7')) !== 42) {
    throw new Error('the page did not answer');
  }
};

/** Playwright launches Chromium by itself. Its other way to launch would have to open a page first. */
async function measurePlaywright() {
  let context;
  const time = await timed(async () => {
    const args = process.getuid?.() === 0 ? ['--no-sandbox'] : [];
    context = await playwright.launchPersistentContext('', { executablePath: CHROMIUM, args });
    await evaluate(context);
  });
  await context.close();
  return time;
}

/** The relay launches it for the first client, again after it was killed, and for the next relay. */
async function measureRelay(args) {
  const home = await temporaryFolder('bench');
  try {
    const first = await withRelay(home, args, async (relay) => ({
      launch: await measureLaunch(relay),
      recovery: await measureRecovery(home, relay),
    }));
    return { ...first, relaunch: await withRelay(home, args, measureLaunch) };
  } finally {
    await home.remove();
  }
}

/** Passes a relay that launches browsers to `measure`, and stops it and its browser. */
async function withRelay(home, args, measure) {
  const relay = await startRelay({
    home,
    args: ['--launch', CHROMIUM, ...args],
    env: { DISPLAY: '' },
  });
  try {
    return await measure(relay);
  } finally {
    const pids = await browserPids(home);
    await relay.stop({ keepHome: true });
    await Promise.all(pids.map(untilBrowserGone));
  }
}

async function measureLaunch(relay) {
  let browser;
  const time = await timed(async () => {
    browser = await playwright.connectOverCDP(relay.cdpUrl);
    await evaluate(browser.contexts()[0]);
  });
  await browser.close();
  await relay.waitForClients(0);
  return time;
}

async function measureRecovery(home, relay) {
  const client = await connectRaw(relay.cdpUrl);
  await client.send('Target.getTargets');
  const pid = await browserPid(home);
  const time = await timed(async () => {
    process.kill(-pid, 'SIGKILL');
    // A request that the old browser still gets has an unknown outcome.
    while ((await relay.status()).extension);
    await client.send('Target.getTargets');
  });
  client.kill();
  return time;
}

/** For comparison: an extension that only opens a WebSocket, in a new profile, until it connects. */
async function measureBareExtension() {
  const [profile, extension] = [await temporaryFolder('bench'), await temporaryFolder('bench')];
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  await once(server, 'listening');
  const manifest = {
    manifest_version: 3,
    name: 'bare',
    version: '1',
    background: { service_worker: 'worker.js' },
  };
  const worker = `new WebSocket('ws://127.0.0.1:${server.address().port}/');`;
  await writeFile(path.join(extension.path, 'manifest.json'), JSON.stringify(manifest));
  await writeFile(path.join(extension.path, 'worker.js'), worker);
  let child;
  const time = await timed(async () => {
    child = spawn(CHROMIUM, bareArguments(profile, extension), { stdio: 'ignore' });
    await once(server, 'connection');
  });
  await endProcess(child);
  server.close();
  await Promise.all([profile.remove(), extension.remove()]);
  return time;
}

/** What the relay launches a headless browser with. */
const bareArguments = (profile, extension) => [
  `--user-data-dir=${profile.path}`,
  `--load-extension=${extension.path}`,
  '--disable-features=DisableLoadExtensionCommandLineSwitch,MediaRouter,OptimizationHints,Translate,' +
    'WebUIOmniboxAimPopup,WebUIOmniboxFullPopup,WebUIOmniboxPopup',
  '--headless=new',
  '--no-first-run',
  '--no-default-browser-check',
  '--mute-audio',
  '--disable-background-networking',
  '--disable-component-extensions-with-background-pages',
  '--disable-component-update',
  '--disable-default-apps',
  '--disable-sync',
  '--metrics-recording-only',
  ...(process.getuid?.() === 0 ? ['--no-sandbox'] : []),
  'about:blank',
];

const rounds = [];
for (let round = 0; round < ROUNDS; round += 1) {
  rounds.push({
    own: await measurePlaywright(),
    bare: await measureBareExtension(),
    extension: await measureRelay([]),
    direct: await measureRelay(['--launch-direct']),
  });
}

/** The median of a figure over all rounds. */
const of = (figure) => median(rounds.map(figure));
const bare = {
  name: 'a bare extension connects',
  ms: of((round) => round.bare),
  figure: of((round) => round.bare / round.own),
  unit: '× Playwright',
};
const rows = ['extension', 'direct'].flatMap((kind) => [
  {
    name: `first launch to first evaluate, ${kind}`,
    ms: of((round) => round[kind].launch),
    figure: of((round) => round[kind].launch / round.own),
    unit: '× Playwright',
    limit: MAX_LAUNCH_RATIO,
  },
  {
    name: `next launch to first evaluate, ${kind}`,
    ms: of((round) => round[kind].relaunch),
    figure: of((round) => round[kind].relaunch / round.own),
    unit: '× Playwright',
    limit: MAX_LAUNCH_RATIO,
  },
  {
    name: `killed to next answer, ${kind}`,
    ms: of((round) => round[kind].recovery),
    figure: of((round) => round[kind].recovery - round[kind].launch),
    unit: 'ms over a launch',
    limit: MAX_RECOVERY_MS,
  },
]);

if (options.json) {
  console.log(JSON.stringify({ rounds: ROUNDS, playwright: of((round) => round.own), bare, rows }));
} else {
  console.log(`Launching Chromium, medians of ${ROUNDS} rounds`);
  console.log(`Playwright by itself, launch to first evaluate: ${of((r) => r.own).toFixed(0)} ms`);
  console.log(
    `A bare extension connects: ${bare.ms.toFixed(0)} ms, ${bare.figure.toFixed(2)} × Playwright`,
  );
  for (const { name, ms, figure, unit, limit } of rows) {
    const verdict = figure <= limit ? 'met' : 'MISSED';
    const value = unit.startsWith('×') ? figure.toFixed(2) : figure.toFixed(0);
    console.log(
      `${name.padEnd(40)}${ms.toFixed(0).padStart(6)} ms   ${value} ${unit} (<= ${limit}: ${verdict})`,
    );
  }
}
process.exitCode = rows.every(({ figure, limit }) => figure <= limit) ? 0 : 1;
