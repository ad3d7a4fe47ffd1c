/**
 * Secrets that the user has given to the agent without showing them: the code gets a placeholder, which becomes the secret
 * only when it is typed into a page. Whatever contains a secret is masked before it leaves this process.
 */

import { randomUUID } from 'node:crypto';

export class Secrets {
  /** @type {Map<string, string>} */
  #values = new Map();
  /** What `mask` replaces, and with what. @type {Map<string, string>} */
  #masks = new Map();
  /** @type {RegExp | undefined} Matches the longest of them. */
  #pattern;
  /** Makes placeholders that no page can know, and so have typed. */
  #mark = randomUUID().slice(0, 8);

  /** @param {Record<string, string>} values by name */
  set(values) {
    this.#values = new Map(Object.entries(values));
    this.#masks = new Map();
    for (const [name, value] of this.#values) {
      const mask = `<secret ${name}>`;
      formsOf(value).forEach((form) => this.#masks.set(form, mask));
    }
    // Text may be masked twice, and a mask may contain what is a secret elsewhere.
    for (const mask of [...this.#masks.values()]) {
      this.#masks.set(mask, mask);
    }
    this.#masks.delete('');
    // One secret may be a part of another.
    const forms = [...this.#masks.keys()].sort((a, b) => b.length - a.length);
    this.#pattern = forms.length > 0 ? new RegExp(forms.map(escape).join('|'), 'g') : undefined;
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

  /** Puts secrets in the place of their placeholders. @param {string} text */
  reveal(text) {
    let revealed = text;
    for (const [name, value] of this.#values) {
      revealed = revealed.replaceAll(this.#placeholderOf(name), () => value);
    }
    return revealed;
  }

  /** Puts a name in the place of every secret, also where it is escaped. @param {string} text */
  mask = (text) =>
    this.#pattern ? text.replace(this.#pattern, (form) => this.#masks.get(form) ?? '') : text;
}

/** A pattern that matches this text only. @param {string} text */
const escape = (text) => text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');

/** A value as it is in text, JSON, addresses, submitted forms, HTML and what HTML shows. @param {string} value */
const formsOf = (value) =>
  new Set([
    value,
    JSON.stringify(value).slice(1, -1),
    encodeURIComponent(value),
    encodeURI(value),
    value.replace(/\s+/g, ' ').trim(),
    new URLSearchParams({ '': value }).toString().slice(1),
    value.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;'),
    value.replaceAll('&', '&amp;').replaceAll('"', '&quot;'),
  ]);
