/**
 * The output of a call: console lines as they come, the value at the end, and images. Text is truncated at the limit of
 * the call; the rest is kept so that the code can read it in the next call.
 */

import { Console } from 'node:console';
import { Writable } from 'node:stream';
import util from 'node:util';

import { shortenInspection } from './internals.mjs';

/** @typedef {{ data: string, mimeType: string }} Image `data` is base64 */
/** @typedef {{ image: Image, note?: string }} ImageResult `note` is for the agent */

/** Characters kept of one call. The rest is discarded. */
const MAX_KEPT = 16 << 20;
/**
 * The same if the limit of the call is higher, as it is for a shell. As JSON, the text can be six times as long and must
 * still fit into one string.
 */
const MAX_KEPT_FOR_SHELL = 64 << 20;
/** Base64 characters of all images in one response. The MCP SDK closes the connection at 10 MiB. */
const MAX_IMAGES = 6_000_000;

const INSPECT_OPTIONS = {
  // `console.dir` ignores custom inspection by default.
  customInspect: true,
  depth: 5,
  breakLength: 120,
  compact: 3,
  maxArrayLength: 1_000,
  maxStringLength: Infinity,
};

shortenInspection();

export class Output {
  #text = '';
  #limit = 0;
  #maxKept = MAX_KEPT;
  /** The whole of the last output that was truncated. */
  #lastWhole = '';
  #hasDiscarded = false;
  /** @type {Image[]} */
  #images = [];
  #imageRoom = 0;
  #omittedImages = 0;
  #stream;
  #mask;
  /** Whether the code returned a value, even if it is empty. */
  hasValue = false;

  /**
   * @param {(text: string) => void} stream receives lines as they come, up to the limit, in case the call never ends
   * @param {(text: string) => string} [mask] hides secrets. It has to see text before it is truncated
   */
  constructor(stream, mask = (text) => text) {
    this.#stream = stream;
    this.#mask = mask;
  }

  /**
   * @param {number} limit in characters
   * @param {number | null} imageLimit in bytes per image
   */
  begin(limit, imageLimit) {
    this.hasValue = false;
    this.#limit = limit;
    this.#maxKept = Math.max(MAX_KEPT, Math.min(limit, MAX_KEPT_FOR_SHELL));
    // A caller that accepts a larger image, as a shell does, accepts a larger response.
    this.#imageRoom = imageLimit === null ? Infinity : Math.max(MAX_IMAGES, imageLimit);
  }

