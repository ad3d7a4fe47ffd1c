/**
 * Secrets that the user has given to the agent without showing them: the code gets a placeholder, which becomes the secret
 * only when it is typed into a page or sent in a request. Whatever contains a secret is masked before it leaves this process.
 */

import { randomUUID } from 'node:crypto';

import { escape, patternsOf } from './secret_patterns.mjs';

/** A place in a text, and what is written there instead. @typedef {{ start: number, end: number, mask: string }} Place */

export class Secrets {
  /** @type {Map<string, string>} */
  #values = new Map();
  /** What finds each secret, and what stands for it. @type {{ pattern: RegExp, mask: string }[]} */
  #patterns = [];
  /** Makes placeholders that no page can know, and so have typed. */
  #mark = randomUUID().slice(0, 8);
  /** Find the mark, also in Base64. */
  #placeholderPatterns = patternsOf(this.#mark);

  /** @param {Record<string, string>} values by name */
  set(values) {
    this.#values = new Map(Object.entries(values));
    this.#patterns = [...this.#values].flatMap(([name, value]) => {
      const mask = `<secret ${name}>`;
      // Text may be masked twice, and a mask may contain what is a secret elsewhere.
      const patterns = [new RegExp(escape(mask), 'g'), ...patternsOf(value)];
      return patterns.map((pattern) => ({ pattern, mask }));
    });
  }

  /** `secret(name)` for the code. @param {string} name */
  placeholder = (name) => {
    if (!this.#values.has(name)) {
      const known = [...this.#values.keys()].join(', ');
      throw new Error(
        known
          ? `There is no secret '${name}'. There are: ${known}.`
          : `There is no secret '${name}'. Ask the user to start \`tabwire mcp\` with --secrets FILE.`,
      );
    }
    return this.#placeholderOf(name);
  };

  /** @param {string} name */
  #placeholderOf(name) {
    return `<secret ${name} ${this.#mark}>`;
  }

  get isEmpty() {
    return this.#values.size === 0;
  }

  /**
   * Puts secrets in the place of their placeholders, which may be encoded for a form.
   * @param {string} text
   * @param {(value: string) => string} [escape] writes a value as the text needs it
   */
  reveal(text, escape = (value) => value) {
    let revealed = text;
    for (const [name, value] of this.#values) {
      const placeholder = this.#placeholderOf(name);
      const encoded = encodeURIComponent(placeholder);
      for (const form of [placeholder, encoded, encoded.replaceAll('%20', '+')]) {
        revealed = revealed.replaceAll(form, () => escape(value));
      }
    }
    return revealed;
  }

  /** The secret whose placeholder is in a text, however it is written. @param {string} text */
  nameIn(text) {
    if (!this.#placeholderPatterns.some((pattern) => text.search(pattern) >= 0)) {
      return undefined;
    }
    // In Base64 the name cannot be read.
    return [...this.#values.keys()].find((name) => text.includes(this.#placeholderOf(name))) ?? '…';
  }

  /** Puts a name in the place of every secret, however it is written. @param {string} text */
  mask = (text) => {
    const places = this.#patterns.flatMap(({ pattern, mask }) => placesOf(text, pattern, mask));
    let [masked, end, last] = ['', 0, ''];
    for (const place of outermost(places)) {
      // Two secrets may overlap, and so may two times the same, which then is masked once.
      const isSame = place.start < end && place.mask === last;
      masked += text.slice(end, Math.max(end, place.start)) + (isSame ? '' : place.mask);
      [end, last] = [place.end, place.mask];
    }
    return masked + text.slice(end);
  };
}

/** Everywhere that a pattern matches, also where the matches overlap. @param {string} text @param {RegExp} pattern @param {string} mask */
function placesOf(text, pattern, mask) {
  /** @type {Place[]} */
  const places = [];
  pattern.lastIndex = 0;
  for (let match = pattern.exec(text); match; match = pattern.exec(text)) {
    places.push({ start: match.index, end: pattern.lastIndex, mask });
    pattern.lastIndex = match.index + 1;
  }
  return places;
}

/** Leaves out what lies within another place: one secret may be a part of another. @param {Place[]} places */
function outermost(places) {
  let end = -1;
  return places
    .sort((a, b) => a.start - b.start || b.end - a.end)
    .filter((place) => {
      const isOutside = place.end > end;
      end = Math.max(end, place.end);
      return isOutside;
    });
}
