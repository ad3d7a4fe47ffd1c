/**
 * Runs the comparison: the snapshots of all pages and all tasks, with all servers at once, so that they have the same
 * machine. Tasks run several times; figures are those of the run with the median time.
 */

import { setTimeout as wait } from 'node:timers/promises';

import { startChromium } from '../../harness/processes.mjs';
import { missingIn, readInventory } from './inventory.mjs';
import { PAGES, PASSWORD, startAgentSite } from './pages/site.mjs';
import { KEYS, startServer } from './servers.mjs';
import { TAKE } from './snapshots.mjs';
import { TASKS } from './tasks/index.mjs';

/** How long a page may take to report what it already shows. */
const REPORT_TIMEOUT_MS = 2_000;

/**
 * @param {object} [options]
 * @param {string[]} [options.servers]
 * @param {number} [options.rounds]
 * @param {(name: string) => boolean} [options.wants] which pages and tasks
 * @param {(line: string) => void} [options.print]
 */
export async function compareServers({
  servers: keys = KEYS,
  rounds = 1,
  wants = () => true,
  print = () => {},
} = {}) {
  const site = await startAgentSite();
  const servers = [];
  try {
    for (const key of keys) {
      servers.push(await startServer(key));
    }
    const scene = { site, servers, print };
    const pages = await measurePages(
      PAGES.filter(({ name }) => wants(name)),
      scene,
    );
    const tasks = await measureTasks(
      TASKS.filter(({ name }) => wants(name)),
      rounds,
      scene,
    );
    return { tools: byServer(servers, ({ tools }) => tools), pages, tasks };
  } finally {
    await Promise.all(servers.map((server) => server.stop()));
    site.stop();
  }
}

const byServer = (servers, measure) =>
  Object.fromEntries(servers.map((server) => [server.key, measure(server)]));

/** The size of each page's snapshot, and what it lacks. */
async function measurePages(pages, { site, servers, print }) {
  const chromium = await startChromium();
  const results = {};
  for (const { name, path } of pages) {
    const inventory = await readInventory(chromium.ownUrl, site.url(path));
    results[name] = { elements: inventory.elements.length };
    for (const server of servers) {
      const text = await TAKE[server.key](server.meter(), site.url(path));
      const missing = missingIn(inventory, text);
      results[name][server.key] = { characters: text.length, missing };
    }
    print(`${name}: ${JSON.stringify(results[name])}`);
  }
  await chromium.stop();
  return results;
}

async function measureTasks(tasks, rounds, { site, servers, print }) {
  const runs = [];
  for (const task of tasks) {
    // Not all tasks again and again: the last one leaves a tab open.
    for (let round = 0; round < rounds; round += 1) {
      for (const server of servers) {
        const cost = await runTask(task, server, site);
        runs.push({ name: task.name, key: server.key, cost });
        print(`${task.name}, ${server.key}: ${JSON.stringify(cost)}`);
      }
    }
  }
  const medianOf = (name, key) => {
    const costs = runs.filter((run) => run.name === name && run.key === key);
    return costs.map(({ cost }) => cost).sort((a, b) => a.ms - b.ms)[costs.length >> 1];
  };
  return Object.fromEntries(
    tasks.map(({ name }) => [name, byServer(servers, ({ key }) => medianOf(name, key))]),
  );
}

/** What a task has cost. Throws if its outcome is wrong. */
async function runTask(task, server, site) {
  site.reset();
  const { tool, call, cost, showed } = server.meter();
  const { folder } = server;
  try {
    const answer = await task[server.key]({ tool, call, at: (path) => site.url(path), folder });
    await checkSoon(() => task.check({ site, answer, folder }));
  } catch (error) {
    throw new Error(`${task.name}, ${server.key}: ${error.message}`, { cause: error });
  }
  const { calls, sent, received, images, ms } = cost;
  const counts = { calls, characters: sent + received, images, ms: Math.round(ms) };
  return { ...counts, ...(showed(PASSWORD) ? { showsSecret: true } : {}) };
}

/** Checks until it passes, or for long enough. */
async function checkSoon(check) {
  const deadline = Date.now() + REPORT_TIMEOUT_MS;
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (Date.now() > deadline) {
        throw error;
      }
      await wait(20);
    }
  }
}
