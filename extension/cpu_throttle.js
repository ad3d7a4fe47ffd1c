/**
 * How much the targets of one tab are slowed down: by clients, which emulate slower devices, and by this
 * extension, which holds back a target that floods it with events (`back_pressure.js`). Chrome has one rate
 * per target, so it gets the product. When the debugger is detached, Chrome undoes it.
 */

import { WorkerBrake } from './worker_brake.js';

export const SET_CPU_RATE = 'Emulation.setCPUThrottlingRate';

/** Stands for the tab's own page among the child session ids. */
const PAGE = '';

const FULL_SPEED = { client: 1, own: 1 };

/**
 * @typedef {object} CpuRate
 * @property {number} client What clients have set last. The relay undoes it when they leave.
 * @property {number} own This extension's.
 *
 * @typedef {(childSessionId: string | undefined, method: string, params: object) => Promise<any>} Send
 *   Sends a command to a target of the tab.
 */

/** @param {any} error Of a worker, Chrome says that this is "only supported for page, not worker". */
const isOfWorker = (error) => /not worker/.test(error?.message);

/** Whether Chrome accepts this as a rate. @param {unknown} rate @returns {rate is number} */
export const isRate = (rate) => typeof rate === 'number' && rate >= 1;

export class CpuThrottle {
  /** Has no entry for a target at full speed. @type {Map<string, CpuRate>} By child session id, or `PAGE`. */
  #rates;
  #send;
  /** Of workers that this extension has slowed down. @type {Map<string, WorkerBrake>} By child session id. */
  #brakes = new Map();

  /** @param {Send} send @param {Record<string, CpuRate>} [saved] */
  constructor(send, saved = {}) {
    this.#send = send;
    this.#rates = new Map(Object.entries(saved));
  }

  /** @param {string | undefined} childSessionId @param {number} rate @param {() => void} save */
  setClientRate(childSessionId, rate, save) {
    return this.#set(childSessionId, { client: rate }, save, (key) => this.#sendRate(key));
  }

  /**
   * Slows a target down, in addition to what clients have set. `1` ends this. Rejects if the target is gone.
   * @param {string | undefined} childSessionId
   * @param {number} rate
   * @param {() => void} save Called after each change of the rates.
   */
  slowDown(childSessionId, rate, save) {
    return this.#set(childSessionId, { own: rate }, save, (key) =>
      this.#sendRate(key).catch((error) => this.#brake(key, rate, error)),
    );
  }

  /** A child target's session has ended. @param {string} childSessionId @returns {boolean} Whether it had a rate. */
  forget(childSessionId) {
    this.#brakes.get(childSessionId)?.set(1);
    this.#brakes.delete(childSessionId);
    return this.#rates.delete(childSessionId);
  }

  /** What a target is slowed down to in total. @param {string} [childSessionId] */
  total(childSessionId = PAGE) {
    const { client, own } = this.#rates.get(childSessionId) ?? FULL_SPEED;
    return client * own;
  }

  /**
   * The rates above another, and what sends each once more.
   * @param {number} rate
   * @returns {{ rate: number, repeat: () => void }[]}
   */
  above(rate) {
    const totals = [...this.#rates.keys()].map((key) => ({
      rate: this.total(key),
      repeat: () => void this.#sendRate(key).catch(() => {}), // It is gone.
    }));
    return totals.filter((total) => total.rate > rate);
  }

  /** The targets that this extension slows down, and its rates. @returns {[string | undefined, number][]} */
  own() {
    const slowed = [...this.#rates].filter(([, { own }]) => own > 1);
    return slowed.map(([key, { own }]) => [key || undefined, own]);
  }

  /** For `chrome.storage.session`. */
  saved() {
    return Object.fromEntries(this.#rates);
  }

  /**
   * @param {string | undefined} childSessionId
   * @param {Partial<CpuRate>} change
   * @param {() => void} save
   * @param {(key: string) => Promise<any>} apply
   */
  async #set(childSessionId = PAGE, change, save, apply) {
    const before = this.#rates.get(childSessionId) ?? FULL_SPEED;
    const rate = { ...before, ...change };
    this.#keep(childSessionId, rate);
    save();
    try {
      return await apply(childSessionId);
    } catch (error) {
      // Unless it was changed again meanwhile.
      if (this.#rates.get(childSessionId) === rate) {
        this.#keep(childSessionId, before);
        save();
      }
      throw error;
    }
  }

  /** @param {string} key @param {CpuRate} rate */
  #keep(key, rate) {
    if (rate.client === 1 && rate.own === 1) {
      this.#rates.delete(key);
    } else {
      this.#rates.set(key, rate);
    }
  }

  /** @param {string} key */
  #sendRate(key) {
    return this.#send(key || undefined, SET_CPU_RATE, { rate: this.total(key) });
  }

  /** Chrome has no CPU throttling for workers. @param {string} key @param {number} rate @param {any} error */
  #brake(key, rate, error) {
    if (key === PAGE || !isOfWorker(error)) {
      throw error;
    }
    const brake =
      this.#brakes.get(key) ?? new WorkerBrake((method, params) => this.#send(key, method, params));
    this.#brakes.set(key, brake);
    brake.set(rate);
  }
}
