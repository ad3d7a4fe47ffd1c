/**
 * Measures the MCP server: the time from its start to the reply to `tools/list`, a cold and a warm
 * `execute`, and memory. Figures are medians of several rounds, without npm and without starting
 * relay and browser. Exits with 1 if a figure exceeds its limit.
 *
 *   cargo build --release && node tests/bench/mcp.mjs
 */

import './release_binary.mjs';

import { chromium as playwright } from 'playwright-core';

import { memoryOf, startAgent, workerOf } from '../harness/agent.mjs';
import { startChain } from '../harness/processes.mjs';
import { median, timed } from './figures.mjs';

const ROUNDS = 7;
const WARM_CALLS = 50;
const CODE = 'return page.title()';

/** @param {any} chain @param {Record<string, number[]>} figures */
async function measureRound(chain, figures) {
  const { home, port } = chain.relay;
  let agent;
  const list = await timed(async () => {
    agent = await startAgent({ home, port });
    await agent.client.listTools();
  });
  figures.list.push(list);
  figures.cold.push(await timed(() => agent.execute(CODE)));
  await measureWarm(chain, agent, figures);
  // After the calls, which may leave something behind.
  figures.memory.push(await memoryOf(agent.pid));
  figures.worker.push(await memoryOf(await workerOf(agent.pid)));
  await agent.execute('await page.close()');
  await agent.stop();
  await chain.relay.waitForClients(0);
}

/**
 * Alternates with the same call from a Playwright that is connected already, which shows the page's
 * own share.
 */
async function measureWarm(chain, agent, figures) {
  const browser = await playwright.connectOverCDP(chain.cdpUrl);
  const page = await browser.contexts()[0].newPage();
  await page.title();
  for (let call = 0; call < WARM_CALLS; call += 1) {
    figures.own.push(await timed(() => page.title()));
    figures.warm.push(await timed(() => agent.execute(CODE)));
  }
  await page.close();
  await browser.close();
}

/** Name, median, digits, unit, and limit if there is one. */
const rowsOf = ({ list, cold, warm, own, memory, worker }) => [
  ['start to tools/list reply', median(list), 0, 'ms', 100],
  ['first execute, cold', median(cold), 0, 'ms', 2_000],
  ['execute, warm', median(warm), 1, 'ms'],
  ["… over the page's own time", median(warm) - median(own), 1, 'ms', 10],
  ['server memory, without the worker', median(memory), 1, 'MB', 15],
  ['worker memory (Node and Playwright)', median(worker), 0, 'MB'],
];

/** Prints a row and returns whether it is within its limit. */
function printRow([name, measured, digits, unit, limit]) {
  const isMet = limit === undefined || measured <= limit;
  const target =
    limit === undefined ? '' : `<= ${limit} ${unit}`.padEnd(14) + (isMet ? 'met' : 'MISSED');
  const figure = `${measured.toFixed(digits)} ${unit}`.padStart(12);
  console.log(`${name.padEnd(40)}${figure}   ${target}`.trimEnd());
  return isMet;
}

const chain = await startChain({ args: ['--client-mode', 'multi-client'] });
const figures = { list: [], cold: [], warm: [], own: [], memory: [], worker: [] };
try {
  // The first start installs packages and warms the file cache.
  await (await startAgent({ home: chain.relay.home, port: chain.relay.port })).stop();
  for (let round = 0; round < ROUNDS; round += 1) {
    await measureRound(chain, figures);
  }
} finally {
  await chain.stop();
}
console.log(`MCP server, medians of ${ROUNDS} rounds`);
const met = rowsOf(figures).map(printRow);
process.exitCode = met.every(Boolean) ? 0 : 1;
