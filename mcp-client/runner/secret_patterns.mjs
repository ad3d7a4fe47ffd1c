/**
 * Patterns that find a secret however it is written: as it is, escaped for JSON, HTML or an address, in any mixture, and in
 * Base64.
 */

/** Of the characters that stand for a secret in Base64. Fewer would be found in ordinary words. */
const MIN_BASE64 = 6;
const ENTITIES = new Map([
  ['&', 'amp'],
  ['<', 'lt'],
  ['>', 'gt'],
  ['"', 'quot'],
  ["'", 'apos'],
]);
/** In JSON and JavaScript, after a backslash. */
const ESCAPES = new Map(['"', "'", '/', '`'].map((character) => [character, character]));

/** What HTML shows has one space for any number of them. */
const SPACE = String.raw`(?:\s|\+|%(?:25)*(?:20|0[aAdD9])|%[cC]2%[aA]0|\\[nrt]|&nbsp;|&#(?:160|10|13|9|32);)+`;

/** What a page may have between two characters without showing it, and marks of Markdown where one of them is bold. */
const BETWEEN = String.raw`(?:[\u00ad\u200b-\u200d\u2060\ufeff]|&(?:shy|ZeroWidthSpace);|\*{1,3}|~~|\`)*`;
/** A shorter text in capitals may be an ordinary word. */
const MIN_OTHER_CASE = 8;

/** A pattern that matches this text only. @param {string} text */
export const escape = (text) => text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');

/** @param {string} value @returns {RegExp[]} each global */
export function patternsOf(value) {
  const trimmed = value.trim();
  if (trimmed === '') {
    return [];
  }
  // A page can show text in other letters than it has.
  const isLong = trimmed.length >= MIN_OTHER_CASE;
  const cases = isLong ? [trimmed, trimmed.toUpperCase(), trimmed.toLowerCase()] : [trimmed];
  const sources = new Set([...cases.map(plainPattern), ...base64Patterns(value)]);
  return [...sources].map((source) => new RegExp(source, 'g'));
}

/** @param {string} text */
function plainPattern(text) {
  const words = text.split(/\s+/);
  return words.map((word) => [...word].map(characterPattern).join(BETWEEN)).join(SPACE);
}

/** One character, in all its forms. Text may have been escaped twice. @param {string} character */
function characterPattern(character) {
  if (character === '\\') {
    return String.raw`(?:\\{4}|\\{2}|\\|%(?:25)*5[cC])`;
  }
  const code = /** @type {number} */ (character.codePointAt(0));
  const bytes = [...Buffer.from(character)].map((byte) => `%(?:25)*${hex(byte, 2)}`);
  const units = character
    .split('')
    .map((unit) => String.raw`\\{1,3}u${hex(unit.charCodeAt(0), 4)}`);
  const [name, letter] = [ENTITIES.get(character), ESCAPES.get(character)];
  const forms = [
    name && `&${name};`,
    letter && String.raw`\\{1,3}${escape(letter)}`,
    escape(character),
    bytes.join(''),
    units.join(''),
    `&#0{0,4}${code};`,
    `&#[xX]0{0,4}${hex(code)};`,
  ];
  return `(?:${forms.filter(Boolean).join('|')})`;
}

/** Hexadecimal digits in any case. @param {number} number @param {number} [length] */
const hex = (number, length = 0) =>
  number
    .toString(16)
    .padStart(length, '0')
    .replace(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`);

/** A secret in Base64 of a longer text looks different for each of the three places where it may begin. @param {string} value */
function base64Patterns(value) {
  const encodings = new Set([value, value.trim()]).values();
  return [...encodings]
    .flatMap((text) => [Buffer.from(text), Buffer.from(text, 'latin1')])
    .flatMap((bytes) => [0, 1, 2].map((offset) => base64Pattern(bytes, offset)))
    .filter((pattern) => pattern !== undefined);
}

/** @param {Buffer} bytes @param {number} offset @returns {string | undefined} */
function base64Pattern(bytes, offset) {
  const encoded = Buffer.concat([Buffer.alloc(offset), bytes]).toString('base64url');
  // A character has six bits. Those at both ends also depend on what is beside the secret.
  const start = Math.ceil((offset * 8) / 6);
  const end = Math.floor(((offset + bytes.length) * 8) / 6);
  const inner = encoded.slice(start, end);
  const digits = (/** @type {string} */ text) =>
    text
      .replaceAll('-', String.raw`(?:[-+]|%2[bB])`)
      .replaceAll('_', String.raw`(?:[_/]|\\/|%2[fF])`);
  const [digit, padding] = [String.raw`(?:[\w+/-]|%2[bBfF])`, '(?:=|%3[dD]){0,2}'];
  if (inner.length >= MIN_BASE64) {
    return `${offset === 0 ? '' : `${digit}?`}${digits(inner)}${digit}?${padding}`;
  }
  return offset === 0 ? `(?<!${digit})${digits(encoded)}${padding}(?!${digit})` : undefined;
}
