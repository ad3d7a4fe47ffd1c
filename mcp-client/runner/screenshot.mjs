/**
 * Screenshots for an agent: of a page or an element, on request with the refs of its elements drawn onto it. Never changes
 * the page.
 */

/** @import { Locator, Page, PageScreenshotOptions } from 'playwright-core' */
/** @import { ImageResult } from './output.mjs' */
/** @import { LabelledBox } from './labels.mjs' */
/** @import { AriaNode, Child } from './outline.mjs' */
/** @import { Region } from './tiles.mjs' */

import { TYPES, decode, encode, fit } from './image.mjs';
import { drawLabels } from './labels.mjs';
import { isInteractive, nodesOf } from './outline.mjs';
import { checkOptions } from './options.mjs';
import { show } from './output.mjs';
import { tilesOf } from './tiles.mjs';
import { within } from './timing.mjs';

/** @typedef {Omit<PageScreenshotOptions, 'type'> & { labels?: boolean, tile?: number, type?: typeof TYPES[number] }} ScreenshotOptions */
/** Playwright's that make sense here, and our own. */
const OPTIONS = [
  ...['fullPage', 'labels', 'tile', 'clip', 'type'],
  ...[
    'animations',
    'caret',
    'mask',
    'maskColor',
    'omitBackground',
    'quality',
    'scale',
    'style',
    'timeout',
  ],
];

/** @typedef {{ page: Page, locator?: Locator, options: ScreenshotOptions }} Subject */
/** @typedef {{ x: number, y: number }} Point */

/**
 * @param {Subject} subject
 * @param {number | null} limit in bytes; without one, everything is in one image
 * @param {{ readMs: number }} limits
 * @returns {Promise<ImageResult[]>}
 */
export async function screenshot({ page, locator, options }, limit, { readMs }) {
  checkOptions('screenshot', options, OPTIONS);
  const { labels = false, type = 'png', tile, ...rest } = options;
  if (!TYPES.includes(type)) {
    throw new TypeError(`screenshot supports the types ${TYPES.join(' and ')}, not ${show(type)}`);
  }
  // A page that does not respond is not measured, and its screenshot times out.
  const region =
    limit === null ? undefined : await within(readMs, largeRegion(page, locator, rest));
  const { tiles, note } = region || tile !== undefined ? tilesOf(region ?? NOTHING, tile) : {};
  const parts =
    note && tiles
      ? tiles.map((clip) => ({ page, options: { ...rest, fullPage: true, clip } }))
      : [{ page, locator, options: rest }];
  /** @type {Promise<unknown> | undefined} */
  let tree;
  // Read after the first part was taken: a screenshot of an element scrolls to it.
  const readTree = () => (tree ??= page.ariaSnapshotJSON({ mode: 'ai', boxes: true }));
  const results = [];
  for (const [index, part] of parts.entries()) {
    const taken = await take(part, labels ? readTree : undefined, type);
    results.push(fit(taken, limit, index === parts.length - 1 ? note : undefined));
  }
  return results;
}

/**
 * @param {Subject} subject
 * @param {(() => Promise<unknown>) | undefined} readTree of the page with boxes, if they are to be labelled
 * @param {typeof TYPES[number]} type
 */
async function take({ page, locator, options }, readTree, type) {
  const taken = await (locator ?? page).screenshot({
    scale: 'css',
    ...options,
    type: readTree ? 'png' : type,
  });
  if (!readTree) {
    return taken;
  }
  const picture = decode(taken);
  const origin = await originOf(page, locator, options);
  const nodes = nodesOf(await readTree());
  drawLabels(picture, await boxesOf(page, nodes, origin));
  return encode(picture, type);
}

/** A region in one tile. */
const NOTHING = { x: 0, y: 0, width: 1, height: 1 };

/**
 * What a screenshot shows that may be larger than the window, in coordinates of the page.
 * @param {Page} page
 * @param {Locator | undefined} locator
 * @param {PageScreenshotOptions} options
 * @returns {Promise<Region | undefined>}
 */
async function largeRegion(page, locator, { fullPage, clip }) {
  if (clip || (!fullPage && !locator)) {
    return fullPage ? clip : undefined;
  }
  const box = await locator?.boundingBox();
  let { hasScrollBar, x, y, width, height } = await page.evaluate(measure);
  if (hasScrollBar && !locator) {
    // Chrome removes it at the first screenshot of a page, which makes the page wider than was measured.
    await page.screenshot({ fullPage: true, clip: NOTHING });
    ({ width, height } = await page.evaluate(measure));
  }
  if (!locator) {
    return { x: 0, y: 0, width, height };
  }
  const [left, top] = [Math.max(0, (box?.x ?? 0) + x), Math.max(0, (box?.y ?? 0) + y)];
  // What is outside of the page is not in a screenshot of it.
  return box
    ? {
        x: left,
        y: top,
        width: Math.min(box.width, width - left),
        height: Math.min(box.height, height - top),
      }
    : undefined;
}

/** Runs in the page. */
function measure() {
  const { scrollWidth, scrollHeight, clientWidth } = document.documentElement;
  const hasScrollBar = innerWidth > clientWidth;
  return { hasScrollBar, x: scrollX, y: scrollY, width: scrollWidth, height: scrollHeight };
}

/**
 * The corner of the image in viewport coordinates, which the boxes of elements use.
 * @param {Page} page
 * @param {Locator | undefined} locator
 * @param {PageScreenshotOptions} options
 * @returns {Promise<Point>}
 */
async function originOf(page, locator, { fullPage, clip }) {
  if (locator) {
    return (await locator.boundingBox()) ?? { x: 0, y: 0 };
  }
  const scrolled = fullPage
    ? await page.evaluate(() => ({ x: -scrollX, y: -scrollY }))
    : { x: 0, y: 0 };
  return { x: scrolled.x + (clip?.x ?? 0), y: scrolled.y + (clip?.y ?? 0) };
}

/**
 * The boxes of all interactive elements, relative to `origin`.
 * @param {Page} page
 * @param {Child[]} nodes
 * @param {Point} origin
 * @returns {Promise<LabelledBox[]>}
 */
async function boxesOf(page, nodes, origin) {
  const found = [];
  for (const node of nodes) {
    if (typeof node === 'string') {
      continue;
    }
    const { ref, box } = node;
    if (ref && box && isInteractive(node)) {
      found.push({ ...box, ref, x: box.x - origin.x, y: box.y - origin.y });
    }
    const children = node.children ?? [];
    const inside = children.length > 0 ? await contentOrigin(page, node, origin) : origin;
    found.push(...(await boxesOf(page, children, inside)));
  }
  return found;
}

/**
 * The origin for the children of a node. Boxes inside a frame are relative to its content area.
 * @param {Page} page
 * @param {AriaNode} node
 * @param {Point} origin
 * @returns {Promise<Point>}
 */
async function contentOrigin(page, { role, ref, box }, origin) {
  if (role !== 'iframe' || !ref || !box) {
    return origin;
  }
  const edge = await page.locator(`aria-ref=${ref}`).evaluate((element) => {
    const { paddingLeft, paddingTop } = getComputedStyle(element);
    return {
      x: element.clientLeft + parseFloat(paddingLeft),
      y: element.clientTop + parseFloat(paddingTop),
    };
  });
  return { x: origin.x - box.x - edge.x, y: origin.y - box.y - edge.y };
}
