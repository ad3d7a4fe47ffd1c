/**
 * Encoded images, PNG and JPEG: recognizes them, reads their size, and makes them fit the limit of a call. Knows nothing
 * about pages.
 */

/** @import { ImageResult } from './output.mjs' */
/** @import { Picture } from './labels.mjs' */

import jpeg from 'jpeg-js';
import { PNG } from 'pngjs';

/** @typedef {{ width: number, height: number }} Size */

/** The longest edge that models accept, in pixels, however few bytes the image has. */
export const MAX_EDGE = 8_000;
/** The types that can be made smaller here. Playwright also has WebP. */
export const TYPES = /** @type {const} */ (['png', 'jpeg']);
const JPEG_QUALITY = 75;
/** Screens have few colors and large areas. Filters, and the strategy that goes with them, make them larger and take longer. */
const SCREEN = { filterType: 0, deflateStrategy: 0, deflateLevel: 6 };
const MAX_DECODING_MIB = 512;

/** @param {unknown} value */
export const isImage = (value) => Buffer.isBuffer(value) && sizeOf(value) !== undefined;

/** @param {Buffer} bytes */
const isPng = (bytes) => bytes.subarray(0, 4).equals(Buffer.from([0x89, 0x50, 0x4e, 0x47]));

/** @param {Buffer} bytes */
const isJpeg = (bytes) => bytes.subarray(0, 3).equals(Buffer.from([0xff, 0xd8, 0xff]));

/**
 * Reads the size from the header, without decoding the image.
 * @param {Buffer} bytes
 * @returns {Size | undefined} nothing if this is not an image
 */
export function sizeOf(bytes) {
  if (isPng(bytes) && bytes.length >= 24) {
    return { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) };
  }
  // A JPEG is a sequence of segments, each a marker and a length. The start-of-frame segment (SOF) has the size.
  let at = 2;
  while (isJpeg(bytes) && at + 9 <= bytes.length && bytes[at] === 0xff) {
    const marker = bytes.readUInt8(at + 1);
    if (marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker)) {
      return { width: bytes.readUInt16BE(at + 7), height: bytes.readUInt16BE(at + 5) };
    }
    at += marker === 0xff ? 1 : 2 + bytes.readUInt16BE(at + 2);
  }
  return undefined;
}

/**
 * @param {Buffer} bytes
 * @returns {Picture}
 */
export const decode = (bytes) =>
  isPng(bytes)
    ? PNG.sync.read(bytes)
    : jpeg.decode(bytes, { maxMemoryUsageInMB: MAX_DECODING_MIB });

/**
 * @param {Picture} picture
 * @param {typeof TYPES[number]} type
 */
export const encode = (picture, type) =>
  type === 'jpeg'
    ? jpeg.encode(picture, JPEG_QUALITY).data
    : PNG.sync.write(/** @type {PNG} */ (picture), SCREEN);

/**
 * Returns an image as it is if it fits or if there is no limit; otherwise as JPEG, scaled down as far as necessary.
 * @param {Buffer} bytes
 * @param {number | null} limit in bytes
 * @param {string} [note] for the agent; a note on scaling is added to it
 * @returns {ImageResult}
 */
export function fit(bytes, limit, note) {
  const isShort = () => Object.values(sizeOf(bytes) ?? {}).every((edge) => edge <= MAX_EDGE);
  if (limit === null || (bytes.length <= limit && isShort())) {
    return toResult(bytes, note);
  }
  const whole = decode(bytes);
  const { width, height } = whole;
  let scale = Math.min(1, MAX_EDGE / Math.max(width, height));
  for (;;) {
    const size = {
      width: Math.max(1, Math.floor(width * scale)),
      height: Math.max(1, Math.floor(height * scale)),
    };
    const data = encode(scale === 1 ? whole : shrink(whole, size), 'jpeg');
    if (data.length <= limit || (size.width === 1 && size.height === 1)) {
      const scaled = `[Image scaled from ${width}x${height} to ${size.width}x${size.height}.]`;
      return toResult(data, scale === 1 ? note : [note, scaled].filter(Boolean).join('\n'));
    }
    scale *= Math.min(0.9, Math.sqrt(limit / data.length) * 0.95);
  }
}

/**
 * @param {Buffer} bytes
 * @param {string} [note]
 * @returns {ImageResult}
 */
function toResult(bytes, note) {
  const mimeType = isPng(bytes) ? 'image/png' : 'image/jpeg';
  return { image: { data: bytes.toString('base64'), mimeType }, note };
}

/**
 * Scales down by area averaging: each new pixel is the mean of the old ones it covers, weighted by how much it covers.
 * Works row by row, because a float copy of a large screenshot would take hundreds of megabytes.
 * @param {Picture} picture
 * @param {Size} size not larger than the picture
 * @returns {Picture}
 */
export function shrink({ width, height, data }, size) {
  const shrunk = { ...size, data: Buffer.alloc(size.width * size.height * 4) };
  const ratio = height / size.height;
  for (let row = 0; row < size.height; row += 1) {
    const sums = new Float64Array(size.width * 4);
    const [start, end] = [row * ratio, Math.min(height, (row + 1) * ratio)];
    for (let y = Math.floor(start); y < end; y += 1) {
      const share = (Math.min(end, y + 1) - Math.max(start, y)) / ratio;
      addRow(sums, data.subarray(y * width * 4, (y + 1) * width * 4), share);
    }
    // A Buffer would truncate fractions instead of rounding them.
    shrunk.data.set(new Uint8ClampedArray(sums), row * sums.length);
  }
  return shrunk;
}

/**
 * Adds an old row, reduced to the new width, to the sums of a new row.
 * @param {Float64Array} sums
 * @param {Buffer} row
 * @param {number} rowShare
 */
function addRow(sums, row, rowShare) {
  const width = row.length / 4;
  const ratio = row.length / sums.length;
  for (let at = 0; at < sums.length; at += 4) {
    const [start, end] = [(at / 4) * ratio, Math.min(width, (at / 4 + 1) * ratio)];
    for (let x = Math.floor(start); x < end; x += 1) {
      const share = ((Math.min(end, x + 1) - Math.max(start, x)) / ratio) * rowShare;
      for (let channel = 0; channel < 4; channel += 1) {
        sums[at + channel] = (sums[at + channel] ?? 0) + (row[x * 4 + channel] ?? 0) * share;
      }
    }
  }
}
