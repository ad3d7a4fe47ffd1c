/**
 * Compares Playwright through the whole chain with Playwright through a bare bridge, and on
 * Chromium's own port.
 *
 *   cargo build --release -p tabwire -p tabwire-tests
 *   node tests/bench/chain.mjs [--json] [--profile] [--rounds N] [--only ACTION]
 *
 * It starts three Chromiums: with Tabwire's extension, with that of the bridge (`bridge.mjs`), and
 * without any, so that neither an extension nor a second debugger slows down another side. While
 * one is measured, the others are idle. Every side uses a page that `newPage` opens: on the own port
 * that is the active tab, through Tabwire and the bridge it is a background tab, where Chrome draws
 * as little as possible. That cost counts, because Tabwire causes it. The sides alternate action by
 * action. A figure is the median of its rounds, and a ratio is the median of the ratios of the
 * rounds.
 */

import './release_binary.mjs';

import { chromium as playwright } from 'playwright-core';

import { startChain, startChromium } from '../harness/processes.mjs';
import { startSite } from '../harness/site.mjs';
import { startBridge } from './bridge.mjs';
import { ACTIONS, page } from './chain_actions.mjs';
import { median, timed } from './figures.mjs';
import { profile } from './profile.mjs';

/** The highest ratios that pass. */
const TARGETS = { bridge: 1.1, own: 1.6 };

/**
 * @typedef {import('./chain_actions.mjs').Action} Action
 * @typedef {import('./chain_actions.mjs').Side} Side
 * @typedef {{ tabwire: Side, bridge: Side, own: Side }} Sides
 */

/**
 * @param {string} url
 * @param {any} site
 * @returns {Promise<Side & { browser: import('playwright-core').Browser }>}
 */
async function connect(url, site) {
  const browser = await playwright.connectOverCDP(url);
  const context = browser.contexts()[0];
  const page = await context.newPage();
  await page.goto(site.url('/page'));
  return { browser, context, page, site };
}

/** @param {Action} action @param {Side} side */
async function measure(action, side) {
  const times = [];
  for (let n = 0; n < action.times; n += 1) {
    let result;
    times.push(await timed(async () => (result = await action.run(side))));
    await action.after?.(side, result);
  }
  return median(times);
}

/** @param {Action[]} actions @param {Sides} sides @param {number} rounds */
async function compare(actions, sides, rounds) {
  const results = actions.map((action) => ({
    action,
    times: { tabwire: [], bridge: [], own: [] },
  }));
  const names = /** @type {(keyof Sides)[]} */ (Object.keys(sides));
  // Round 0 warms up and is not counted.
  for (let round = 0; round <= rounds; round += 1) {
    for (const { action, times } of results) {
      for (const name of names) {
        const time = await measure(action, sides[name]);
        if (round > 0) {
          times[name].push(time);
        }
      }
      // Each side is the first of some rounds, and follows each of the others in some.
      names.push(/** @type {keyof Sides} */ (names.shift()));
    }
    names.reverse();
  }
  return results.map(summarize);
}

/** @param {{ action: Action, times: Record<keyof Sides, number[]> }} times of each round */
function summarize({ action: { name }, times }) {
  const { tabwire } = times;
  const against = (/** @type {'bridge' | 'own'} */ side) => {
    const ratio = median(tabwire.map((time, round) => time / times[side][round]));
    return { time: median(times[side]), ratio, met: ratio <= TARGETS[side] };
  };
  return { name, tabwire: median(tabwire), bridge: against('bridge'), own: against('own') };
}

/** @param {ReturnType<typeof summarize>[]} rows */
function print(rows) {
  const line = (...[name, ...cells]) =>
    console.log(name.padEnd(22) + cells.map((cell) => cell.padStart(11)).join(''));
  const { bridge, own } = TARGETS;
  line('milliseconds', 'Tabwire', 'bridge', `<= ${bridge}x`, '', 'own port', `<= ${own}x`, '');
  const cells = ({ time, ratio, met }) => [
    time.toFixed(2),
    `${ratio.toFixed(2)}x`,
    met ? 'met' : 'MISSED',
  ];
  for (const { name, tabwire, bridge, own } of rows) {
    line(name, tabwire.toFixed(2), ...cells(bridge), ...cells(own));
  }
}

const flag = (name) => process.argv.includes(name);
const option = (name) => (flag(name) ? process.argv[process.argv.indexOf(name) + 1] : undefined);
const rounds = Number(option('--rounds')) || 7;
const only = option('--only') ?? '';
const actions = ACTIONS.filter(({ name }) => name.includes(only));

const site = await startSite({ '/page': page });
const chain = await startChain();
const bridge = await startBridge();
const plain = await startChromium();
try {
  const sides = {
    tabwire: await connect(chain.cdpUrl, site),
    bridge: await connect(bridge.url, site),
    own: await connect(plain.ownUrl, site),
  };
  if (flag('--profile')) {
    await profile({ chain, ...sides, actions, measure, json: flag('--json') });
  } else {
    const rows = await compare(actions, sides, rounds);
    if (flag('--json')) {
      console.log(JSON.stringify(rows, null, 2));
    } else {
      print(rows);
    }
  }
  await Promise.all(Object.values(sides).map(({ browser }) => browser.close()));
} finally {
  await plain.stop();
  await bridge.stop();
  await chain.stop();
  site.stop();
}
