/**
 * Draws refs over the elements of a picture. It is drawn here and not in the page: nothing that the person sees changes,
 * and no page can forbid it. Refs are made of the letters e and f and digits, so these are all the font has.
 */

/** Five columns and seven rows for each; a set bit is a dot. */
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
const [COLUMNS, ROWS, GAP] = [5, 7, 1];
/** Each is dark enough for white text on it. */
const COLOURS = [
  [200, 30, 30],
  [20, 100, 200],
  [20, 120, 50],
  [150, 40, 160],
  [180, 90, 0],
];

/** @param {{ width: number, height: number, data: Uint8Array }} picture RGBA; it is drawn on */
export function drawLabels(picture, boxes) {
  boxes.forEach((box, index) => {
    const isSeen =
      box.width > 0 &&
      box.height > 0 &&
      box.x < picture.width &&
      box.y < picture.height &&
      box.x + box.width > 0 &&
      box.y + box.height > 0;
    if (isSeen) {
      const colour = COLOURS[index % COLOURS.length];
      outline(picture, box, colour);
      label(picture, box, colour);
    }
  });
}

function outline(picture, { x, y, width, height }, colour) {
  fill(picture, x, y, width, 1, colour);
  fill(picture, x, y + height - 1, width, 1, colour);
  fill(picture, x, y, 1, height, colour);
  fill(picture, x + width - 1, y, 1, height, colour);
}

/** Above the element's corner where there is room, so that it covers as little of it as possible. */
function label(picture, { ref, x, y }, colour) {
  const width = ref.length * (COLUMNS + GAP) + 2 + GAP;
  const height = ROWS + 4;
  const left = Math.round(Math.min(Math.max(0, x), Math.max(0, picture.width - width)));
  const top = Math.round(y >= height ? y - height : Math.max(0, y));
  fill(picture, left, top, width, height, colour);
  [...ref].forEach((letter, index) => {
    (GLYPHS[letter] ?? []).forEach((dots, row) => {
      for (let column = 0; column < COLUMNS; column += 1) {
        if (dots & (1 << (COLUMNS - 1 - column))) {
          fill(
            picture,
            left + 2 + index * (COLUMNS + GAP) + column,
            top + 2 + row,
            1,
            1,
            [255, 255, 255],
          );
        }
      }
    });
  });
}

function fill(picture, x, y, width, height, [red, green, blue]) {
  const [fromX, toX] = [Math.max(0, Math.round(x)), Math.min(picture.width, Math.round(x + width))];
  const [fromY, toY] = [
    Math.max(0, Math.round(y)),
    Math.min(picture.height, Math.round(y + height)),
  ];
  for (let row = fromY; row < toY; row += 1) {
    for (let column = fromX; column < toX; column += 1) {
      picture.data.set([red, green, blue, 255], (row * picture.width + column) * 4);
    }
  }
}
