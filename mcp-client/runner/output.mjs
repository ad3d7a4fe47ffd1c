/** What a call says: the console's lines as they come and its value at the end, cut at the limit; the rest can be asked for. */

import { Console } from 'node:console';
import { Writable } from 'node:stream';
import util from 'node:util';

import { chromium } from 'playwright-core';

/** A call that says more than this has its end forgotten. */
const KEPT = 16 << 20;
/** The same where the limit is higher, as a shell's is: as JSON, six letters for one at worst, it must still be one string. */
const KEPT_AT_MOST = 64 << 20;
/** All pictures of an answer in base64: MCP's own client closes the connection at 10 MiB. */
const PICTURES = 6_000_000;
// Node's `dir` passes over what objects say of themselves unless it is told not to.
const INSPECT = {
  customInspect: true,
  depth: 5,
  breakLength: 120,
  compact: 3,
  maxArrayLength: 1_000,
  maxStringLength: Infinity,
};

// Playwright's objects are large inside and say little: their name and address do. They all have one base.
Object.getPrototypeOf(Object.getPrototypeOf(chromium))[util.inspect.custom] = function describe() {
  const kind = this.constructor.name.replace(/^_|\d+$/g, '');
  return typeof this.url === 'function' ? `${kind} ${this.url()}` : kind;
};

export class Output {
  #text = '';
  #limit = 0;
  #kept = KEPT;
  /** The whole of the last output that was cut. */
  #whole = '';
  #forgotten = false;
  #say;
  #images = [];
  /** How much room is left for pictures of this call. */
  #room = 0;
  #leftOut = 0;

  /** @param {(text: string) => void} say is told of lines as they come, up to the limit, for a call that never ends. */
  constructor(say) {
    this.#say = say;
  }

  begin(limit, imageLimit) {
    this.#limit = limit;
    this.#kept = Math.max(KEPT, Math.min(limit, KEPT_AT_MOST));
    // Whoever takes larger pictures than that, as a shell does, takes more of them too.
    this.#room = imageLimit === null ? Infinity : Math.max(PICTURES, imageLimit);
  }

  line(text) {
    const before = this.#text.length;
    if (this.#forgotten) {
      return;
    }
    const kept = beginning(text, this.#kept - before);
    this.#forgotten = kept.length < text.length;
    this.#text += `${kept}\n`;
    if (before < this.#limit) {
      this.#say(beginning(`${kept}\n`, this.#limit - before));
    }
  }

  picture({ image, note }) {
    if (image.data.length > this.#room) {
      this.#leftOut += 1;
      return;
    }
    this.#room -= image.data.length;
    this.#images.push(image);
    if (note) {
      this.line(note);
    }
  }

  /** Throws if something is lost that the limit would have let through: whoever has none takes the output for all of it. */
  check() {
    if (this.#forgotten && this.#limit > this.#kept) {
      throw new RangeError(
        `the output is longer than ${this.#kept} characters; what came after them is lost`,
      );
    }
  }

  /** What was said since the last time, within the limits. */
  end() {
    const [whole, images] = [this.#text.trimEnd(), this.#images];
    const text = beginning(whole, this.#limit);
    const notes = [];
    if (text !== whole) {
      this.#whole = whole;
      notes.push(
        `[cut: ${text.length} of ${whole.length} characters. The rest: output(${text.length}). Better: ask for less.]`,
      );
    }
    if (this.#forgotten) {
      notes.push(`[what came after the first ${whole.length} characters was not kept]`);
    }
    if (this.#leftOut > 0) {
      notes.push(
        `[${this.#leftOut} more pictures do not fit into one answer. Take them in another call, or smaller: screenshot(locator).]`,
      );
    }
    this.#text = '';
    this.#forgotten = false;
    this.#images = [];
    this.#leftOut = 0;
    return { text: [text, ...notes].join('\n'), images };
  }

  /** The words of an error, within the limit. */
  cut(words) {
    const kept = beginning(words, this.#limit);
    return kept === words ? words : `${kept}\n[cut: ${kept.length} of ${words.length} characters]`;
  }

  /** In scope of the code, as `output`. */
  rest = (from = 0, to = undefined) => this.#whole.slice(from, to);

  /** In scope of the code, as `console`: Node's own, with marks where a terminal would have another stream. */
  console() {
    let mark = '';
    const lines = new Writable({
      decodeStrings: false,
      write: (text, _, done) => {
        this.line(mark + text.replace(/\n$/, ''));
        done();
      },
    });
    const written = new Console({ stdout: lines, inspectOptions: INSPECT });
    for (const method of ['warn', 'error']) {
      const write = written[method];
      written[method] = (...values) => {
        mark = `[${method}] `;
        try {
          write(...values);
        } finally {
          mark = '';
        }
      };
    }
    return written;
  }
}

/** The first characters of a text; none is cut in two. */
export function beginning(text, length) {
  const end = Math.max(0, length);
  return text.slice(0, text.codePointAt(end - 1) > 0xffff ? end - 1 : end);
}

/** Text of any value: strings as they are, data as JSON, the rest as Node shows it. */
export function show(value) {
  if (typeof value === 'string') {
    return value;
  }
  if (typeof value === 'function') {
    return `[function ${value.name || '(anonymous)'}: it was returned, not called]`;
  }
  try {
    if (isData(value)) {
      const compact = JSON.stringify(value);
      return compact.length <= 120 ? compact : JSON.stringify(value, null, 1);
    }
  } catch {
    // It holds itself, or does not want to be JSON: Node can show it all the same.
  }
  return util.inspect(value, INSPECT);
}

/** Whether JSON says all of it. */
function isData(value, seen = new Set()) {
  if (
    value === null ||
    typeof value === 'string' ||
    typeof value === 'boolean' ||
    Number.isFinite(value)
  ) {
    return true;
  }
  if (typeof value !== 'object') {
    return false;
  }
  if (seen.has(value)) {
    return true;
  }
  seen.add(value);
  if (Array.isArray(value)) {
    return value.every((item) => isData(item, seen));
  }
  return isPlain(value) && Object.values(value).every((item) => isData(item, seen));
}

/** An object without a class. Those of the code's own realm have another `Object`. */
export function isPlain(value) {
  const prototype = Object.getPrototypeOf(value);
  return (
    prototype === null ||
    (Object.getPrototypeOf(prototype) === null && Object.hasOwn(prototype, 'isPrototypeOf'))
  );
}
