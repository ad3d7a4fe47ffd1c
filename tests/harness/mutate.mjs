/**
 * Malformed messages: takes a well-formed one and changes its structure or its text. The same seed gives
 * the same messages.
 */

/** @param {number} seed @returns {(end: number) => number} A function that returns a number below `end`. */
export function makeRandom(seed) {
  let state = seed >>> 0;
  // Mulberry32.
  return (end) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % end;
  };
}

const pick = (random, list) => list[random(list.length)];

/** Values that a field may have by mistake. */
const ODD = [
  null,
  true,
  0,
  -1,
  1.5,
  1e308,
  2 ** 53,
  -(2 ** 31) - 1,
  '',
  'x',
  '__proto__',
  'constructor',
  '\u0000',
  '\ud800',
  '🂡'.repeat(40),
  'x'.repeat(5000),
  [],
  {},
  [[]],
  [null],
  { toString: null },
  { length: 1 },
];

/** Every place in a value: its container and the key there. */
function places(value, found = []) {
  if (value && typeof value === 'object') {
    for (const key of Object.keys(value)) {
      found.push([value, key]);
      places(value[key], found);
    }
  }
  return found;
}

/** What can be done to one place. */
const CHANGES = [
  // A copy, because later changes may change what is inside.
  (random, container, key) => (container[key] = structuredClone(pick(random, ODD))),
  (_random, container, key) => delete container[key],
  (_random, container, key) => (container[key] = [container[key]]),
  (_random, container, key) => (container[key] = { [key]: container[key] }),
  (_random, container, key) => (container[key] = JSON.stringify(container[key])),
  (_random, container, key) => (container[`${key}_`] = container[key]),
];

function changeStructure(random, message) {
  const copy = structuredClone(message);
  for (let changes = 1 + random(3); changes > 0; changes -= 1) {
    const [container, key] = pick(random, places(copy)) ?? [{}, 'x'];
    pick(random, CHANGES)(random, container, key);
  }
  return JSON.stringify(copy);
}

/** Characters that mean something in JSON, and some that must not be there. */
const CHARACTERS = '{}[]",:\\0123eE+-.ntf \n\u0000\u2028é';

function changeText(random, text) {
  const at = random(text.length + 1);
  const end = Math.min(text.length, at + 1 + random(8));
  const changed = [
    () => text.slice(0, at),
    () => text.slice(at),
    () => text.slice(0, at) + text.slice(end),
    () => text.slice(0, at) + text.slice(at, end).repeat(2) + text.slice(end),
    () => text.slice(0, at) + pick(random, [...CHARACTERS]) + text.slice(at),
    () => text.slice(0, at) + pick(random, [...CHARACTERS]) + text.slice(end),
    () => text + text,
    () => `[${text},${text}]`,
    () => '['.repeat(random(3000)) + text,
  ];
  return pick(random, changed)();
}

/**
 * A message that is probably malformed.
 * @param {(end: number) => number} random
 * @param {object} message
 * @returns {string}
 */
export function mutate(random, message) {
  switch (random(4)) {
    case 0:
      return changeText(random, JSON.stringify(message));
    case 1:
      return changeText(random, changeStructure(random, message));
    default:
      return changeStructure(random, message);
  }
}
