/**
 * Snapshots: the accessibility tree of a page as text, with refs that `page.locator('aria-ref=…')` accepts, and the
 * differences between two of them. Knows which refs an agent has seen, and which have to survive a reconnect; refs.mjs
 * does the latter, outline.mjs the text.
 */

/** @import { Browser, Frame, Locator, Page } from 'playwright-core' */
/** @import { BrowserLink } from './browser_link.mjs' */
/** @import { Element } from './closest.mjs' */
/** @import { Line } from './outline.mjs' */

import { structuredPatch } from 'diff';

import { isFrame, isPage } from './browser_link.mjs';
import { closestTo, describedBy, nameOf } from './closest.mjs';
import { frameOfLocator, keepRefs } from './internals.mjs';
import {
  ancestorsOf,
  compact,
  nodesOf,
  onlyInteractive,
  search,
  showLine,
  toLines,
  visitNodes,
  wholeText,
} from './outline.mjs';
import { checkNumbers, checkOptions, matcherOf } from './options.mjs';
import { isPlain, show } from './output.mjs';
import { restoreRefs } from './refs.mjs';
import { within } from './timing.mjs';

/**
 * The page when the agent was given its refs, the connection they belong to, and whether they are still valid.
 * @typedef {{ url: string, tree: string, browser: Browser, isValid: boolean }} GivenRefs
 */
/** @typedef {{ search?: any, interactive?: boolean, compact?: boolean, depth?: number, diff?: boolean, offset?: number }} SnapshotOptions */

const OPTIONS = ['search', 'interactive', 'compact', 'depth', 'diff', 'offset'];
/** How long a frame that does not respond can delay a snapshot of the others. */
const KEEP_TIMEOUT_MS = 1_000;
/** How many texts are kept for differences. Each may be as long as the page. */
const MAX_TEXTS = 50;

export class Snapshots {
  #link;
  /**
   * The last text by page, locator and options, for differences. The oldest are dropped.
   * @type {Map<string, string>}
   */
  #last = new Map();
  /**
   * By target id of the page. Entries are replaced by the next snapshot, and removed when the page is closed.
   * @type {Map<string | undefined, GivenRefs>}
   */
  #given = new Map();
  /**
   * What each ref in a page's snapshots stood for, by target id. Refs are never used twice, so entries are only
   * added until the page is closed.
   * @type {Map<string | undefined, Map<string, Element>>}
   */
  #seen = new Map();

  /** @param {BrowserLink} link */
  constructor(link) {
    this.#link = link;
  }

  /**
   * `snapshot(target?, options?)` for the code.
   * @param {any} target
   * @param {any} options
   * @param {{ readMs: number, maxLength: number }} limits
   * @returns {Promise<string>}
   */
  async take(target, options, { readMs, maxLength }) {
    const { page, locator, options: given } = subjectOf(this.#link, target, options);
    checkOptions('snapshot', given, OPTIONS);
    checkNumbers('snapshot', given, ['depth', 'offset']);
    const tree = await this.#read(page, locator, readMs);
    const { lines, note } = linesOf(tree, given);
    const frame = locator && frameOfLocator(locator);
    const { diff, offset, ...shape } = given;
    const key = [this.#link.idOf(page), this.#link.idOf(frame), String(locator), show(shape)].join(
      ' ',
    );
    const before = this.#last.get(key);
    const text = [page.url(), ...lines.map(showLine), ...note].join('\n');
    this.#rememberText(key, text);
    if (diff && before !== undefined) {
      return changesBetween(before, text);
    }
    return offset || text.length > maxLength ? pageOf(page.url(), lines, offset, maxLength) : text;
  }

  /** The tree of a page, with refs that the code can use. @param {Page} page @param {number} timeoutMs */
  readTree(page, timeoutMs) {
    return this.#read(page, undefined, timeoutMs);
  }

  /** @param {string} key @param {string} text */
  #rememberText(key, text) {
    // The last one is the newest.
    this.#last.delete(key);
    this.#last.set(key, text);
    for (const oldest of this.#last.keys()) {
      if (this.#last.size <= MAX_TEXTS) {
        break;
      }
      this.#last.delete(oldest);
    }
  }

  /** After a reconnect, a page that is still open has the same target id. */
  #forgetClosedPages() {
    for (const refs of [this.#given, this.#seen]) {
      for (const target of refs.keys()) {
        if (!this.#link.pageOf(target)) {
          refs.delete(target);
        }
      }
    }
  }

