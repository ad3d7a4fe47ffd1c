/** The arguments of the functions in an agent's scope, which may be anything. */

/**
 * Throws if there is an option that the function does not have: a misspelled one would be ignored silently.
 * @param {string} name of the function
 * @param {object} options
 * @param {string[]} known
 */
export function checkOptions(name, options, known) {
  const unknown = Object.keys(options).find((option) => !known.includes(option));
  if (unknown !== undefined) {
    throw new TypeError(`${name} has no option '${unknown}'. Options: ${known.join(', ')}.`);
  }
}

/**
 * Throws if one of these options is there and is not a number of this size: the result would be empty without a reason.
 * @param {string} name of the function
 * @param {Record<string, any>} options
 * @param {string[]} numbers
 */
export function checkNumbers(name, options, numbers, least = 0) {
  for (const option of numbers) {
    const value = options[option];
    if (value !== undefined && !(typeof value === 'number' && value >= least)) {
      throw new TypeError(`${name}: ${option} must be a number, ${least} or more.`);
    }
  }
}

/**
 * What a search for text or a regular expression matches. Text matches in any case.
 * @param {any} wanted a regular expression may be of another realm
 * @returns {(text: string) => boolean}
 */
export function matcherOf(wanted) {
  if (typeof wanted?.source === 'string' && typeof wanted.test === 'function') {
    // With the flags `g` or `y` it would continue where it last matched.
    const pattern = new RegExp(wanted.source, wanted.flags.replace(/[gy]/g, ''));
    return (text) => pattern.test(text);
  }
  const part = String(wanted).toLowerCase();
  return (text) => text.toLowerCase().includes(part);
}
