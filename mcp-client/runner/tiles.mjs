/**
 * Parts of a large picture in which text stays legible. Models scale an image down to about a megapixel, so a long page in one
 * image is unreadable.
 */

/** @import { ImageResult } from './output.mjs' */
/** @import { Picture } from './labels.mjs' */

import { decode, encode, fit, sizeOf } from './image.mjs';

/** @typedef {{ x: number, y: number, width: number, height: number }} Region */
/** @typedef {{ number: number, count: number, region: Region }} Tile */

/** What models look at: larger images are scaled down to it. */
const MODEL_PIXELS = 1_150_000;
const MODEL_EDGE = 1_568;
/** The smallest scale at which common text is easy to read. */
const MIN_SCALE = 0.8;
/** Nobody can read text that is smaller than this, even if the screen has two pixels for each. */
const ILLEGIBLE_SCALE = 0.4;
const MAX_WIDTH = MODEL_EDGE / MIN_SCALE;
const MAX_PIXELS = MODEL_PIXELS / MIN_SCALE ** 2;
/** In one response. */
const MAX_TILES = 4;
/** A line of text at the edge of a tile is whole in the next. */
const OVERLAP = 24;

/** @param {{ width: number, height: number }} size */
const modelScale = ({ width, height }) =>
  Math.min(1, MODEL_EDGE / Math.max(width, height), Math.sqrt(MODEL_PIXELS / (width * height)));

/** @param {{ width: number, height: number }} size */
const isIllegible = (size) => modelScale(size) < ILLEGIBLE_SCALE;

/** Divides a region, row by row. @param {Region} region @returns {Region[]} */
function divide({ x, y, width, height }) {
  const columns = Math.ceil(width / MAX_WIDTH);
  const tileWidth = Math.ceil(width / columns);
  const most = Math.min(MAX_WIDTH, MAX_PIXELS / tileWidth);
  // A little more is better than a second tile.
  const rows = Math.ceil(height / (height < most * 1.25 ? height : most));
  const tileHeight = Math.ceil(height / rows);
  return Array.from({ length: rows * columns }, (_, index) => {
    const [left, top] = [(index % columns) * tileWidth, Math.floor(index / columns) * tileHeight];
    return {
      x: x + left,
      y: y + top,
      width: Math.min(tileWidth + (columns > 1 ? OVERLAP : 0), width - left),
      height: Math.min(tileHeight + OVERLAP, height - top),
    };
  });
}

/**
 * The tiles of a region to show, and what to say about them.
 * @param {Region} region
 * @param {number} [first] its number, from 1
 * @returns {{ tiles: Region[], note?: string }}
 */
export function tilesOf(region, first = 1) {
  const all = divide(region);
  if (!Number.isInteger(first) || first < 1 || first > all.length) {
    throw new RangeError(`There is no tile ${first}: there are ${all.length}, from 1.`);
  }
  const tiles = all.slice(first - 1, first - 1 + MAX_TILES);
  const last = first - 1 + tiles.length;
  const { width, height } = region;
  const size = `${Math.round(width)}x${Math.round(height)} pixels`;
  const rest =
    last < all.length ? ` Next: add { tile: ${last + 1} }. Or pass a locator for a part.` : '';
  const note = `[Tiles ${first} to ${last} of ${all.length}, from the top, of ${size}.${rest}]`;
  return { tiles, note: all.length > 1 ? note : undefined };
}

/**
 * An image that the code has made, in tiles if it would be illegible.
 * @param {Buffer} bytes
 * @param {number | null} limit in bytes; without one, the image stays as it is
 * @returns {ImageResult[]}
 */
export function fitLegibly(bytes, limit) {
  const size = sizeOf(bytes);
  if (limit === null || !size || !isIllegible(size)) {
    return [fit(bytes, limit)];
  }
  const whole = decode(bytes);
  const { tiles, note } = tilesOf({ x: 0, y: 0, ...size });
  return tiles.map((tile, index) => {
    const part = encode(crop(whole, tile), 'png');
    const hint = note
      ?.replace('add { tile', 'screenshot({ fullPage: true, tile')
      .replace('}.', '}).');
    return fit(part, limit, index === tiles.length - 1 ? hint : undefined);
  });
}

/** @param {Picture} picture @param {Region} region @returns {Picture} */
function crop({ width: stride, data }, { x, y, width, height }) {
  const part = { width, height, data: Buffer.alloc(width * height * 4) };
  for (let row = 0; row < height; row += 1) {
    const start = ((y + row) * stride + x) * 4;
    part.data.set(data.subarray(start, start + width * 4), row * width * 4);
  }
  return part;
}
