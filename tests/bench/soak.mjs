/**
 * Lets many clients work in one browser for a while, checks every reply, and measures the relay's
 * memory.
 *
 *   cargo build --release && node tests/bench/soak.mjs [--json] [--seconds N] [--tabs N] [--clients N]
 *
 * The user has 200 tabs. Each of ten Playwrights uses ten of them, two at a time; the other tabs
 * stay dormant. Every tab carries its number in its title, color and console messages, so that
 * anything from another tab shows. Exits with 1 if a result was wrong, an action failed or was
 * never answered, or an event came from another tab.
 */

import './release_binary.mjs';

import { chromium as playwright } from 'playwright-core';

import { openTabs, pageAt } from '../harness/chain.mjs';
import { residentMemory } from '../harness/process_stats.mjs';
import { startChain } from '../harness/processes.mjs';
import { startSite } from '../harness/site.mjs';
import { ACTIONS, colorOf } from './soak_actions.mjs';

const option = (name, fallback) => Number(process.argv[process.argv.indexOf(name) + 1]) || fallback;
const SECONDS = option('--seconds', 60);
const TABS = option('--tabs', 200);
const CLIENTS = option('--clients', 10);
const TABS_PER_CLIENT = 10;
const CONCURRENCY = 2;
/**
 * Longer than any timeout of Playwright or the relay, so an action that takes this long is lost.
 */
const LOST_AFTER_MS = 90_000;
const TARGET_MB = 40;

const page = (request, response) => {
  const n = Number(new URL(request.url, 'http://site').searchParams.get('n'));
  response.setHeader('content-type', 'text/html');
  response.end(`<!doctype html><title>Tab ${n}</title><style>body { margin: 0; background: rgb(${colorOf(n)}) }</style>
    <div style="height: 50px"></div><button onclick="this.textContent = Number(this.textContent) + 1">0</button> <input>`);
};

/** A pseudo-random sequence, so that a run can be repeated. */
function randomSequence(seed) {
  let state = seed;
  return (limit) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fff_ffff;
    return (state >>> 8) % limit;
  };
}

const PROBLEMS = ['wrong', 'failed', 'lost', 'stray'];
const report = { done: {}, wrong: [], failed: [], lost: [], stray: [] };

function count(name, ms) {
  report.done[name] ??= { count: 0, ms: 0, longest: 0 };
  const done = report.done[name];
  done.count += 1;
  done.ms += ms;
  done.longest = Math.max(done.longest, ms);
}

/** Performs one action and records its outcome. */
async function act(tab, name) {
  const started = performance.now();
  let timer;
  const timeout = new Promise((resolve) => {
    timer = setTimeout(resolve, LOST_AFTER_MS, 'lost');
  });
  try {
    const outcome = await Promise.race([ACTIONS[name](tab), timeout]);
    if (outcome === 'lost') {
      report.lost.push(`${name} in tab ${tab.n}`);
      return;
    }
    const [actual, expected] = outcome;
    if (actual !== expected) {
      report.wrong.push(`${name} in tab ${tab.n}: ${actual} instead of ${expected}`);
    }
    count(name, performance.now() - started);
  } catch (error) {
    report.failed.push(`${name} in tab ${tab.n}: ${error.message.split('\n')[0]}`);
    tab.clicks = Number(await tab.page.textContent('button').catch(() => tab.clicks));
  } finally {
    clearTimeout(timer);
  }
}

/** Finds a client's page of a tab, and reports console messages that belong to another tab. */
function watchTab(context, n, url) {
  const found = pageAt(context, url);
  found.on('console', (message) => {
    if (!message.text().startsWith(`${n}: `)) {
      report.stray.push(`tab ${n} logged ${message.text()}`);
    }
  });
  return { page: found, n, url, clicks: 0, round: 0 };
}

/** Lets one client work until the end. */
async function work(context, numbers, url, seed, end) {
  const random = randomSequence(seed);
  const tabs = numbers.map((n) => watchTab(context, n, url(n)));
  const names = Object.keys(ACTIONS);
  await Promise.all(
    Array.from({ length: CONCURRENCY }, async (_, part) => {
      const own = tabs.filter((_tab, index) => index % CONCURRENCY === part);
      while (performance.now() < end) {
        const tab = own[random(own.length)];
        tab.round += 1;
        await act(tab, names[random(names.length)]);
      }
    }),
  );
}

/**
 * Connects the clients, lets them work, and returns how long they did and what memory the relay
 * used.
 */
async function soak(chain, url) {
  const { pid } = chain.relay.child;
  const browsers = await Promise.all(
    Array.from({ length: CLIENTS }, () =>
      playwright.connectOverCDP(chain.cdpUrl, { timeout: 120_000 }),
    ),
  );
  const connected = await residentMemory(pid);
  const started = performance.now();
  const end = started + SECONDS * 1_000;
  await Promise.all(
    browsers.map((browser, client) => {
      const first = client * TABS_PER_CLIENT;
      const numbers = Array.from({ length: TABS_PER_CLIENT }, (_, index) => first + index);
      return work(browser.contexts()[0], numbers, url, client + 1, end);
    }),
  );
  const seconds = (performance.now() - started) / 1_000;
  const atTheEnd = await residentMemory(pid);
  await Promise.all(browsers.map((browser) => browser.close()));
  await chain.relay.waitForClients(0);
  const highest = await residentMemory(pid, 'VmHWM');
  const afterTheClients = await residentMemory(pid);
  return { seconds, megabytes: { connected, atTheEnd, highest, afterTheClients } };
}

function print({ seconds, operations, perSecond, megabytes, memoryMet }) {
  console.log(
    `${TABS} tabs, ${CLIENTS} clients, ${seconds.toFixed(0)} s: ${operations} operations, ${perSecond.toFixed(0)} per second`,
  );
  for (const [name, { count: done, ms, longest }] of Object.entries(report.done)) {
    console.log(
      `  ${name.padEnd(14)}${String(done).padStart(7)}   mean ${(ms / done).toFixed(0).padStart(5)} ms   longest ${longest.toFixed(0).padStart(6)} ms`,
    );
  }
  for (const problem of PROBLEMS) {
    const examples = report[problem].slice(0, 10).map((line) => `\n  ${line}`);
    console.log(`${problem}: ${report[problem].length}${examples.join('')}`);
  }
  const figures = Object.entries(megabytes).map(([name, value]) => `${name} ${value.toFixed(1)}`);
  console.log(
    `relay, MB: ${figures.join(', ')}; target <= ${TARGET_MB}: ${memoryMet ? 'met' : 'MISSED'}`,
  );
}

const site = await startSite({ '/page': page, '/favicon.ico': '' });
const chain = await startChain({ args: ['--client-mode', 'multi-client'] });
try {
  const url = (n) => site.url(`/page?n=${n}`);
  await openTabs(
    chain,
    Array.from({ length: TABS }, (_, n) => url(n)),
  );
  const { seconds, megabytes } = await soak(chain, url);
  const operations = Object.values(report.done).reduce((sum, done) => sum + done.count, 0);
  const perSecond = operations / seconds;
  const memoryMet = megabytes.highest <= TARGET_MB;
  const summary = { seconds, operations, perSecond, ...report, megabytes, memoryMet };
  if (process.argv.includes('--json')) {
    console.log(JSON.stringify(summary, null, 2));
  } else {
    print(summary);
  }
  process.exitCode = PROBLEMS.some((problem) => report[problem].length > 0) ? 1 : 0;
} finally {
  await chain.stop();
  site.stop();
}
