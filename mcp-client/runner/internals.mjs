/**
 * Everything that the runner uses of Playwright beyond its public API; no other file may go beyond it. The API cannot
 * identify a page's tab without waking it, move a locator to a new connection, or set the refs of a snapshot.
 * Playwright's version is pinned, and tests cover each function here.
 */

/** @import { Frame, FrameLocator, Locator, Page } from 'playwright-core' */

import util from 'node:util';

import { chromium } from 'playwright-core';

/**
 * The implementation of an API object, or nothing if it has been disposed.
 * @param {any} object
 */
function implementationOf(object) {
  try {
    return object._connection.toImpl(object);
  } catch {
    return undefined;
  }
}

/**
 * Read from the page and not from its main frame: if a page does not respond, its main frame is only a placeholder.
 * @param {Page} page
 * @returns {string | undefined}
 */
export const targetIdOf = (page) => implementationOf(page)?.delegate._targetId;

/**
 * @param {Frame} frame
 * @returns {string | undefined}
 */
export const frameIdOf = (frame) => implementationOf(frame)?._id;

/**
 * The frame in which a locator or frame locator starts, or nothing if `value` is neither.
 * @param {any} value
 * @returns {Frame | undefined}
 */
export const frameOfLocator = (value) =>
  typeof (value?._selector ?? value?._frameSelector) === 'string' ? value._frame : undefined;

/**
 * The same locator in another frame.
 * @param {Frame} frame
 * @param {any} locator
 * @returns {Locator | FrameLocator}
 */
export const locatorIn = (frame, { _selector, _frameSelector }) =>
  _selector === undefined ? frame.frameLocator(_frameSelector) : frame.locator(_selector);

/**
 * The prefix of all refs in a frame.
 * @param {Frame} frame
 */
export function refPrefixOf(frame) {
  const { seq } = implementationOf(frame);
  return seq ? `f${seq}` : '';
}

/**
 * Changes the refs of elements in a frame.
 * @param {Frame} frame
 * @param {[current: string, wanted: string][]} pairs
 */
export async function renameRefs(frame, pairs) {
  const utility = await implementationOf(frame).utilityContext();
  const injected = await utility.injectedScript();
  await injected.evaluate(renameInPage, pairs);
}

/**
 * Runs in the page, so it may not use anything outside of this function.
 * @param {any} injected
 * @param {[current: string, wanted: string][]} pairs
 */
function renameInPage(injected, pairs) {
  /** @returns {Map<string, any>} */
  const infoByRef = () => injected._lastAriaSnapshotForQuery.info;
  const takeSnapshot = () =>
    injected.ariaSnapshotJSON(document.querySelector('body,frameset'), { mode: 'ai' });
  /** @type {(ref: string) => number} */
  const numberOf = (ref) => Number(/** @type {RegExpExecArray} */ (/\d+$/.exec(ref))[0]);
  const lowest = () =>
    [...infoByRef().keys()].reduce((least, ref) => Math.min(least, numberOf(ref)), Infinity);
  const highest = pairs.reduce((most, [, wanted]) => Math.max(most, numberOf(wanted)), 0);
  /** @type {[element: any, ref: string][]} */
  const renamed = pairs.map(([current, wanted]) => [infoByRef().get(current).element, wanted]);
  // Playwright only counts up. Let it renumber the page until all numbers are above those about to be restored, so that
  // it cannot hand out one of them again.
  for (let round = 0; lowest() <= highest; round += 1) {
    if (round === 100) {
      throw new Error('The text of the page contains something that looks like a ref.');
    }
    infoByRef().forEach(({ element }) => delete element._ariaRef);
    takeSnapshot();
  }
  renamed.forEach(([element, ref]) => (element._ariaRef.ref = ref));
  takeSnapshot();
}

/**
 * Makes `util.inspect` print Playwright's objects as class name and URL, because their fields are many and private. All
 * of them extend one class, which is reached through an object of the API.
 */
export function shortenInspection() {
  const base = Object.getPrototypeOf(Object.getPrototypeOf(chromium));
  base[util.inspect.custom] = function describe() {
    const name = this.constructor.name.replace(/^_|\d+$/g, '');
    return typeof this.url === 'function' ? `${name} ${this.url()}` : name;
  };
}
