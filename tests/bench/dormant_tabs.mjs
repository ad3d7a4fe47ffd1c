/** Tabs and debuggers in benchmarks of dormant tabs. */

import { until } from '../harness/processes.mjs';

/** Tabs to open at once: with more, Chromium itself becomes slow. */
const BATCH = 100;

/** @typedef {Awaited<ReturnType<typeof import('../harness/processes.mjs').startChain>>} Chain */
/** @typedef {Awaited<ReturnType<typeof import('./worker.mjs').openWorker>>} Worker */

/** Reports progress on stderr; stdout is for figures only. @param {string} text */
export const progress = (text) => console.error(`... ${text}`);

/**
 * Throws if the benchmark measures something other than intended.
 * @param {string} what
 * @param {number} actual
 * @param {number} expected
 */
export function expect(what, actual, expected) {
  if (actual !== expected) {
    throw new Error(`${what}: ${actual} instead of ${expected}`);
  }
}

/**
 * How many tabs have a debugger attached, by whichever client.
 * @param {Worker} worker
 * @returns {Promise<number>}
 */
export const countDebuggers = (worker) =>
  worker.run(
    async () =>
      (await chrome.debugger.getTargets()).filter(
        ({ type, attached }) => type === 'page' && attached,
      ).length,
  );

/**
 * Opens background tabs as the user would.
 * @param {Chain} chain
 * @param {Worker} worker
 * @param {string[]} urls
 */
export async function openTabs(chain, worker, urls) {
  for (let opened = 0; opened < urls.length; opened += BATCH) {
    const { targets } = await chain.relay.status();
    const batch = urls.slice(opened, opened + BATCH);
    await worker.run(async (wanted) => {
      await Promise.all(wanted.map((url) => chrome.tabs.create({ url, active: false })));
      while (!(await chrome.tabs.query({})).every((tab) => tab.status === 'complete')) {
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    }, batch);
    await until(
      'the relay lists the tabs',
      async () => (await chain.relay.status()).targets === targets + batch.length,
    );
    if (opened + BATCH < urls.length) {
      progress(`${opened + BATCH} of ${urls.length} tabs are open`);
    }
  }
}
