/**
 * Measures what connecting costs with a few tabs and with many: Playwright's `connectOverCDP`, and
 * a raw client that discovers all targets and attaches to them. What Playwright takes beyond the
 * raw client is its own work for each page. Both connect to Tabwire and to the same Chromium's own
 * port, in turns. Also measured: the processor time of the relay and of this process, which is the
 * client. Throws if connecting through Tabwire attaches a debugger.
 */

import { chromium as playwright } from 'playwright-core';

import { processorTime, residentMemory } from '../harness/process_stats.mjs';
import { startChain, until } from '../harness/processes.mjs';
import { connectRaw } from '../harness/raw_client.mjs';
import { countDebuggers, expect, openTabs, progress } from './dormant_tabs.mjs';
import { median, timed } from './figures.mjs';
import { openWorker } from './worker.mjs';

export const FEW = 5;

/** @typedef {import('./dormant_tabs.mjs').Chain} Chain */
/** @typedef {import('./dormant_tabs.mjs').Worker} Worker */

/**
 * Connects Playwright and returns a function that disconnects it.
 * @param {string} url
 * @param {number} tabs
 */
async function connectPlaywright(url, tabs) {
  const browser = await playwright.connectOverCDP(url);
  expect('pages in Playwright', browser.contexts()[0].pages().length, tabs);
  return () => browser.close();
}

/**
 * Connects a raw client and returns a function that disconnects it.
 * @param {string} url
 * @param {number} tabs
 */
async function connectRawClient(url, tabs) {
  const client = await connectRaw(url);
  await Promise.all([
    client.send('Target.setDiscoverTargets', { discover: true }),
    client.send('Target.getTargets'),
    client.send('Target.setAutoAttach', {
      autoAttach: true,
      waitForDebuggerOnStart: true,
      flatten: true,
    }),
  ]);
  const isPage = ({ method, params }) =>
    method === 'Target.attachedToTarget' && params.targetInfo.type === 'page';
  expect('attached pages', client.events.filter(isPage).length, tabs);
  return () => client.close();
}

/**
 * Who connects where, and how often. On the own port a connect takes seconds, so it is measured
 * less often.
 * @type {{ name: string, times: number, throughTabwire: boolean, connect: (url: string, tabs: number) => Promise<() => Promise<unknown>> }[]}
 */
const CONNECTS = [
  { name: 'Playwright to Tabwire', times: 7, throughTabwire: true, connect: connectPlaywright },
  { name: 'raw client to Tabwire', times: 7, throughTabwire: true, connect: connectRawClient },
  { name: 'Playwright to own port', times: 3, throughTabwire: false, connect: connectPlaywright },
  { name: 'raw client to own port', times: 3, throughTabwire: false, connect: connectRawClient },
];

/**
 * @param {(typeof CONNECTS)[number]} which
 * @param {Chain} chain
 * @param {Worker} worker
 * @param {number} tabs
 */
async function connectOnce({ throughTabwire, connect }, chain, worker, tabs) {
  const url = throughTabwire ? chain.cdpUrl : chain.chromium.ownUrl;
  const { pid } = chain.relay.child;
  const [relayBefore, clientBefore] = [await processorTime(pid), process.cpuUsage()];
  let disconnect = async () => /** @type {unknown} */ (undefined);
  const time = await timed(async () => (disconnect = await connect(url, tabs)));
  const { user, system } = process.cpuUsage(clientBefore);
  const relay = (await processorTime(pid)) - relayBefore;
  const debuggers = await countDebuggers(worker);
  const memory = await residentMemory(pid);
  await disconnect();
  if (throughTabwire) {
    expect('debuggers attached by connecting', debuggers, 0);
  }
  await chain.relay.waitForClients(0);
  await until('Chromium has detached', async () => (await countDebuggers(worker)) === 0);
  const client = (user + system) / 1000;
  return throughTabwire ? { time, client, debuggers, relay, memory } : { time, client, debuggers };
}

/** @param {Chain} chain @param {Worker} worker @param {number} tabs */
async function measureConnects(chain, worker, tabs) {
  const rounds = CONNECTS.map(() => /** @type {Awaited<ReturnType<typeof connectOnce>>[]} */ ([]));
  // Round 0 is not counted: it warms up, and lets Chromium settle after opening so many tabs.
  for (let round = 0; round <= Math.max(...CONNECTS.map(({ times }) => times)); round += 1) {
    for (const [index, which] of CONNECTS.entries()) {
      if (round <= which.times) {
        const measured = await connectOnce(which, chain, worker, tabs);
        rounds[index].push(...(round > 0 ? [measured] : []));
      }
    }
  }
  const medianOf = (measured, key) => median(measured.map((one) => one[key]));
  return rounds.map((measured) => ({
    time: medianOf(measured, 'time'),
    relay: medianOf(measured, 'relay'),
    client: medianOf(measured, 'client'),
    memory: medianOf(measured, 'memory'),
    debuggers: Math.max(...measured.map(({ debuggers }) => debuggers)),
  }));
}

/** @param {number} many */
export async function compareConnects(many) {
  const chain = await startChain();
  try {
    const worker = await openWorker(chain);
    const { targets } = await chain.relay.status();
    const urls = Array.from({ length: many - targets }, (_, n) => `about:blank#${n}`);
    await openTabs(chain, worker, urls.slice(0, FEW - targets));
    const withFew = await measureConnects(chain, worker, FEW);
    progress(`opening ${many} tabs, which takes longest`);
    await openTabs(chain, worker, urls.slice(FEW - targets));
    progress('connecting several times');
    const withMany = await measureConnects(chain, worker, many);
    await worker.close();
    return CONNECTS.map(({ name }, index) => ({
      name,
      few: withFew[index],
      many: withMany[index],
    }));
  } finally {
    await chain.stop();
  }
}
