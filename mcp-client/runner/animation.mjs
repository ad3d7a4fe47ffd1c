/**
 * Makes an animated GIF of the frames of a recording, with clicks marked. Marks are drawn here and never in the page.
 * Long pauses are shortened: an agent that thinks would fill the whole recording.
 */

/** @import { Picture } from './labels.mjs' */

import { setImmediate as turn } from 'node:timers/promises';

import gifenc from 'gifenc';

import { decode, shrink } from './image.mjs';

/** @typedef {{ png: Buffer, viewportWidth: number, time: number }} Frame `time` is in seconds since 1970 */
/** @typedef {{ x: number, y: number, time: number }} Click in pixels of the page */
/** @typedef {{ frame: Frame, clicks: Click[], seconds: number }} Shot a frame, the clicks to mark in it, and how long it is shown */
/** @typedef {{ width: number, height: number }} Size */
/** @typedef {[red: number, green: number, blue: number]} Color */

/** Nothing happens longer than this. */
export const MAX_PAUSE_S = 2;
/** How long a click is marked. */
const MARK_S = 0.6;
/** A click is shown at least this long before its effect is. */
const MIN_CLICK_S = 0.4;
const MIN_LAST_S = 1;
const MAX_FILE = 20 << 20;

/** The pixels from which colors are chosen. */
const MAX_SAMPLES = 200_000;
const MAX_SAMPLED_FRAMES = 12;
/** In pixels of the page. */
const RADIUS = 16;
/** @type {Color} */
const MARK = [255, 87, 34];
/** @type {Color} */
const HALO = [255, 255, 255];
/** One color of 256 stands for a pixel that has not changed. */
const MAX_COLORS = 253;

/**
 * @param {Frame[]} frames at least one, in order
 * @param {Click[]} clicks
 * @param {number} end when the recording ended
 * @param {number} maxWidth
 */
export async function animate(frames, clicks, end, maxWidth) {
  const shots = timeline(frames, clicks, end);
  const read = cached((/** @type {Frame} */ frame) => fitted(decode(frame.png), maxWidth));
  const { width, height } = read(/** @type {Frame} */ (frames[0]));
  const palette = chooseColors(frames.map((frame) => () => read(frame)));
  const writer = new Writer({ width, height }, palette);
  let seconds = 0;
  for (const { frame, clicks: marked, seconds: shown } of shots) {
    if (writer.size > MAX_FILE) {
      break;
    }
    const picture = onCanvas(read(frame), { width, height });
    const scale = read(frame).width / frame.viewportWidth;
    marked.forEach((click) => drawMark(picture, click, scale));
    writer.add(picture, shown);
    seconds += shown;
    // Events of the browser must not wait for the whole recording.
    await turn();
  }
  return { bytes: writer.finish(), seconds: Number(seconds.toFixed(1)), width, height };
}

/**
 * What is shown when. A click is a shot of its own, also if the page shows no effect of it.
 * @param {Frame[]} frames
 * @param {Click[]} clicks
 * @param {number} end
 * @returns {Shot[]}
 */
export function timeline(frames, clicks, end) {
  const start = frames[0]?.time ?? end;
  const changes = [
    ...frames.map(({ time }) => time),
    ...clicks.flatMap(({ time }) => [time, time + MARK_S]),
  ];
  // The last click is shown whole.
  const last = clicks.reduce((latest, { time }) => Math.max(latest, time + MARK_S), end);
  const times = [...new Set(changes.map((time) => Math.max(time, start)))]
    .filter((time) => time <= last)
    .sort((a, b) => a - b);
  return times.map((time, index) => {
    const frame = /** @type {Frame} */ (frames.findLast((shown) => shown.time <= time));
    const marked = clicks.filter((click) => time >= click.time && time < click.time + MARK_S);
    const isClick = clicks.some((click) => click.time === time);
    const isLast = index === times.length - 1;
    const least = isLast ? MIN_LAST_S : isClick ? MIN_CLICK_S : 0;
    const pause = Math.min(MAX_PAUSE_S, (times[index + 1] ?? last) - time);
    return { frame, clicks: marked, seconds: Math.max(least, pause) };
  });
}

/** Remembers the latest result. @template A, R @param {(argument: A) => R} compute */
function cached(compute) {
  /** @type {{ argument: A, result: R } | undefined} */
  let latest;
  return (/** @type {A} */ argument) => {
    if (latest?.argument !== argument) {
      latest = { argument, result: compute(argument) };
    }
    return latest.result;
  };
}

/** @param {Picture} picture @param {number} maxWidth of both edges @returns {Picture} */
function fitted(picture, maxWidth) {
  const scale = maxWidth / Math.max(picture.width, picture.height);
  const scaled = (/** @type {number} */ edge) => Math.max(1, Math.round(edge * scale));
  return scale >= 1
    ? picture
    : shrink(picture, { width: scaled(picture.width), height: scaled(picture.height) });
}