  /**
   * Reads the tree and remembers its refs.
   * @param {Page} page
   * @param {Locator | undefined} locator
   * @param {number} timeoutMs
   */
  async #read(page, locator, timeoutMs) {
    const started = performance.now();
    await keepAllRefs(page);
    const timeout = Math.max(1, Math.round(timeoutMs - (performance.now() - started)));
    const tree = await (locator ?? page).ariaSnapshotJSON({ mode: 'ai', timeout });
    // A part of the page is not enough to restore its refs.
    await this.rememberRefs(page, locator ? undefined : tree);
    return tree;
  }

  /**
   * Remembers the refs that the agent is given, so that they can be restored after a reconnect.
   * @param {Page} page
   * @param {unknown} [tree] of the whole page
   */
  async rememberRefs(page, tree) {
    const whole = tree ?? (await page.ariaSnapshotJSON({ mode: 'ai' }));
    this.#forgetClosedPages();
    const id = this.#link.idOf(page);
    this.#given.set(id, {
      url: page.url(),
      tree: wholeText(whole),
      browser: this.#link.browser,
      isValid: true,
    });
    const seen = this.#seen.get(id) ?? new Map();
    visitNodes(nodesOf(whole), ({ ref, role, name }) => ref && seen.set(ref, { role, name }));
    this.#seen.set(id, seen);
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

  /**
   * What a ref stands for, if the snapshots of the page have no other element like it.
   * @param {Page} page
   * @param {string} ref
   */
  uniqueElement(page, ref) {
    const seen = this.#seen.get(this.#link.idOf(page)) ?? new Map();
    const element = seen.get(ref);
    const isLike = (/** @type {Element} */ { role, name }) =>
      role === element?.role && name === element.name;
    return element?.name && [...seen.values()].filter(isLike).length === 1 ? element : undefined;
  }

  /**
   * Throws if no element has this ref. It will not get one by waiting.
   * @param {Frame} frame
   * @param {{ ref?: string, meant?: string }} refs `meant`: one that is not written as a selector
   */
  async checkRef(frame, { ref, meant }) {
    if (ref === undefined) {
      throw new Error(`A ref alone selects nothing. Use page.locator('aria-ref=${meant}').`);
    }
    const count = frame.locator(`aria-ref=${ref}`).count();
    if ((await within(KEEP_TIMEOUT_MS, count)) !== 0) {
      return;
    }
    const page = frame.page();
    const seen = this.#seen.get(this.#link.idOf(page));
    const element = seen?.get(ref);
    const closest = element ? closestTo(element, await this.#readBriefly(page)) : [];
    throw new Error(
      [
        element
          ? `Ref ${ref} (${nameOf(element)}) is gone: its element is no longer on the page.`
          : `Ref ${ref} is in no snapshot of this page.`,
        closest.length > 0 ? ` Closest now: ${closest.join(', ')}.` : '',
      ].join(''),
    );
  }

  /**
   * The elements that are most like what a selector describes.
   * @param {Page} page
   * @param {string} selector
   */
  async closestTo(page, selector) {
    const tree = await this.#readBriefly(page);
    return closestTo(describedBy(selector), tree, { alsoOfRole: true });
  }

  /** The tree of a page for an error, or nothing if it does not respond. @param {Page} page */
  #readBriefly(page) {
    const tree = this.#read(page, undefined, KEEP_TIMEOUT_MS);
    return within(KEEP_TIMEOUT_MS, tree).catch(() => undefined);
  }
}

/** @param {Page} page */
async function keepAllRefs(page) {
  const kept = page.frames().map((frame) => within(KEEP_TIMEOUT_MS, keepRefs(frame)));
  await Promise.allSettled(kept);
}

/**
 * The lines that the options ask for, and what to say about them.
 * @param {unknown} tree
 * @param {SnapshotOptions} options
 * @returns {{ lines: Line[], note: string[] }}
 */
function linesOf(tree, { search: wanted, interactive = false, compact: isCompact = true, depth }) {
  const all = nodesOf(tree);
  const nodes = isCompact || interactive ? compact(all) : all;
  const whole = toLines(interactive ? onlyInteractive(nodes) : nodes);
  const lines = depth === undefined ? whole : cutBelow(whole, depth);
  if (wanted === undefined) {
    return { lines, note: [] };
  }
  const { found, count } = search(lines, matcherOf(wanted));
  return { lines: found, note: [`[${count} of ${lines.length} lines match.]`] };
}

/** @param {Line[]} lines @param {number} depth */
const cutBelow = (lines, depth) =>
  lines
    .map((line, index) =>
      line.depth === depth && (lines[index + 1]?.depth ?? 0) > depth
        ? { ...line, text: `${line.text} …` }
        : line,
    )
    .filter((line) => line.depth <= depth);

/**
 * As many lines as fit, from `offset`, below the ancestors of the first one.
 * @param {string} url
 * @param {Line[]} lines
 * @param {number} [offset]
 * @param {number} [maxLength]
 */
function pageOf(url, lines, offset = 0, maxLength = Infinity) {
  if (offset >= lines.length) {
    return `${url}\n[There are only ${lines.length} lines.]`;
  }
  const above = ancestorsOf(lines, offset).reverse();
  const shown = [url, ...above.map((index) => showLine(/** @type {Line} */ (lines[index])))];
  let [length, end] = [shown.join('\n').length, offset];
  for (; end < lines.length; end += 1) {
    const text = showLine(/** @type {Line} */ (lines[end]));
    length += text.length + 1;
    if (length > maxLength && end > offset) {
      break;
    }
    shown.push(text);
  }
  const rest =
    end < lines.length
      ? ` Next: snapshot({ offset: ${end} }). Or narrow it down: { search: 'text' }, { interactive: true }, or a locator.`
      : '';
  return `${shown.join('\n')}\n[Lines ${offset + 1} to ${end} of ${lines.length}.${rest}]`;
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
  const marked = (/** @type {string} */ line) => `${line[0]} ${line.slice(1)}`;
  const text = hunks.map(({ lines }) => lines.map(marked).join('\n')).join('\n…\n');
  // After a navigation almost every line differs, and the difference is longer than the snapshot.
  return text.length < after.length ? text : after;
}
