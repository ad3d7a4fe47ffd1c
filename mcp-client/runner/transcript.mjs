/**
 * What the code has done so far in this session, for `script()`: the calls that succeeded, and what the refs in them stood
 * for. Knows nothing about how a script is written.
 */

/** @import { Frame } from 'playwright-core' */

import { selectorOf } from './internals.mjs';

/** Characters of all calls. The oldest are forgotten first. */
const MAX_LENGTH = 500_000;

/** @typedef {{ code: string, selector: string }} Element how a script finds it: as a call of a page's method, and as a selector */
/** @typedef {{ code: string, refs: Map<string, Promise<Element | undefined>> }} Call */

export class Transcript {
  /** @type {Call[]} */
  calls = [];
  /** How many calls are missing here. */
  forgotten = 0;
  failed = 0;
  /** @type {Call['refs']} */
  #refs = new Map();

  /** A call begins. */
  begin() {
    this.#refs = new Map();
  }

  /**
   * The code uses a ref. What it stands for has to be found before the element is gone, so this is called first; nobody
   * waits for it.
   * @param {Frame} frame
   * @param {string} ref
   * @param {{ role: string, name?: string }} [element] if no other is like it
   */
  onRef(frame, ref, element) {
    if (!this.#refs.has(ref)) {
      this.#refs.set(
        ref,
        describe(frame, ref, element).catch(() => undefined),
      );
    }
  }

  /** The call has ended. @param {string} code @param {boolean} succeeded */
  end(code, succeeded) {
    if (!succeeded) {
      this.failed += 1;
      return;
    }
    this.calls.push({ code, refs: this.#refs });
    while (this.calls.reduce((total, call) => total + call.code.length, 0) > MAX_LENGTH) {
      this.calls.shift();
      this.forgotten += 1;
    }
  }
}

/** Longer names are cut in snapshots, and make bad locators. */
const MAX_NAME = 80;

/**
 * Asks the page only if it must: finding a locator takes it longer than most actions.
 * @param {Frame} frame
 * @param {string} ref
 * @param {{ role: string, name?: string }} [element]
 * @returns {Promise<Element>}
 */
async function describe(frame, ref, element) {
  const { role, name = '' } = element ?? {};
  // Refs of other frames start with another letter.
  const isPlain = role && role !== 'generic' && name.length <= MAX_NAME && /^e\d+$/.test(ref);
  const locator = isPlain
    ? frame.getByRole(/** @type {any} */ (role), { name, exact: true })
    : await frame.locator(`aria-ref=${ref}`).normalize();
  return { code: String(locator), selector: selectorOf(locator) };
}
