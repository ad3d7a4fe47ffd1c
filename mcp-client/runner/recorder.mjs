/**
 * Records a page: the frames of Chrome's screencast, and where the code presses the mouse. The page is not changed, and
 * does not have to be in front. A recording survives reconnects, and is bounded in length, frames and size.
 */

/** @import { CDPSession, Page } from 'playwright-core' */
/** @import { BrowserLink } from './browser_link.mjs' */
/** @import { Click, Frame } from './animation.mjs' */
/** @import { Files } from './files.mjs' */

import { writeFile } from 'node:fs/promises';
import path from 'node:path';

import { MAX_PAUSE_S, animate } from './animation.mjs';
import { whenPressed } from './internals.mjs';
import { checkOptions } from './options.mjs';
import { within } from './timing.mjs';

/** What `record.start` accepts, and its defaults. */
const RANGES = {
  fps: { least: 1, most: 10, standard: 5 },
  seconds: { least: 1, most: 60, standard: 60 },
  width: { least: 200, most: 1_280, standard: 800 },
};
/** Chrome sends the first frame at once, unless it is busy or the page cannot be painted. */
const FIRST_FRAME_TIMEOUT_MS = 1_000;
const SCREENSHOT_TIMEOUT_MS = 5_000;
/** Encoding one takes about 0.1 s. */
const MAX_FRAMES = 150;
/** Of the encoded frames, until the recording ends. */
const MAX_BYTES = 64 << 20;
/** Pauses do not count as length, so a recording that nobody stops needs a limit of its own. */
const MAX_DURATION_S = 15 * 60;

/**
 * @typedef {{
 *   target: string | undefined, file: string | undefined, fps: number, seconds: number, width: number,
 *   frames: Frame[], clicks: Click[], bytes: number, startedAt: number, endedAt?: number,
 *   detach?: (withLast?: boolean) => Promise<void>,
 * }} Recording
 */

export class Recorder {
  #link;
  #files;
  /** @type {Recording | undefined} */
  #recording;

  /** @param {BrowserLink} link @param {Files} files */
  constructor(link, files) {
    this.#link = link;
    this.#files = files;
  }

  /**
   * `record.start(options?)` for the code.
   * @param {{ fps?: number, seconds?: number, width?: number, path?: string }} [options]
   */
  start = async (options = {}) => {
    checkOptions('record.start', options, [...Object.keys(RANGES), 'path']);
    if (this.#recording) {
      throw new Error('A recording is running. Call record.stop() first.');
    }
    const file = options.path === undefined ? undefined : this.#files.resolve(String(options.path));
    if (file !== undefined && path.extname(file) !== '.gif') {
      throw new TypeError('record.start: the name of the file must end with .gif.');
    }
    const { page } = await this.#link.ensurePage();
    /** @type {Recording} */
    const recording = {
      target: this.#link.idOf(page),
      file,
      ...limitsIn(options),
      frames: [],
      clicks: [],
      bytes: 0,
      startedAt: now(),
    };
    this.#recording = recording;
    try {
      await attach(recording, page);
    } catch (error) {
      this.#recording = undefined;
      await recording.detach?.();
      throw error;
    }
  };

  /** `record.stop()` for the code: writes the file. */
  stop = async () => {
    const recording = this.#recording;
    if (!recording) {
      throw new Error('No recording is running. Call record.start() first.');
    }
    this.#recording = undefined;
    await recording.detach?.(true);
    const { frames, clicks, width, endedAt } = recording;
    if (frames.length === 0) {
      throw new Error('The browser has sent no picture of the page.');
    }
    const { bytes, ...facts } = await animate(frames, clicks, endedAt ?? now(), width);
    const file = await this.#write(bytes, recording.file);
    const note = endedAt === undefined ? {} : { note: 'It was full before record.stop().' };
    return { path: file, ...facts, bytes: bytes.length, ...note };
  };

  /** @param {Uint8Array} bytes @param {string | undefined} chosen @returns {Promise<string>} where it is */
  async #write(bytes, chosen) {
    if (chosen === undefined) {
      const saved = await this.#files.save('recording.gif', (file) => writeFile(file, bytes));
      return saved.path;
    }
    await this.#files.create();
    // It may show what is private, and must not replace anything.
    await writeFile(chosen, bytes, { mode: 0o600, flag: 'wx' });
    return chosen;
  }

  /** After a reconnect, continues with the same tab, if it still exists. */
  async resume() {
    const recording = this.#recording;
    const page = recording && this.#link.pageOf(recording.target);
    if (recording && page && recording.endedAt === undefined) {
      // If the tab cannot be used now, what was recorded before is still worth keeping.
      await attach(recording, page).catch(() => recording.detach?.());
    }
  }
}

