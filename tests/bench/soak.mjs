/**
 * Many clients at work in one browser for a while: is any answer wrong, is any lost, and how much memory does the relay take?
 *
 *   cargo build --release && node tests/bench/soak.mjs [--json] [--seconds N] [--tabs N] [--clients N]
 *
 * The person has 200 tabs. Ten Playwrights connect; each works in ten of them, two at a time, and the rest stay as they are.
 * Every tab carries its number in its title, its colour and its console, so that whatever comes from another tab shows.
 * Ends with 1 when a result was wrong, an action failed, one was never answered, or an event came from another tab.
 */

import { readFileSync } from 'node:fs';
import { inflateSync } from 'node:zlib';

process.env.TABWIRE_BIN ??= new URL('../../target/release/tabwire', import.meta.url).pathname;
const { startChain, until } = await import('../harness/processes.mjs');
const { openTabs } = await import('../harness/chain.mjs');
const { startSite } = await import('../harness/site.mjs');
const { chromium: playwright } = await import('playwright-core');

const option = (name, otherwise) =>
  Number(process.argv[process.argv.indexOf(name) + 1]) || otherwise;
const SECONDS = option('--seconds', 60);
const TABS = option('--tabs', 200);
const CLIENTS = option('--clients', 10);
const TABS_OF_A_CLIENT = 10;
const AT_ONCE = 2;
/** Longer than any deadline of Playwright or the relay: what takes this long is lost. */
const LOST_AFTER_MS = 90_000;
const TARGET_MB = 40;

const colourOf = (n) => [n % 256, 255 - (n % 256), 128];

const page = (request, response) => {
  const n = Number(new URL(request.url, 'http://site').searchParams.get('n'));
  response.setHeader('content-type', 'text/html');
  response.end(`<!doctype html><title>Tab ${n}</title><style>body { margin: 0; background: rgb(${colourOf(n)}) }</style>
    <div style="height: 50px"></div><button onclick="this.textContent = Number(this.textContent) + 1">0</button> <input>`);
};

/** The colour of the first pixel of a PNG without an alpha channel or with one. */
function firstPixel(png) {
  const data = [];
  for (let at = 8; at < png.length; at += png.readUInt32BE(at) + 12) {
    if (png.toString('latin1', at + 4, at + 8) === 'IDAT') {
      data.push(png.subarray(at + 8, at + 8 + png.readUInt32BE(at)));
    }
  }
  // After the filter's byte; in the first pixel every filter leaves the value as it is.
  return [...inflateSync(Buffer.concat(data)).subarray(1, 4)];
}

/** What a tab is asked; each gives what came and what should have come. `tab.clicks` is what its button says. */
const ACTIONS = {
  evaluate: async ({ page, n, round }) => [
    await page.evaluate((value) => `${document.title} ${value}`, round),
    `Tab ${n} ${round}`,
  ],
  click: async (tab) => {
    tab.clicks += 1;
    await tab.page.click('button');
    return [await tab.page.textContent('button'), String(tab.clicks)];
  },
  fill: async ({ page, n, round }) => {
    await page.fill('input', `${n} in ${round}`);
    return [await page.inputValue('input'), `${n} in ${round}`];
  },
  goto: async (tab) => {
    tab.clicks = 0;
    const response = await tab.page.goto(`${tab.url}&round=${tab.round}`);
    return [`${response?.status()} ${await tab.page.title()}`, `200 Tab ${tab.n}`];
  },
  screenshot: async ({ page, n }) => [
    firstPixel(await page.screenshot({ clip: { x: 0, y: 0, width: 4, height: 4 } })).join(),
    colourOf(n).join(),
  ],
  newCDPSession: async ({ page, n }) => {
    const session = await page.context().newCDPSession(page);
    const { result } = await session.send('Runtime.evaluate', { expression: 'document.title' });
    await session.detach();
    return [result.value, `Tab ${n}`];
  },
  console: async ({ page, n, round }) => {
    const heard = page.waitForEvent('console');
    await page.evaluate((text) => console.log(text), `${n}: ${round}`);
    return [(await heard).text(), `${n}: ${round}`];
  },
};

/** A sequence that repeats with its seed. */
function randomOf(seed) {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fff_ffff;
    return (state >>> 8) % below;
  };
}

const report = { done: {}, wrong: [], failed: [], lost: [], stray: [] };

