/**
 * Compares Playwright through the whole chain with Playwright on Chromium's own port.
 *
 *   cargo build --release && node tests/bench/chain.mjs [--json] [--profile] [--rounds N]
 *
 * It starts two Chromiums, one with the extension and one without, so that neither the extension
 * nor a second debugger slows down the baseline. While one is measured, the other is idle. Both
 * sides use a page that `newPage` opens: on the own port that is the active tab, through Tabwire it
 * is a background tab, where Chrome draws as little as possible. That cost counts, because Tabwire
 * causes it. The sides alternate action by action. A figure is the median of its rounds, and a
 * ratio is the median of the ratios of the rounds.
 */

import './release_binary.mjs';

import { chromium as playwright } from 'playwright-core';

import { startChain, startChromium } from '../harness/processes.mjs';
import { startSite } from '../harness/site.mjs';
import { median, timed } from './figures.mjs';
import { profile } from './profile.mjs';

const TARGET = 1.6;
const EVENTS = 2_000;

const page = `<!doctype html><title>bench</title><style>body { font: 16px sans-serif }</style>
<h1>A test page</h1><button onclick="this.textContent = ++clicks">0</button> <input>
<ul>${'<li>One of many lines of text, so that there is something to draw.'.repeat(50)}</ul><script>let clicks = 0</script>`;

/**
 * What is measured: `run` performs the action once, `times` is how often per round, `target` is the
 * highest ratio that passes, and `after` cleans up outside the measurement.
 * @type {{ name: string, times: number, target?: number, run: (side: Side) => Promise<unknown>, after?: (side: Side, result: any) => Promise<unknown> }[]}
 */
const ACTIONS = [
  { name: 'evaluate', times: 60, target: TARGET, run: ({ page }) => page.evaluate('6 * 7') },
  {
    name: '200 evaluates at once',
    times: 3,
    run: ({ page }) =>
      Promise.all(Array.from({ length: 200 }, (_, n) => page.evaluate(`${n} * 7`))),
  },
  { name: 'goto', times: 8, target: TARGET, run: ({ page, site }) => page.goto(site.url('/page')) },
  { name: 'click', times: 12, target: TARGET, run: ({ page }) => page.click('button') },
  {
    name: 'fill',
    times: 12,
    target: TARGET,
    run: ({ page }) => page.fill('input', `text ${Math.random()}`),
  },
  { name: 'screenshot', times: 3, run: ({ page }) => page.screenshot() },
  {
    name: 'newPage',
    times: 4,
    target: TARGET,
    run: ({ context }) => context.newPage(),
    after: (_side, page) => page.close(),
  },
  { name: `${EVENTS} console events`, times: 2, run: receiveEvents },
];

/** @typedef {{ page: import('playwright-core').Page, context: import('playwright-core').BrowserContext, site: any }} Side */

/** @param {Side} side */
async function receiveEvents({ page }) {
  let remaining = EVENTS;
  const all = new Promise((resolve) => {
    const onEvent = () => {
      remaining -= 1;
      if (remaining === 0) {
        page.off('console', onEvent);
        resolve(undefined);
      }
    };
    page.on('console', onEvent);
  });
  await page.evaluate((count) => {
    for (let n = 0; n < count; n += 1) {
      console.log('an event', n);
    }
  }, EVENTS);
  await all;
}

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

/** @param {(typeof ACTIONS)[number]} action @param {Side} side */
async function measure(action, side) {
  const times = [];
  for (let n = 0; n < action.times; n += 1) {
    let result;
    times.push(await timed(async () => (result = await action.run(side))));
    await action.after?.(side, result);
  }
  return median(times);
}

/** @param {Side} tabwire @param {Side} own @param {number} rounds */
async function compare(tabwire, own, rounds) {
  const results = ACTIONS.map((action) => ({
    action,
    tabwire: /** @type {number[]} */ ([]),
    own: /** @type {number[]} */ ([]),
  }));
  // Round 0 warms up and is not counted.
  for (let round = 0; round <= rounds; round += 1) {
    for (const result of results) {
      const order = round % 2 === 0 ? ['tabwire', 'own'] : ['own', 'tabwire'];
      for (const side of order) {
        const time = await measure(result.action, side === 'tabwire' ? tabwire : own);
        if (round > 0) {
          result[side].push(time);
        }
      }
    }
  }
  return results.map(summarize);
}

/** @param {{ action: (typeof ACTIONS)[number], tabwire: number[], own: number[] }} times of each round */
function summarize({ action: { name, target }, tabwire, own }) {
  const ratio = median(tabwire.map((time, round) => time / own[round]));
  return {
    name,
    tabwire: median(tabwire),
    own: median(own),
    ratio,
    target: target ?? null,
    met: target === undefined ? null : ratio <= target,
  };
}

/** @param {Awaited<ReturnType<typeof compare>>} rows */
function print(rows) {
  const line = (...[name, ...cells]) =>
    console.log(name.padEnd(24) + cells.map((cell) => cell.padStart(12)).join(''));
  line('milliseconds', 'Tabwire', 'own port', 'ratio', 'target', '');
  for (const { name, tabwire, own, ratio, target, met } of rows) {
    line(
      name,
      tabwire.toFixed(2),
      own.toFixed(2),
      `${ratio.toFixed(2)}x`,
      target ? `<= ${target}x` : '',
      met === null ? '' : met ? 'met' : 'MISSED',
    );
  }
}

const flag = (name) => process.argv.includes(name);
const rounds = Number(process.argv[process.argv.indexOf('--rounds') + 1]) || 7;

const site = await startSite({ '/page': page });
const chain = await startChain();
const plain = await startChromium();
try {
  const tabwire = await connect(chain.cdpUrl, site);
  const own = await connect(plain.ownUrl, site);
  if (flag('--profile')) {
    await profile({ chain, tabwire, own, actions: ACTIONS, measure, json: flag('--json') });
  } else {
    const rows = await compare(tabwire, own, rounds);
    if (flag('--json')) {
      console.log(JSON.stringify(rows, null, 2));
    } else {
      print(rows);
    }
  }
  await tabwire.browser.close();
  await own.browser.close();
} finally {
  await plain.stop();
  await chain.stop();
  site.stop();
}
