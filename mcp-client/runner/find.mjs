/** `find()`: where on a page a text is, as elements that the code can act on. */

/** @import { Locator, Page } from 'playwright-core' */
/** @import { AriaNode, Child } from './outline.mjs' */

import { checkOptions, matcherOf } from './options.mjs';
import { isInteractive, nodesOf } from './outline.mjs';
import { truncate } from './output.mjs';

const DEFAULT_MAX = 30;
const MAX_TEXT = 160;
/** Of a text that is spread over several elements. */
const MAX_SPREAD = 500;
/** Roles that say where something is. */
const PLACES = new Set([
  'main',
  'navigation',
  'banner',
  'contentinfo',
  'complementary',
  'dialog',
  'alertdialog',
  'form',
  'region',
  'table',
  'row',
  'list',
  'article',
  'menu',
  'tabpanel',
  'iframe',
]);

/** @typedef {{ node: AriaNode, text: string, places: AriaNode[], heading: string }} Hit */
/** @typedef {{ ref: string, role: string, text: string, in?: string, under?: string, locator: Locator }} Found */

/**
 * @param {Page} page
 * @param {unknown} tree of the page
 * @param {any} wanted text or a regular expression
 * @param {{ max?: number }} options
 * @param {(text: string) => string} mask hides secrets, before texts are cut
 * @returns {{ found: Found[], count: number }}
 */
export function findIn(page, tree, wanted, options, mask) {
  checkOptions('find', options, ['max']);
  const matches = matcherOf(typeof wanted === 'string' ? oneLine(wanted) : wanted);
  const hits = new Search(matches).visit(nodesOf(tree), [], undefined);
  const shown = hits.slice(0, options.max ?? DEFAULT_MAX);
  const found = shown.map((hit) => describe(page, hit, wanted, mask));
  return { found, count: hits.length };
}

/** @param {string} text */
const oneLine = (text) => text.replace(/\s+/g, ' ').trim();

class Search {
  #matches;
  /** The last one before the node that is visited. */
  #heading = '';
  /** @type {WeakMap<AriaNode, string>} */
  #texts = new WeakMap();

  /** @param {(text: string) => boolean} matches */
  constructor(matches) {
    this.#matches = matches;
  }

  /** All text in a node. @param {Child} node @returns {string} */
  textOf(node) {
    if (typeof node === 'string') {
      return node;
    }
    const known = this.#texts.get(node);
    if (known !== undefined) {
      return known;
    }
    const inside = node.text ?? (node.children ?? []).map((child) => this.textOf(child)).join(' ');
    const own = [node.name, node.placeholder].filter((text) => text && !inside.includes(text));
    const text = oneLine([...own, inside].join(' '));
    this.#texts.set(node, text);
    return text;
  }

  /**
   * The innermost elements with the text. A control counts as a whole, unless there is another one in it.
   * @param {Child[]} nodes
   * @param {AriaNode[]} places that enclose them
   * @param {AriaNode | undefined} parent the innermost of their ancestors with a ref
   * @returns {Hit[]}
   */
  visit(nodes, places, parent) {
    return nodes.flatMap((node) => {
      if (typeof node === 'string') {
        return [];
      }
      if (node.role === 'heading') {
        this.#heading = this.textOf(node);
      }
      const heading = this.#heading;
      const target = node.ref ? node : parent;
      const within = PLACES.has(node.role) ? [...places, node] : places;
      const inside = this.visit(node.children ?? [], within, target);
      if (inside.some((hit) => isInteractive(hit.node)) || !target || !this.#isIn(node)) {
        return inside;
      }
      const own = [{ node: target, text: this.textOf(node), places, heading }];
      return isInteractive(node) || inside.length === 0 ? own : inside;
    });
  }

  /** Text of several elements counts if it is short: in all of a page, anything follows anything. @param {AriaNode} node */
  #isIn(node) {
    const texts = [node.name, node.placeholder, node.text, ...(node.children ?? [])];
    const isOwn = texts.some((text) => typeof text === 'string' && this.#matches(oneLine(text)));
    const all = this.textOf(node);
    return isOwn || (all.length <= MAX_SPREAD && this.#matches(all));
  }
}

/** @param {Page} page @param {Hit} hit @param {any} wanted @param {(text: string) => string} mask @returns {Found} */
function describe(page, { node, text: whole, places, heading }, wanted, mask) {
  const ref = /** @type {string} */ (node.ref);
  const text = around(mask(whole), wanted);
  const place = places
    .slice(-3)
    .map(({ role, name }) => (name ? `${role} ${JSON.stringify(truncate(mask(name), 40))}` : role))
    .join(' > ');
  const found = {
    ref,
    role: node.role,
    text,
    ...(place && { in: place }),
    ...(heading && heading !== text && { under: truncate(mask(heading), 60) }),
  };
  // Not enumerable, so that it prints as data.
  Object.defineProperty(found, 'locator', { get: () => page.locator(`aria-ref=${ref}`) });
  return /** @type {Found} */ (found);
}

/** The part of a long text that has what was searched for. @param {string} text @param {any} wanted */
function around(text, wanted) {
  if (text.length <= MAX_TEXT) {
    return text;
  }
  const at =
    typeof wanted === 'string'
      ? text.toLowerCase().indexOf(oneLine(wanted).toLowerCase())
      : text.search(new RegExp(wanted.source, wanted.flags));
  const start = Math.max(0, at - MAX_TEXT / 3);
  const part = truncate(text.slice(start), MAX_TEXT);
  return `${start > 0 ? '…' : ''}${part}${start + part.length < text.length ? '…' : ''}`;
}
