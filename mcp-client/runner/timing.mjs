/** Waiting with a limit. */

/**
 * The result of a promise, or nothing if it takes too long.
 * @template T
 * @param {number} timeoutMs
 * @param {Promise<T>} promise
 * @returns {Promise<T | undefined>}
 */
export function within(timeoutMs, promise) {
  /** @type {NodeJS.Timeout | undefined} */
  let timer;
  /** @type {Promise<undefined>} */
  const late = new Promise((resolve) => {
    timer = setTimeout(resolve, timeoutMs, undefined);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}
