/** The accessibility tree of a page as text, with refs that `page.locator('aria-ref=…')` takes. */

import { createRequire } from 'node:module';

import { frameOfLocator } from './internals.mjs';
import { isPlain, show } from './output.mjs';
import { revive } from './refs.mjs';

const { diff } = createRequire(import.meta.url)('playwright-core/lib/utilsBundle');

export class Snapshots {
  #link;
  /** The last text of each page, locator and depth, for differences; an entry lasts as long as this process. */
  #last = new Map();
  /** By target id, each page as it was when refs of it were given out, the connection that they are of, and whether they hold. */
  #given = new Map();

  constructor(link) {
    this.#link = link;
  }

  /**
   * `snapshot()`, `snapshot(locator)`, either with `{ diff: true, depth }`.
   * @returns {Promise<string>}
   */
  async take(target, options) {
    const { page, locator, rest } = subject(this.#link, target, options);
    const tree = await (locator ?? page).ariaSnapshot({ mode: 'ai', depth: rest.depth });
    // Refs are those of the latest snapshot; the ones of the rest of the page shall stay good.
    const isWhole = !locator && rest.depth === undefined;
    await this.keepRefs(page, isWhole ? tree : undefined);
    const key = [page, locator && frameOfLocator(locator)]
      .map((object) => this.#link.idOf(object))
      .concat(String(locator), rest.depth)
      .join(' ');
    const before = this.#last.get(key);
    const text = `${page.url()}\n${tree}`;
    this.#last.set(key, text);
    return rest.diff && before !== undefined ? changes(before, text) : text;
  }

  /** Remembers what the refs of a page are of. */
  async keepRefs(page, tree) {
    const whole = tree ?? (await page.ariaSnapshot({ mode: 'ai' }));
    this.#given.set(this.#link.idOf(page), {
      url: page.url(),
      whole,
      browser: this.#link.browser,
      holds: true,
    });
  }

  /**
   * After a new connection: refs hold again in every page that is as it was. Says whether those of the page in use do.
   * @param {number} withinMs for each step of it, of which there are four at most
   */
  async reviveRefs(withinMs) {
    const { browser, page: inUse } = this.#link;
    const stale = [...this.#given].filter(([, given]) => given.browser !== browser);
    await Promise.all(
      stale.map(async ([target, given]) => {
        const page = this.#link.pageOf(target);
        this.#given.set(target, {
          ...given,
          browser,
          holds: page !== undefined && (await revive(page, given, withinMs)),
        });
      }),
    );
    return this.#given.get(this.#link.idOf(inUse))?.holds ?? true;
  }
}

/** What a call is about: options alone, or a page, frame, locator or selector and options; without one, the page in use. */
export function subject(link, target, options) {
  const rest = options ?? {};
  if (target === undefined || target === null) {
    return { page: link.page, rest };
  }
  if (typeof target === 'string') {
    return { page: link.page, locator: link.page.locator(target), rest };
  }
  if (typeof target.mainFrame === 'function') {
    return { page: target, rest };
  }
  if (typeof target.childFrames === 'function') {
    return { page: target.page(), locator: target.locator('body,frameset').first(), rest };
  }
  if (typeof target.page === 'function') {
    return { page: target.page(), locator: target, rest };
  }
  if (!isPlain(target)) {
    throw new TypeError(
      `snapshot and screenshot take a locator, selector, frame or page, and then options, not ${show(target)}`,
    );
  }
  return { page: link.page, rest: target };
}

function changes(before, after) {
  if (before === after) {
    return 'no change since the last snapshot';
  }
  const { hunks } = diff.structuredPatch('', '', `${before}\n`, `${after}\n`, '', '', {
    context: 1,
  });
  const text = hunks.map(({ lines }) => lines.join('\n')).join('\n…\n');
  // After a navigation nothing is as before, and the difference says everything twice.
  return text.length < after.length ? text : after;
}
