/**
 * Slows down a worker, for which Chrome has no CPU throttling: keeps it busy most of the time. The loop does
 * not need anything that a page could have replaced, and Chrome ends it.
 */

/** How long the worker may run at a time. */
const RUN_MS = 10;

export class WorkerBrake {
  #send;
  #rate = 1;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;

  /** @param {(method: string, params: object) => Promise<unknown>} send Sends a command to the worker. */
  constructor(send) {
    this.#send = send;
  }

  /** @param {number} rate How many times as long everything takes. `1` releases the brake. */
  set(rate) {
    this.#rate = rate;
    this.#timer ??= this.#next(0);
  }

  /** @param {number} delay */
  #next(delay) {
    return setTimeout(() => this.#hold(), delay);
  }

  #hold() {
    this.#timer = undefined;
    if (this.#rate > 1) {
      const timeout = RUN_MS * (this.#rate - 1);
      // The reply may be late, because the worker's events come first.
      this.#send('Runtime.evaluate', { expression: 'for (;;);', timeout }).catch((error) => {
        if (!/terminated/.test(error.message)) {
          this.set(1); // The worker is gone.
        }
      });
      this.#timer = this.#next(timeout + RUN_MS);
    }
  }
}
