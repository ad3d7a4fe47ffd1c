/** What a call says: the console's lines as they come and its value at the end, cut at the limit; the rest can be asked for. */

import util from 'node:util';

import { chromium } from 'playwright-core';

/** A call that says more than this has its end forgotten. */
const KEPT = 16 << 20;
const INSPECT = { depth: 5, breakLength: 120, compact: 3, maxArrayLength: 1_000, maxStringLength: Infinity };

// Playwright's objects are large inside and say little: their name and address do. They all have one base.
Object.getPrototypeOf(Object.getPrototypeOf(chromium))[util.inspect.custom] = function describe() {
  const kind = this.constructor.name.replace(/^_|\d+$/g, '');
  return typeof this.url === 'function' ? `${kind} ${this.url()}` : kind;
};

export class Output {
  #text = '';
  #limit = 0;
  /** The whole of the last output that was cut. */
  #whole = '';
  #forgotten = false;
  #say;
  images = [];

  /** @param {(text: string) => void} say is told of lines as they come, up to the limit, for a call that never ends. */
  constructor(say) {
    this.#say = say;
  }

  begin(limit) {
    this.#limit = limit;
  }

  line(text) {
    const before = this.#text.length;
    if (before + text.length > KEPT) {
      this.#forgotten = true;
      return;
    }
    this.#text += `${text}\n`;
    if (before < this.#limit) {
      this.#say(this.#text.slice(before, this.#limit));
    }
  }

  /** What was said since the last time, within the limit. */
  end() {
    const [text, limit, images] = [this.#text.trimEnd(), this.#limit, this.images];
    const notes = this.#forgotten ? [`[what came after the first ${text.length} characters was not kept]`] : [];
    this.#text = '';
    this.#forgotten = false;
    this.images = [];
    if (text.length > limit) {
      this.#whole = text;
      notes.unshift(`[cut: ${limit} of ${text.length} characters. The rest: output(${limit}). Better: ask for less.]`);
    }
    return { text: [text.slice(0, limit), ...notes].join('\n'), images };
  }

  /** In scope of the code, as `output`. */
  rest = (from = 0, to = undefined) => this.#whole.slice(from, to);

  /** In scope of the code, as `console`. */
  console() {
    const write = (mark) => (...values) => this.line(mark + util.formatWithOptions(INSPECT, ...values));
    const quiet = () => {};
    return {
      log: write(''), info: write(''), debug: write(''), dir: write(''), table: write(''),
      warn: write('[warn] '), error: write('[error] '), trace: write('[trace] '),
      group: write(''), groupEnd: quiet, time: quiet, timeEnd: quiet, assert: quiet, clear: quiet, count: quiet,
    };
  }
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
  if (value === null || typeof value === 'string' || typeof value === 'boolean' || Number.isFinite(value)) {
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
  return prototype === null || (Object.getPrototypeOf(prototype) === null && Object.hasOwn(prototype, 'isPrototypeOf'));
}