async function act(tab, name) {
  const started = performance.now();
  let timer;
  const lost = new Promise((resolve) => {
    timer = setTimeout(() => resolve('lost'), LOST_AFTER_MS);
  });
  try {
    const outcome = await Promise.race([ACTIONS[name](tab), lost]);
    if (outcome === 'lost') {
      report.lost.push(`${name} in tab ${tab.n}`);
      return;
    }
    const [came, expected] = outcome;
    if (came !== expected) {
      report.wrong.push(`${name} in tab ${tab.n}: ${came} instead of ${expected}`);
    }
    report.done[name] ??= { count: 0, ms: 0, longest: 0 };
    const took = performance.now() - started;
    report.done[name].count += 1;
    report.done[name].ms += took;
    report.done[name].longest = Math.max(report.done[name].longest, took);
  } catch (error) {
    report.failed.push(`${name} in tab ${tab.n}: ${error.message.split('\n')[0]}`);
    tab.clicks = Number(await tab.page.textContent('button').catch(() => tab.clicks));
  } finally {
    clearTimeout(timer);
  }
}

/** One client at work, until the time is over. */
async function work(context, numbers, url, seed, end) {
  const random = randomOf(seed);
  const tabs = numbers.map((n) => {
    const found = context.pages().find((known) => known.url() === url(n));
    found.on('console', (message) => {
      if (!message.text().startsWith(`${n}: `)) {
        report.stray.push(`tab ${n} said ${message.text()}`);
      }
    });
    return { page: found, n, url: url(n), clicks: 0, round: 0 };
  });
  const names = Object.keys(ACTIONS);
  await Promise.all(
    Array.from({ length: AT_ONCE }, async (_, part) => {
      const own = tabs.filter((_tab, index) => index % AT_ONCE === part);
      while (performance.now() < end) {
        const tab = own[random(own.length)];
        tab.round += 1;
        await act(tab, names[random(names.length)]);
      }
    }),
  );
}

/** A figure of the relay's process in megabytes: `VmRSS` now, `VmHWM` at its highest. */
const memory = (pid, figure) =>
  Number(new RegExp(`${figure}:\\s+(\\d+)`).exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]) /
  1024;

const site = await startSite({ '/page': page, '/favicon.ico': '' });
const url = (n) => site.url(`/page?n=${n}`);
const chain = await startChain({ args: ['--client-mode', 'multi-client'] });
try {
  const { pid } = chain.relay.child;
  await openTabs(
    chain,
    Array.from({ length: TABS }, (_, n) => url(n)),
  );
  const browsers = await Promise.all(
    Array.from({ length: CLIENTS }, () =>
      playwright.connectOverCDP(chain.cdpUrl, { timeout: 120_000 }),
    ),
  );
  const connected = memory(pid, 'VmRSS');
  const started = performance.now();
  const end = started + SECONDS * 1_000;
  const numbersOf = (client) =>
    Array.from({ length: TABS_OF_A_CLIENT }, (_, index) => client * TABS_OF_A_CLIENT + index);
  await Promise.all(
    browsers.map((browser, client) =>
      work(browser.contexts()[0], numbersOf(client), url, client + 1, end),
    ),
  );
  const seconds = (performance.now() - started) / 1_000;
  const atTheEnd = memory(pid, 'VmRSS');
  await Promise.all(browsers.map((browser) => browser.close()));
  await until('all clients have left', async () => (await chain.relay.status()).clients === 0);
  const megabytes = {
    connected,
    atTheEnd,
    highest: memory(pid, 'VmHWM'),
    afterTheClients: memory(pid, 'VmRSS'),
  };
  const operations = Object.values(report.done).reduce((sum, { count }) => sum + count, 0);
  const summary = {
    seconds,
    operations,
    perSecond: operations / seconds,
    ...report,
    megabytes,
    memoryMet: megabytes.highest <= TARGET_MB,
  };
  if (process.argv.includes('--json')) {
    console.log(JSON.stringify(summary, null, 2));
  } else {
    console.log(
      `${TABS} tabs, ${CLIENTS} clients, ${seconds.toFixed(0)} s: ${operations} operations, ${summary.perSecond.toFixed(0)} a second`,
    );
    for (const [name, { count, ms, longest }] of Object.entries(report.done)) {
      console.log(
        `  ${name.padEnd(14)}${String(count).padStart(7)}   mean ${(ms / count).toFixed(0).padStart(5)} ms   longest ${longest.toFixed(0).padStart(6)} ms`,
      );
    }
    for (const kind of ['wrong', 'failed', 'lost', 'stray']) {
      console.log(
        `${kind}: ${report[kind].length}${report[kind]
          .slice(0, 10)
          .map((line) => `\n  ${line}`)
          .join('')}`,
      );
    }
    const figures = Object.entries(megabytes).map(([name, value]) => `${name} ${value.toFixed(1)}`);
    console.log(
      `relay, MB: ${figures.join(', ')}; target <= ${TARGET_MB}: ${summary.memoryMet ? 'met' : 'MISSED'}`,
    );
  }
  process.exitCode =
    report.wrong.length + report.failed.length + report.lost.length + report.stray.length > 0
      ? 1
      : 0;
} finally {
  await chain.stop();
  site.stop();
}
