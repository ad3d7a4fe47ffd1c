/**
 * Keeps refs valid across reconnects. Playwright numbers elements in the order in which it first sees them, and starts
 * again with each connection. If a page has not changed since, its elements get back the refs that the agent has seen. If
 * it has changed, no ref is left valid: a reused number could make the agent click the wrong element.
 */

/** @import { Page } from 'playwright-core' */

import { setTimeout } from 'node:timers/promises';

import { dropRefs, refPrefixOf, renameRefs } from './internals.mjs';
import { wholeText } from './outline.mjs';

/**
 * @param {Page} page
 * @param {{ url: string, tree: string }} seen the page when the agent was given its refs
 * @param {number} timeoutMs for each of at most four steps
 * @returns {Promise<boolean>} whether the refs are valid again
 */
export async function restoreRefs(page, seen, timeoutMs) {
  try {
    if (page.url() === seen.url && (await restoreNumbers(page, seen.tree, timeoutMs))) {
      return true;
    }
  } catch {
    // The page does not respond or is navigating.
  }
  await dropAllRefs(page, seen.tree, timeoutMs);
  return false;
}

/**
 * @param {Page} page
 * @param {string} tree
 * @param {number} timeoutMs
 */
async function restoreNumbers(page, tree, timeoutMs) {
  const takeSnapshot = async () =>
    withoutFocus(wholeText(await page.ariaSnapshotJSON({ mode: 'ai', timeout: timeoutMs })));
  const seen = withoutFocus(tree);
  const current = await takeSnapshot();
  if (current === seen) {
    return true;
  }
  if (withoutRefs(current) !== withoutRefs(seen)) {
    return false;
  }
  await renumber(page, refsOf(current), refsOf(seen));
  return (await takeSnapshot()) === seen;
}

/** @param {string} tree */
const withoutFocus = (tree) => tree.replaceAll(' [active]', '');

/** @param {string} tree */
const withoutRefs = (tree) => tree.replace(/\[ref=\w+\]/g, '[ref]');

/** @param {string} tree */
const refsOf = (tree) => [...tree.matchAll(/\[ref=(\w+)\]/g)].map(([, ref = '']) => ref);

/**
 * @param {Page} page
 * @param {string[]} current refs in document order
 * @param {string[]} wanted refs in the same order
 */
async function renumber(page, current, wanted) {
  /** @type {[string, string][]} */
  const pairs = current.map((ref, index) => [ref, wanted[index] ?? ref]);
  for (const frame of page.frames()) {
    const prefix = refPrefixOf(frame);
    const inFrame = pairs.filter(([ref]) => ref.replace(/e\d+$/, '') === prefix);
    if (inFrame.length > 0) {
      await renameRefs(frame, inFrame);
    }
  }
}

/**
 * Afterwards no number stands for another element than before.
 * @param {Page} page
 * @param {string} tree
 * @param {number} timeoutMs
 */
async function dropAllRefs(page, tree, timeoutMs) {
  const highest = refsOf(tree).reduce((most, ref) => Math.max(most, Number(/\d+$/.exec(ref))), 0);
  const dropped = page.frames().map((frame) => dropRefs(frame, highest));
  await Promise.race([
    Promise.allSettled(dropped),
    setTimeout(timeoutMs, undefined, { ref: false }),
  ]);
}
