/** Pictures for an agent: scaled to fit a byte limit, with labels for the refs of the snapshot on request. */

import { createRequire } from 'node:module';

import { drawLabels } from './labels.mjs';
import { show } from './output.mjs';

const require = createRequire(import.meta.url);
const { PNG, jpegjs } = require('playwright-core/lib/utilsBundle');
const { iso } = require('playwright-core/lib/coreBundle');

/** What models take at most, whatever its bytes. */
const LONGEST_EDGE = 8_000;
const JPEG_QUALITY = 75;
/** What can be made smaller here; Playwright has WebP as well. */
const TYPES = ['png', 'jpeg'];

/**
 * `screenshot()`, `screenshot(locator)`, either with Playwright's options and `{ labels: true }`.
 * @returns {Promise<{ image: { data: string, mimeType: string }, note?: string }>}
 */
export async function screenshot(
  { page, locator, rest: { labels = false, type = 'png', ...options } },
  limit,
) {
  if (!TYPES.includes(type)) {
    throw new TypeError(`screenshot takes the types ${TYPES.join(' and ')}, not ${show(type)}`);
  }
  const { cut, note } = limit === null ? {} : await cutTall(page, locator, options);
  const taken = await (locator ?? page).screenshot({
    scale: 'css',
    ...options,
    ...cut,
    type: labels ? 'png' : type,
  });
  if (!labels) {
    return fit(taken, limit, note);
  }
  const origin = await originOf(page, locator, options);
  const tree = await page.ariaSnapshotJSON({ mode: 'ai', boxes: true });
  const picture = PNG.sync.read(taken);
  drawLabels(picture, await boxes(page, [tree].flat(), origin));
  return fit(
    type === 'jpeg'
      ? Buffer.from(jpegjs.encode(picture, JPEG_QUALITY).data)
      : PNG.sync.write(picture),
    limit,
    note,
  );
}

/** Of a page that is taller than any picture the beginning is shown: all of it would be too small to read. */
async function cutTall(page, locator, { fullPage, clip }) {
  if (!fullPage || locator || clip) {
    return {};
  }
  const { width, height } = await page.evaluate(() => ({
    width: document.documentElement.scrollWidth,
    height: document.documentElement.scrollHeight,
  }));
  if (height <= LONGEST_EDGE) {
    return {};
  }
  const note = `[the page is ${height} pixels tall; this is its beginning. More: screenshot({ fullPage: true, clip: { x: 0, y: ${LONGEST_EDGE}, width: ${width}, height: ${Math.min(LONGEST_EDGE, height - LONGEST_EDGE)} } })]`;
  return { cut: { clip: { x: 0, y: 0, width, height: LONGEST_EDGE } }, note };
}

/** Where the picture's corner is, as seen from the viewport that the boxes are relative to. */
async function originOf(page, locator, { fullPage, clip }) {
  if (locator) {
    return locator.boundingBox();
  }
  const scrolled = fullPage
    ? await page.evaluate(() => ({ x: -scrollX, y: -scrollY }))
    : { x: 0, y: 0 };
  return { x: scrolled.x + (clip?.x ?? 0), y: scrolled.y + (clip?.y ?? 0) };
}

const ACTED_ON = new Set([
  'button',
  'link',
  'textbox',
  'checkbox',
  'radio',
  'combobox',
  'option',
  'menuitem',
  'menuitemcheckbox',
  'menuitemradio',
  'tab',
  'switch',
  'slider',
  'searchbox',
  'spinbutton',
  'treeitem',
  'listbox',
]);

/** The boxes of what can be acted on; those in a frame are relative to its inside. */
async function boxes(page, nodes, origin) {
  const found = [];
  for (const { role, ref, box, cursor, children = [] } of nodes.filter(
    (node) => typeof node === 'object' && node !== null,
  )) {
    if (ref && box && (ACTED_ON.has(role) || cursor === 'pointer')) {
      found.push({
        ref,
        x: box.x - origin.x,
        y: box.y - origin.y,
        width: box.width,
        height: box.height,
      });
    }
    const inside = [children].flat();
    const isFrame = role === 'iframe' && ref && box && inside.length > 0;
    const edge = isFrame ? await edgeOf(page.locator(`aria-ref=${ref}`)) : undefined;
    found.push(
      ...(await boxes(
        page,
        inside,
        edge ? { x: origin.x - box.x - edge.x, y: origin.y - box.y - edge.y } : origin,
      )),
    );
  }
  return found;
}

/** How far the inside of a frame is from its corner. */
function edgeOf(frame) {
  return frame.evaluate((element) => {
    const { paddingLeft, paddingTop } = getComputedStyle(element);
    return {
      x: element.clientLeft + parseFloat(paddingLeft),
      y: element.clientTop + parseFloat(paddingTop),
    };
  });
}

export function isImage(value) {
  return Buffer.isBuffer(value) && sizeOf(value) !== undefined;
}

const isPng = (bytes) => bytes.subarray(0, 4).equals(Buffer.from([0x89, 0x50, 0x4e, 0x47]));
const isJpeg = (bytes) => bytes.subarray(0, 3).equals(Buffer.from([0xff, 0xd8, 0xff]));

/** Width and height, from the head; nothing, if it is no picture. */
function sizeOf(bytes) {
  if (isPng(bytes) && bytes.length >= 24) {
    return [bytes.readUInt32BE(16), bytes.readUInt32BE(20)];
  }
  // A JPEG is a row of segments, each with a marker and its length; the size is in the one that begins the frame (SOF).
  let at = 2;
  while (isJpeg(bytes) && at + 9 <= bytes.length && bytes[at] === 0xff) {
    const marker = bytes[at + 1];
    if (marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker)) {
      return [bytes.readUInt16BE(at + 7), bytes.readUInt16BE(at + 5)];
    }
    at += marker === 0xff ? 1 : 2 + bytes.readUInt16BE(at + 2);
  }
  return undefined;
}

/** As it is if it fits, or if there is no limit; else as JPEG; else smaller. */
export function fit(bytes, limit, before = undefined) {
  const decode = () =>
    isPng(bytes) ? PNG.sync.read(bytes) : jpegjs.decode(bytes, { maxMemoryUsageInMB: 512 });
  if (limit === null || (bytes.length <= limit && Math.max(...sizeOf(bytes)) <= LONGEST_EDGE)) {
    return {
      image: {
        data: bytes.toString('base64'),
        mimeType: isPng(bytes) ? 'image/png' : 'image/jpeg',
      },
      note: before,
    };
  }
  const whole = decode();
  let scale = Math.min(1, LONGEST_EDGE / Math.max(whole.width, whole.height));
  for (;;) {
    const size = {
      width: Math.max(1, Math.floor(whole.width * scale)),
      height: Math.max(1, Math.floor(whole.height * scale)),
    };
    const picture = scale === 1 ? whole : iso.scaleImageToSize(whole, size);
    const { data } = jpegjs.encode(picture, JPEG_QUALITY);
    if (data.length <= limit || (size.width === 1 && size.height === 1)) {
      const scaled =
        scale === 1
          ? undefined
          : `[the picture is ${size.width}x${size.height}, scaled from ${whole.width}x${whole.height}]`;
      const note = [before, scaled].filter(Boolean).join('\n') || undefined;
      return {
        image: { data: Buffer.from(data).toString('base64'), mimeType: 'image/jpeg' },
        note,
      };
    }
    scale *= Math.min(0.9, Math.sqrt(limit / data.length) * 0.95);
  }
}