const now = () => Date.now() / 1_000;

/** @param {Record<string, unknown>} options */
function limitsIn(options) {
  const limit = (/** @type {keyof typeof RANGES} */ name) => {
    const { least, most, standard } = RANGES[name];
    const value = options[name] ?? standard;
    if (typeof value !== 'number' || !(value >= least && value <= most)) {
      throw new RangeError(`record.start: ${name} must be a number from ${least} to ${most}.`);
    }
    return value;
  };
  return { fps: limit('fps'), seconds: limit('seconds'), width: Math.round(limit('width')) };
}

/**
 * Starts to receive frames and clicks of a page.
 * @param {Recording} recording
 * @param {Page} page
 */
async function attach(recording, page) {
  const session = await page.context().newCDPSession(page);
  const ignorePresses = whenPressed(page, (point) =>
    recording.clicks.push({ ...point, time: now() }),
  );
  recording.detach = async (withLast = false) => {
    recording.detach = undefined;
    ignorePresses();
    if (withLast) {
      await within(SCREENSHOT_TIMEOUT_MS, addScreenshot(recording, session));
    }
    // The tab or the connection may be gone.
    await session.send('Page.stopScreencast').catch(() => {});
    await session.detach().catch(() => {});
  };
  const first = new Promise((resolve) =>
    session.on('Page.screencastFrame', ({ data, metadata, sessionId }) => {
      const { deviceWidth, timestamp = now() } = metadata;
      add(recording, {
        png: Buffer.from(data, 'base64'),
        viewportWidth: deviceWidth,
        time: timestamp,
      });
      // At once: Chrome drops what is painted while two frames are unacknowledged, even if nothing is painted after it.
      session.send('Page.screencastFrameAck', { sessionId }).catch(() => {});
      resolve(true);
    }),
  );
  const size = { maxWidth: recording.width, maxHeight: recording.width };
  await session.send('Page.startScreencast', { format: 'png', ...size });
  if (!(await within(FIRST_FRAME_TIMEOUT_MS, first))) {
    // What the page looked like before the code changes it must not be missing.
    const screenshot = addScreenshot(recording, session);
    await within(SCREENSHOT_TIMEOUT_MS, Promise.race([first, screenshot]));
  }
}

/**
 * Adds what the page looks like now, which may not have been sent yet.
 * @param {Recording} recording
 * @param {CDPSession} session
 */
async function addScreenshot(recording, session) {
  try {
    const viewportWidth = recording.frames.at(-1)?.viewportWidth ?? (await widthOf(session));
    const { data } = await session.send('Page.captureScreenshot', { format: 'png' });
    add(recording, { png: Buffer.from(data, 'base64'), viewportWidth, time: now() });
  } catch {
    // The tab or the connection is gone.
  }
}

/** @param {CDPSession} session @returns {Promise<number>} the width of the viewport, in pixels of the page */
async function widthOf(session) {
  const { result } = await session.send('Runtime.evaluate', { expression: 'innerWidth' });
  return result.value;
}

/**
 * Keeps a frame. One that follows another too soon replaces it, so that the latest is never lost.
 * @param {Recording} recording
 * @param {Frame} frame
 */
export function add(recording, frame) {
  const { frames, fps } = recording;
  // A screenshot may overtake what was painted before it.
  const isLate = frame.time < (frames.at(-1)?.time ?? 0);
  if (recording.endedAt !== undefined || isLate) {
    return;
  }
  const before = frames.at(-2);
  if (before && frame.time - before.time < 1 / fps) {
    recording.bytes -= frames.pop()?.png.length ?? 0;
  }
  frames.push(frame);
  recording.bytes += frame.png.length;
  if (frames.length > MAX_FRAMES) {
    thinOut(recording);
  }
  const isOld = frame.time - recording.startedAt > MAX_DURATION_S;
  if (lengthOf(recording.frames) >= recording.seconds || recording.bytes > MAX_BYTES || isOld) {
    recording.endedAt = frame.time;
    recording.detach?.();
  }
}

/** Removes every second frame but the last, and takes half as many from now on. @param {Recording} recording */
function thinOut(recording) {
  const { length } = recording.frames;
  const removed = recording.frames.filter((_, index) => index % 2 === 1 && index < length - 1);
  recording.frames = recording.frames.filter((frame) => !removed.includes(frame));
  recording.bytes -= removed.reduce((total, { png }) => total + png.length, 0);
  recording.fps /= 2;
}

/** In seconds, without the rest of long pauses. @param {Frame[]} frames */
const lengthOf = (frames) =>
  frames.reduce((length, { time }, index) => {
    const previous = frames[index - 1]?.time ?? time;
    return length + Math.min(MAX_PAUSE_S, time - previous);
  }, 0);
