/**
 * Which elements of a page are most like one that is not there: one whose ref is stale, or one that a locator describes.
 * Knows only trees and texts.
 */

/** @import { AriaNode } from './outline.mjs' */

import { isInteractive, nodesOf, visitNodes } from './outline.mjs';

/** What is known of an element. @typedef {{ role?: string, name?: string }} Element */

const MAX_SHOWN = 3;
/** The name of anything longer is text, and not what an agent would call it. */
const MAX_NAME = 100;
/** One word in another, such as `Log in` and `login-button`. Shorter ones are in many words. */
const MIN_PART = 4;

/** @param {Element} element */
export const nameOf = ({ role, name }) =>
  [role, name && JSON.stringify(name)].filter(Boolean).join(' ');

/**
 * The elements that are most like another, each with its ref, the closest first.
 * @param {Element} wanted
 * @param {unknown} tree of the page
 * @param {{ alsoOfRole?: boolean }} [options] whether the role alone makes an element alike
 * @returns {string[]}
 */
export function closestTo(wanted, tree, { alsoOfRole = false } = {}) {
  /** @type {{ text: string, score: number }[]} */
  const found = [];
  visitNodes(nodesOf(tree), (node) => {
    const score = likeness(wanted, node, alsoOfRole);
    if (node.ref && score > 0) {
      found.push({ text: `${nameOf(namedBy(node))} [ref=${node.ref}]`, score });
    }
  });
  return found
    .sort((a, b) => b.score - a.score)
    .slice(0, MAX_SHOWN)
    .map(({ text }) => text);
}

/** @param {AriaNode} node @returns {Element & { name: string }} */
function namedBy({ role, name, placeholder, text }) {
  const [shown = ''] = [name, placeholder, text].filter((part) => part);
  return { role, name: shown.length <= MAX_NAME ? shown : '' };
}

/** How alike an element is; 0 if it is not. @param {Element} wanted @param {AriaNode} node @param {boolean} alsoOfRole */
function likeness({ role, name = '' }, node, alsoOfRole) {
  const other = namedBy(node);
  const isOfRole = node.role === role;
  if (!isInteractive(node) && !isOfRole) {
    return 0;
  }
  const byName = likenessOfNames(name, other.name);
  if (byName === 0) {
    return alsoOfRole && isOfRole ? 1 : 0;
  }
  return byName + (isOfRole ? 2 : 0);
}

/** @param {string} one @param {string} other */
function likenessOfNames(one, other) {
  if (!one || !other) {
    return 0;
  }
  if (one === other) {
    return 20;
  }
  const [words, others] = [wordsOf(one), wordsOf(other)];
  const shared = others.filter((word) => words.includes(word)).length;
  const [joined, otherJoined] = [words.join(''), others.join('')];
  const isPart = [joined, otherJoined].every((text) => text.length >= MIN_PART);
  const contains = isPart && (joined.includes(otherJoined) || otherJoined.includes(joined));
  return 2 * shared + (contains ? 3 : 0);
}

/** Also those of `loginButton` and `login_button`. @param {string} text */
const wordsOf = (text) =>
  text
    .replace(/(\p{Ll})(\p{Lu})/gu, '$1 $2')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter(Boolean);

/**
 * What a selector of Playwright looks for, as far as it can be read from it.
 * @param {string} selector
 * @returns {Element}
 */
export function describedBy(selector) {
  const inFrame = selector.split('internal:control=enter-frame').at(-1) ?? '';
  const role = [...inFrame.matchAll(/internal:role=(\w+)/g)].at(-1)?.[1];
  const quoted = [...inFrame.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map(([, text = '']) => text);
  const patterns = [...inFrame.matchAll(/[=(]\/(.+?)\/[a-z]*/g)].map(([, text = '']) => text);
  const texts = [...quoted, ...patterns];
  const isPlain = texts.length === 0 && !role;
  // What CSS and XPath call an element is often close to what the page calls it.
  const name = isPlain ? inFrame.replace(/^(css|xpath|text)=/, '') : texts.join(' ');
  return { role, name: name.replaceAll('\\', '') };
}
