/**
 * What an agent waits for, and what its server costs: from start to an answered `tools/list`, the first `execute`, one
 * when all is warm, and memory. Medians of several rounds; npm and the starts of relay and browser are not in them. A
 * figure that misses its limit is a failure.
 *
 *   cargo build --release && node tests/bench/mcp.mjs
 */

process.env.TABWIRE_BIN ??= new URL('../../target/release/tabwire', import.meta.url).pathname;
const { memoryOf, startAgent, workerOf } = await import('../harness/agent.mjs');
const { startChain, until } = await import('../harness/processes.mjs');
const { chromium: playwright } = await import('playwright-core');
const { median } = await import('./figures.mjs');

const ROUNDS = 7;
const WARM_CALLS = 50;
const CODE = 'return page.title()';

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

const warm = median(figures.warm);
/** What was measured, its digits and unit, and the limit where there is one. */
const rows = [
  ['start to an answered tools/list', median(figures.list), 0, 'ms', 100],
  ['first execute, cold', median(figures.cold), 0, 'ms', 2_000],
  ['execute, warm', warm, 1, 'ms'],
  ["… over the page's own time", warm - median(figures.own), 1, 'ms', 50],
  ['server memory, without the worker', median(figures.memory), 1, 'MB', 15],
  ['worker memory (Node and Playwright)', median(figures.worker), 0, 'MB'],
];
console.log(`the MCP server, medians of ${ROUNDS} rounds`);
for (const [what, measured, digits, unit, limit] of rows) {
  const isMet = limit === undefined || measured <= limit;
  const wanted =
    limit === undefined ? '' : `<= ${limit} ${unit}`.padEnd(14) + (isMet ? 'met' : 'MISSED');
  console.log(
    `${what.padEnd(40)}${`${measured.toFixed(digits)} ${unit}`.padStart(12)}   ${wanted}`.trimEnd(),
  );
  process.exitCode ||= isMet ? 0 : 1;
}
