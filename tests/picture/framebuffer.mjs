/**
 * Turns the framebuffer of a virtual X display into a PNG. `Xvfb -fbdir` keeps the screen in a file in XWD format, so no
 * screenshot tool has to be installed. Reads 32-bit TrueColor screens only, which is what `-screen 0 WxHx24` gives.
 */

import { crc32, deflateSync } from 'node:zlib';

/** Byte offsets in the XWD header, which is big-endian whatever the byte order of the pixels. */
const HEADER = { size: 0, width: 16, height: 20, bitsPerPixel: 44, bytesPerLine: 48, colors: 76 };
const BYTES_PER_COLOR = 12;

/** @param {Buffer} xwd @returns {Buffer} */
export function toPng(xwd) {
  const { width, height, rows } = readPixels(xwd);
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 2, 0, 0, 0], 8); // 8 bits per channel, RGB.
  return Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(rows, { level: 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

/** @param {Buffer} xwd */
function readPixels(xwd) {
  const field = (/** @type {keyof HEADER} */ name) => xwd.readUInt32BE(HEADER[name]);
  const [width, height] = [field('width'), field('height')];
  if (field('bitsPerPixel') !== 32) {
    throw new Error(`Expected a screen with 32 bits per pixel, got ${field('bitsPerPixel')}.`);
  }
  const start = field('size') + field('colors') * BYTES_PER_COLOR;
  // Each PNG row starts with the number of its filter; 0 means none.
  const rows = Buffer.alloc(height * (1 + width * 3));
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) {
      const from = start + y * field('bytesPerLine') + x * 4;
      const to = y * (1 + width * 3) + 1 + x * 3;
      rows[to] = xwd[from + 2];
      rows[to + 1] = xwd[from + 1];
      rows[to + 2] = xwd[from];
    }
  }
  return { width, height, rows };
}

/** @param {string} type @param {Buffer} data */
function chunk(type, data) {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(data.length);
  const checksum = Buffer.alloc(4);
  checksum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, checksum]);
}
