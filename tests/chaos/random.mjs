/** Random numbers that can be repeated: the same seed gives the same numbers. */

/** @param {number} seed */
export function randomFrom(seed) {
  let state = seed >>> 0;
  /** At least 0 and less than `limit`. @param {number} limit */
  const below = (limit) => {
    // mulberry32
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % limit;
  };
  return { below, pick: (list) => list[below(list.length)] };
}
