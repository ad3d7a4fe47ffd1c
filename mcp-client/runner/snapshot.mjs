/**
 * Snapshots: the accessibility tree of a page as text, with refs that `page.locator('aria-ref=…')` accepts, and the
 * differences between two of them. Decides which refs have to survive a reconnect; refs.mjs does the work.
 */

/** @import { Browser, Locator, Page } from 'playwright-core' */
/** @import { BrowserLink } from './browser_link.mjs' */

import { structuredPatch } from 'diff';

import { isFrame, isPage } from './browser_link.mjs';
import { frameOfLocator } from './internals.mjs';
import { isPlain, show } from './output.mjs';
import { restoreRefs } from './refs.mjs';

/**
 * The page when the agent was given its refs, the connection they belong to, and whether they are still valid.
 * @typedef {{ url: string, tree: string, browser: Browser, isValid: boolean }} GivenRefs
 */

export class Snapshots {
  #link;
  /**
   * The last text by page, locator and depth, for differences. Entries are never removed.
   * @type {Map<string, string>}
   */
  #last = new Map();
  /**
   * By target id of the page. Entries are replaced by the next snapshot and never removed.
   * @type {Map<string | undefined, GivenRefs>}
   */
  #given = new Map();

  /** @param {BrowserLink} link */
  constructor(link) {
    this.#link = link;
  }

  /**
   * `snapshot(target?, options?)` for the code.
   * @param {any} [target]
   * @param {{ diff?: boolean, depth?: number }} [options]
   * @returns {Promise<string>}
   */
  async take(target, options) {
    const { page, locator, options: given } = subjectOf(this.#link, target, options);
    const { diff = false, depth } = given;
    const tree = await (locator ?? page).ariaSnapshot({ mode: 'ai', depth });
    // Refs are those of the latest snapshot. After a partial one, those of the rest of the page should stay valid too.
    const isWhole = !locator && depth === undefined;
    await this.rememberRefs(page, isWhole ? tree : undefined);
    const frame = locator && frameOfLocator(locator);
    const key = [this.#link.idOf(page), this.#link.idOf(frame), String(locator), depth].join(' ');
    const before = this.#last.get(key);
    const text = `${page.url()}\n${tree}`;
    this.#last.set(key, text);
    return diff && before !== undefined ? changesBetween(before, text) : text;
  }

  /**
   * Remembers the refs that the agent is given, so that they can be restored after a reconnect.
   * @param {Page} page
   * @param {string} [tree] of the whole page
   */
  async rememberRefs(page, tree) {
    this.#given.set(this.#link.idOf(page), {
      url: page.url(),
      tree: tree ?? (await page.ariaSnapshot({ mode: 'ai' })),
      browser: this.#link.browser,
      isValid: true,
    });
  }

  /**
   * After a reconnect, restores the refs of every page that has not changed.
   * @param {number} timeoutMs for each of at most four steps
   * @returns {Promise<boolean>} whether the refs of the page in use are valid
   */
  async restoreRefs(timeoutMs) {
    const { browser } = this.#link;
    const stale = [...this.#given].filter(([, refs]) => refs.browser !== browser);
    await Promise.all(
      stale.map(async ([target, refs]) => {
        const page = this.#link.pageOf(target);
        const isValid = page !== undefined && (await restoreRefs(page, refs, timeoutMs));
        this.#given.set(target, { ...refs, browser, isValid });
      }),
    );
    return this.#given.get(this.#link.idOf(this.#link.page))?.isValid ?? true;
  }
}

/**
 * Interprets the arguments of `snapshot` and `screenshot`: options alone, or a page, frame, locator or selector followed by
 * options. Without a target, the subject is the page in use. The code may pass anything, so nothing is assumed.
 * @param {BrowserLink} link
 * @param {any} target
 * @param {any} [options]
 * @returns {{ page: Page, locator?: Locator, options: any }}
 */
export function subjectOf(link, target, options) {
  const given = options ?? {};
  const current = /** @type {Page} */ (link.page);
  if (target === undefined || target === null) {
    return { page: current, options: given };
  }
  if (typeof target === 'string') {
    return { page: current, locator: current.locator(target), options: given };
  }
  if (isPage(target)) {
    return { page: target, options: given };
  }
  if (isFrame(target)) {
    const body = target.locator('body,frameset').first();
    return { page: target.page(), locator: body, options: given };
  }
  if (typeof target.page === 'function') {
    return { page: target.page(), locator: target, options: given };
  }
  if (!isPlain(target)) {
    throw new TypeError(
      `snapshot and screenshot take a locator, selector, frame or page, then options; not ${show(target)}`,
    );
  }
  return { page: current, options: target };
}

/**
 * @param {string} before
 * @param {string} after
 */
function changesBetween(before, after) {
  if (before === after) {
    return 'No changes since the last snapshot.';
  }
  const options = { context: 1 };
  const { hunks } = structuredPatch('', '', `${before}\n`, `${after}\n`, '', '', options);
  const text = hunks.map(({ lines }) => lines.join('\n')).join('\n…\n');
  // After a navigation almost every line differs, and the difference is longer than the snapshot.
  return text.length < after.length ? text : after;
}
