/**
 * Screenshots for an agent: of a page or an element, on request with the refs of its elements drawn onto it. Never changes
 * the page.
 */

/** @import { Locator, Page, PageScreenshotOptions } from 'playwright-core' */
/** @import { ImageResult } from './output.mjs' */
/** @import { LabelledBox } from './labels.mjs' */
/** @import { AriaNode, Child } from './outline.mjs' */

import { MAX_EDGE, TYPES, decode, encode, fit } from './image.mjs';
import { drawLabels } from './labels.mjs';
import { isInteractive, nodesOf } from './outline.mjs';
import { show } from './output.mjs';

/** @typedef {Omit<PageScreenshotOptions, 'type'> & { labels?: boolean, type?: typeof TYPES[number] }} ScreenshotOptions */
/** @typedef {{ page: Page, locator?: Locator, options: ScreenshotOptions }} Subject */
/** @typedef {{ x: number, y: number }} Point */

/**
 * @param {Subject} subject
 * @param {number | null} limit in bytes
 * @returns {Promise<ImageResult>}
 */
export async function screenshot({ page, locator, options }, limit) {
  const { labels = false, type = 'png', ...rest } = options;
  if (!TYPES.includes(type)) {
    throw new TypeError(`screenshot supports the types ${TYPES.join(' and ')}, not ${show(type)}`);
  }
  const { clip, note } = limit === null ? {} : await clipTallPage(page, locator, rest);
  const taken = await (locator ?? page).screenshot({
    scale: 'css',
    ...rest,
    ...(clip && { clip }),
    type: labels ? 'png' : type,
  });
  if (!labels) {
    return fit(taken, limit, note);
  }
  const picture = decode(taken);
  const origin = await originOf(page, locator, rest);
  const tree = await page.ariaSnapshotJSON({ mode: 'ai', boxes: true });
  drawLabels(picture, await boxesOf(page, nodesOf(tree), origin));
  return fit(encode(picture, type), limit, note);
}

/**
 * If the page is taller than an image may be, only its top is shown: scaled down to fit, nothing would be readable.
 * @param {Page} page
 * @param {Locator | undefined} locator
 * @param {PageScreenshotOptions} options
 */
async function clipTallPage(page, locator, { fullPage, clip }) {
  if (!fullPage || locator || clip) {
    return {};
  }
  const { width, height } = await page.evaluate(() => ({
    width: document.documentElement.scrollWidth,
    height: document.documentElement.scrollHeight,
  }));
  if (height <= MAX_EDGE) {
    return {};
  }
  const nextHeight = Math.min(MAX_EDGE, height - MAX_EDGE);
  const next = `screenshot({ fullPage: true, clip: { x: 0, y: ${MAX_EDGE}, width: ${width}, height: ${nextHeight} } })`;
  return {
    clip: { x: 0, y: 0, width, height: MAX_EDGE },
    note: `[The page is ${height} pixels tall; this is the top. Next part: ${next}]`,
  };
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
