/**
 * What an agent waits for, and what its server costs: from start to an answered `tools/list`, the first `execute`, one
 * when all is warm, and memory. Medians of several rounds; npm and the starts of relay and browser are not in them.
 *
 *   cargo build --release && node tests/bench/mcp.mjs
 */

process.env.TABWIRE_BIN ??= new URL('../../target/release/tabwire', import.meta.url).pathname;
const { memoryOf, startAgent, workerOf } = await import('../harness/agent.mjs');
const { startChain, until } = await import('../harness/processes.mjs');
const { chromium: playwright } = await import('playwright-core');

const ROUNDS = 7;
const WARM_CALLS = 50;
const CODE = 'return page.title()';

const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];

async function timed(run) {
  const began = performance.now();
  const value = await run();
  return { ms: performance.now() - began, value };
}

const chain = await startChain({ args: ['--client-mode', 'multi-client'] });
const { home, port } = chain.relay;
const figures = { list: [], cold: [], warm: [], own: [], memory: [], worker: [] };
await (await startAgent({ home, port })).stop();

for (let round = 0; round < ROUNDS; round += 1) {
  const { ms: list, value: agent } = await timed(async () => {
    const started = await startAgent({ home, port });
    await started.client.listTools();
    return started;
  });
  figures.list.push(list);
  figures.cold.push((await timed(() => agent.execute(CODE))).ms);
  figures.memory.push(await memoryOf(agent.pid));
  figures.worker.push(await memoryOf(await workerOf(agent.pid)));

  // The page's own time: the same question from a Playwright that is connected already.
  const browser = await playwright.connectOverCDP(chain.cdpUrl);
  const page = await browser.contexts()[0].newPage();
  await page.title();
  for (let call = 0; call < WARM_CALLS; call += 1) {
    figures.own.push((await timed(() => page.title())).ms);
    figures.warm.push((await timed(() => agent.execute(CODE))).ms);
  }
  await page.close();
  await browser.close();
  await agent.execute('await page.close()');
  await agent.stop();
  await until('both have left', async () => (await chain.relay.status()).clients === 0);
}
await chain.stop();

const rows = [
  ['start to an answered tools/list', `${median(figures.list).toFixed(0)} ms`, '< 100 ms'],
  ['first execute, cold', `${median(figures.cold).toFixed(0)} ms`, '< 2,000 ms'],
  ['execute, warm', `${median(figures.warm).toFixed(1)} ms`, ''],
  ['… over the page\'s own time', `${(median(figures.warm) - median(figures.own)).toFixed(1)} ms`, '< 50 ms'],
  ['server memory, without the worker', `${median(figures.memory).toFixed(1)} MB`, '<= 15 MB'],
  ['worker memory (Node and Playwright)', `${median(figures.worker).toFixed(0)} MB`, ''],
];
console.log(`the MCP server, medians of ${ROUNDS} rounds`);
for (const [what, measured, wanted] of rows) {
  console.log(`${what.padEnd(40)}${measured.padStart(12)}   ${wanted}`);
}
