/**
 * Draws the refs of elements onto a screenshot. This happens here and never in the page, so the user sees no change and no
 * page can prevent it.
 */

/** @typedef {{ width: number, height: number, data: Buffer }} Picture RGBA pixels */
/** @typedef {{ x: number, y: number, width: number, height: number }} Box */
/** @typedef {Box & { ref: string }} LabelledBox */
/** @typedef {[red: number, green: number, blue: number]} Color */

/**
 * Five columns and seven rows per glyph; a set bit is a dot. Refs consist of digits, `e` and `f` only.
 * @type {Record<string, number[]>}
 */
const GLYPHS = {
  0: [14, 17, 19, 21, 25, 17, 14],
  1: [4, 12, 4, 4, 4, 4, 14],
  2: [14, 17, 1, 6, 8, 16, 31],
  3: [31, 2, 4, 2, 1, 17, 14],
  4: [2, 6, 10, 18, 31, 2, 2],
  5: [31, 16, 30, 1, 1, 17, 14],
  6: [6, 8, 16, 30, 17, 17, 14],
  7: [31, 1, 2, 4, 8, 8, 8],
  8: [14, 17, 17, 14, 17, 17, 14],
  9: [14, 17, 17, 15, 1, 2, 12],
  e: [0, 0, 14, 17, 31, 16, 14],
  f: [6, 9, 8, 28, 8, 8, 8],
};
const [COLUMNS, ROWS, GAP, PADDING] = [5, 7, 1, 2];

/** @type {Color} */
const WHITE = [255, 255, 255];
/**
 * All are dark enough for white text.
 * @type {Color[]}
 */
const COLORS = [
  [200, 30, 30],
  [20, 100, 200],
  [20, 120, 50],
  [150, 40, 160],
  [180, 90, 0],
];

/**
 * Draws onto `picture` itself.
 * @param {Picture} picture
 * @param {LabelledBox[]} boxes
 */
export function drawLabels(picture, boxes) {
  boxes.forEach((box, index) => {
    if (isVisible(picture, box)) {
      const color = COLORS[index % COLORS.length] ?? WHITE;
      drawOutline(picture, box, color);
      drawLabel(picture, box, color);
    }
  });
}

/**
 * @param {Picture} picture
 * @param {Box} box
 */
function isVisible(picture, { x, y, width, height }) {
  const hasArea = width > 0 && height > 0;
  return hasArea && x < picture.width && y < picture.height && x + width > 0 && y + height > 0;
}

/**
 * @param {Picture} picture
 * @param {Box} box
 * @param {Color} color
 */
function drawOutline(picture, { x, y, width, height }, color) {
  fill(picture, { x, y, width, height: 1 }, color);
  fill(picture, { x, y: y + height - 1, width, height: 1 }, color);
  fill(picture, { x, y, width: 1, height }, color);
  fill(picture, { x: x + width - 1, y, width: 1, height }, color);
}

/**
 * Puts the label above the element if there is room, so that it covers as little of it as possible.
 * @param {Picture} picture
 * @param {LabelledBox} box
 * @param {Color} color
 */
function drawLabel(picture, box, color) {
  const width = box.ref.length * (COLUMNS + GAP) + PADDING + GAP;
  const height = ROWS + 2 * PADDING;
  const x = Math.round(Math.min(Math.max(0, box.x), Math.max(0, picture.width - width)));
  const y = Math.round(box.y >= height ? box.y - height : Math.max(0, box.y));
  fill(picture, { x, y, width, height }, color);
  [...box.ref].forEach((letter, index) => {
    drawGlyph(picture, x + PADDING + index * (COLUMNS + GAP), y + PADDING, letter);
  });
}

/**
 * @param {Picture} picture
 * @param {number} x
 * @param {number} y
 * @param {string} letter
 */
function drawGlyph(picture, x, y, letter) {
  (GLYPHS[letter] ?? []).forEach((dots, row) => {
    for (let column = 0; column < COLUMNS; column += 1) {
      if (dots & (1 << (COLUMNS - 1 - column))) {
        fill(picture, { x: x + column, y: y + row, width: 1, height: 1 }, WHITE);
      }
    }
  });
}

/**
 * @param {Picture} picture
 * @param {Box} box
 * @param {Color} color
 */
function fill(picture, { x, y, width, height }, [red, green, blue]) {
  const [left, top] = [Math.max(0, Math.round(x)), Math.max(0, Math.round(y))];
  const right = Math.min(picture.width, Math.round(x + width));
  const bottom = Math.min(picture.height, Math.round(y + height));
  for (let row = top; row < bottom; row += 1) {
    for (let column = left; column < right; column += 1) {
      picture.data.set([red, green, blue, 255], (row * picture.width + column) * 4);
    }
  }
}
