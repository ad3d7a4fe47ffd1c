/** The accessibility tree of a page as text, with refs that `page.locator('aria-ref=…')` takes. */

import { createRequire } from 'node:module';

const { diff } = createRequire(import.meta.url)('playwright-core/lib/utilsBundle');

export class Snapshots {
  #link;
  /** The last text of each page and locator, for differences; an entry lasts as long as this process. */
  #last = new Map();

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
    if (locator) {
      // Refs are those of the latest snapshot; the ones of the rest of the page shall stay good.
      await page.ariaSnapshot({ mode: 'ai' });
    }
    const key = `${this.#link.targetOf(page)} ${locator ?? ''}`;
    const before = this.#last.get(key);
    const text = `${page.url()}\n${tree}`;
    this.#last.set(key, text);
    return rest.diff && before !== undefined ? changes(before, text) : text;
  }
}

/** What a call is about: `f()`, `f(options)`, `f(page, options)` or `f(locator, options)`. */
export function subject(link, target, options) {
  if (typeof target?.mainFrame === 'function') {
    return { page: target, rest: options ?? {} };
  }
  if (typeof target?.page === 'function') {
    return { page: target.page(), locator: target, rest: options ?? {} };
  }
  return { page: link.page, rest: target ?? {} };
}

function changes(before, after) {
  if (before === after) {
    return 'no change since the last snapshot';
  }
  const { hunks } = diff.structuredPatch('', '', `${before}\n`, `${after}\n`, '', '', { context: 1 });
  const text = hunks.map(({ lines }) => lines.join('\n')).join('\n…\n');
  // After a navigation nothing is as before, and the difference says everything twice.
  return text.length < after.length ? text : after;
}