  /** @param {string} text */
  line(text) {
    if (this.#hasDiscarded) {
      return;
    }
    const before = this.#text.length;
    const masked = this.#mask(text);
    const kept = truncate(masked, this.#maxKept - before);
    this.#hasDiscarded = kept.length < masked.length;
    this.#text += `${kept}\n`;
    if (before < this.#limit) {
      this.#stream(truncate(`${kept}\n`, this.#limit - before));
    }
  }

  /** Whether this text is in the output of the call. @param {string} text */
  includes(text) {
    return this.#text.includes(text);
  }

  /** @param {ImageResult} result */
  image({ image, note }) {
    if (image.data.length > this.#imageRoom) {
      this.#omittedImages += 1;
      return;
    }
    this.#imageRoom -= image.data.length;
    this.#images.push(image);
    if (note) {
      this.line(note);
    }
  }

  /** Throws if text within the limit was discarded: a caller with such a high limit expects the whole output. */
  assertComplete() {
    if (this.#hasDiscarded && this.#limit > this.#maxKept) {
      throw new RangeError(
        `The output is longer than ${this.#maxKept} characters; the rest was discarded.`,
      );
    }
  }

  /** Returns the output since the last time, within the limits, and starts over. */
  end() {
    const [whole, images] = [this.#text.trimEnd(), this.#images];
    const text = truncate(whole, this.#limit);
    const notes = this.#notes(text, whole);
    if (text !== whole) {
      this.#lastWhole = whole;
    }
    this.#text = '';
    this.#hasDiscarded = false;
    this.#images = [];
    this.#omittedImages = 0;
    return { text: [text, ...notes].join('\n'), images, hasValue: this.hasValue };
  }

  /**
   * @param {string} text
   * @param {string} whole
   */
  #notes(text, whole) {
    const notes = [];
    if (text !== whole) {
      notes.push(
        `[Truncated: ${text.length} of ${whole.length} characters. Call output(${text.length}) for the rest, or print less.]`,
      );
    }
    if (this.#hasDiscarded) {
      notes.push(`[Output after the first ${whole.length} characters was discarded.]`);
    }
    if (this.#omittedImages > 0) {
      notes.push(
        `[${this.#omittedImages} more images do not fit into one response. Take them in another call, or make them smaller: screenshot(locator).]`,
      );
    }
    return notes;
  }

  /**
   * Truncates an error message at the limit.
   * @param {string} message
   */
  truncateError(message) {
    const masked = this.#mask(message);
    const kept = truncate(masked, this.#limit);
    return kept === masked
      ? masked
      : `${kept}\n[Truncated: ${kept.length} of ${masked.length} characters.]`;
  }

  /** `output(from, to)` for the code: a part of the last output that was truncated. */
  slice = (from = 0, /** @type {number | undefined} */ to = undefined) =>
    this.#lastWhole.slice(from, to);

  /** `console` for the code: Node's own, with a prefix for what would go to stderr. */
  console() {
    let prefix = '';
    const lines = new Writable({
      decodeStrings: false,
      write: (text, _, done) => {
        this.line(prefix + text.replace(/\n$/, ''));
        done();
      },
    });
    const console = new Console({ stdout: lines, inspectOptions: INSPECT_OPTIONS });
    for (const method of /** @type {const} */ (['warn', 'error'])) {
      const write = console[method];
      console[method] = (...values) => {
        prefix = `[${method}] `;
        try {
          write(...values);
        } finally {
          prefix = '';
        }
      };
    }
    return console;
  }
}

/**
 * The first `length` characters of a text. Never splits a surrogate pair.
 * @param {string} text
 * @param {number} length
 */
export function truncate(text, length) {
  const end = Math.max(0, length);
  return text.slice(0, (text.codePointAt(end - 1) ?? 0) > 0xffff ? end - 1 : end);
}

/**
 * Any value as text: strings as they are, plain data as JSON, everything else as `util.inspect` prints it.
 * @param {any} value
 * @returns {string}
 */
export function show(value) {
  if (typeof value === 'string') {
    return value;
  }
  if (typeof value === 'function') {
    return `[function ${value.name || '(anonymous)'}: returned, not called]`;
  }
  try {
    const copy = copyOfData(value);
    if (copy !== NOT_DATA) {
      return compactJson(copy);
    }
  } catch {
    // It is circular or its `toJSON` throws. `util.inspect` can print it anyway.
  }
  return util.inspect(value, INSPECT_OPTIONS);
}

/**
 * JSON without spaces. A long list has one line per item, so that it can be read and truncated.
 * @param {any} value
 */
function compactJson(value) {
  const text = JSON.stringify(value);
  return Array.isArray(value) && text.length > 120
    ? `[${value.map((item) => JSON.stringify(item)).join(',\n')}]`
    : text;
}

const NOT_DATA = Symbol('not data');

/**
 * A copy of what JSON can represent without loss. It has the built-ins of this realm: what the code did to its own, such
 * as `Object.prototype.toJSON`, does not change how values are shown.
 * @param {any} value
 * @param {Map<object, any>} copies of the objects that contain the value, or came before it
 * @returns {any} `NOT_DATA` if it is anything else
 */
function copyOfData(value, copies = new Map()) {
  if (value === null || ['string', 'boolean'].includes(typeof value) || Number.isFinite(value)) {
    return value;
  }
  if (copies.has(value)) {
    return copies.get(value);
  }
  const isArray = Array.isArray(value);
  if (typeof value !== 'object' || !(isArray || isPlain(value))) {
    return NOT_DATA;
  }
  const copy = isArray ? [] : Object.create(null);
  copies.set(value, copy);
  // Of an array, only the items: the result of `match` has other keys, too. A hole is not data.
  const keys = isArray ? Array.prototype.keys.call(value) : Object.keys(value);
  for (const key of keys) {
    const item = copyOfData(value[key], copies);
    if (item === NOT_DATA) {
      return NOT_DATA;
    }
    copy[key] = item;
  }
  return copy;
}

/**
 * Whether an array of the code, which may have changed the methods of its arrays, has only these items. Stops at the first
 * other one: the array may be long and empty.
 * @param {any[]} array
 * @param {any[]} items
 */
export function hasOnly(array, items) {
  for (let index = 0; index < array.length; index += 1) {
    if (!items.includes(array[index])) {
      return false;
    }
  }
  return true;
}

/**
 * Whether an object has no class. Objects of the code have the `Object.prototype` of another realm.
 * @param {any} value
 */
export function isPlain(value) {
  const prototype = Object.getPrototypeOf(value);
  return (
    prototype === null ||
    (Object.getPrototypeOf(prototype) === null && Object.hasOwn(prototype, 'isPrototypeOf'))
  );
}