/**
 * A copy of the size of the animation. The window may have been resized meanwhile.
 * @param {Picture} picture
 * @param {Size} size
 * @returns {Picture}
 */
function onCanvas(picture, { width, height }) {
  const data = Buffer.alloc(width * height * 4, 255);
  for (let row = 0; row < Math.min(height, picture.height); row += 1) {
    const from = row * picture.width * 4;
    picture.data.copy(data, row * width * 4, from, from + Math.min(width, picture.width) * 4);
  }
  return { width, height, data };
}

/**
 * The colors of all frames. With the same ones everywhere, a pixel that has not changed needs no space.
 * @param {(() => Picture)[]} pictures
 * @returns {Color[]}
 */
function chooseColors(pictures) {
  const step = Math.ceil(pictures.length / MAX_SAMPLED_FRAMES);
  const sampled = pictures.filter(
    (_, index) => index % step === 0 || index === pictures.length - 1,
  );
  const perPicture = Math.floor(MAX_SAMPLES / sampled.length);
  const samples = sampled.map((picture) => {
    const pixels = pixelsOf(picture());
    const every = Math.max(1, Math.floor(pixels.length / perPicture));
    return pixels.filter((_, index) => index % every === 0);
  });
  const all = new Uint32Array(samples.reduce((total, { length }) => total + length, 0));
  samples.reduce((at, pixels) => (all.set(pixels, at), at + pixels.length), 0);
  const colors = gifenc.quantize(new Uint8Array(all.buffer), MAX_COLORS);
  return [...colors, MARK, HALO];
}

/** A number for each pixel. @param {Picture} picture */
function pixelsOf({ data }) {
  const copy = new Uint8Array(data);
  return new Uint32Array(copy.buffer);
}

/**
 * A ring and a dot where the mouse was pressed.
 * @param {Picture} picture
 * @param {Click} click
 * @param {number} scale of the picture
 */
function drawMark(picture, { x, y }, scale) {
  const [centerX, centerY, radius] = [x * scale, y * scale, RADIUS * Math.max(scale, 0.5)];
  const reach = Math.ceil(radius) + 1;
  for (let row = Math.floor(centerY - reach); row <= centerY + reach; row += 1) {
    for (let column = Math.floor(centerX - reach); column <= centerX + reach; column += 1) {
      const part = Math.hypot(column + 0.5 - centerX, row + 0.5 - centerY) / radius;
      const color = part < 0.3 || (part > 0.7 && part <= 0.95) ? MARK : HALO;
      const isInside = part < 0.4 || (part > 0.6 && part <= 1.05);
      const isVisible = column >= 0 && row >= 0 && column < picture.width && row < picture.height;
      if (isInside && isVisible) {
        picture.data.set([...color, 255], (row * picture.width + column) * 4);
      }
    }
  }
}

/** Writes the file, picture by picture. */
class Writer {
  #size;
  #palette;
  #encoder = gifenc.GIFEncoder();
  /** The colors of the latest picture. @type {Uint8Array | undefined} */
  #previous;
  /** What was shown after the latest picture that is written. @type {{ pixels: Uint8Array, seconds: number } | undefined} */
  #pending;

  /** @param {Size} size @param {Color[]} palette */
  constructor(size, palette) {
    this.#size = size;
    this.#palette = palette;
  }

  get size() {
    return this.#encoder.bytesView().length;
  }

  /** @param {Picture} picture @param {number} seconds */
  add({ data }, seconds) {
    const colors = gifenc.applyPalette(new Uint8Array(data), this.#palette);
    const previous = this.#previous;
    if (this.#pending && previous && Buffer.compare(colors, previous) === 0) {
      this.#pending.seconds += seconds;
      return;
    }
    this.#flush();
    const unchanged = this.#palette.length;
    const pixels = colors.map((/** @type {number} */ color, /** @type {number} */ at) =>
      previous?.[at] === color ? unchanged : color,
    );
    this.#previous = colors;
    this.#pending = { pixels, seconds };
  }

  #flush() {
    if (!this.#pending) {
      return;
    }
    const { pixels, seconds } = this.#pending;
    const { width, height } = this.#size;
    const isFirst = this.size === 0;
    this.#encoder.writeFrame(pixels, width, height, {
      ...(isFirst ? { palette: [...this.#palette, HALO] } : {}),
      transparent: true,
      transparentIndex: this.#palette.length,
      // In milliseconds; viewers slow down what is faster.
      delay: Math.max(20, Math.round(seconds * 1_000)),
      // What is shown stays.
      dispose: 1,
    });
    this.#pending = undefined;
  }

  /** @returns {Uint8Array} */
  finish() {
    this.#flush();
    this.#encoder.finish();
    return this.#encoder.bytes();
  }
}
