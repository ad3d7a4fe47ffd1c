/**
 * The one WebSocket to the relay: connects, connects again with growing patience, and writes what waits in as few frames
 * as it can. What messages mean is not its business.
 *
 * `offline` → `connecting` → `connected` → (closed) → `offline`, and so on until `stop`.
 */

import { joinFrame, parseFrame } from './protocol.js';

/** What the relay takes at most, less a little for the frame around it. A larger message would cost the connection. */
const MAX_BYTES = 255 * 2 ** 20;
const FIRST_RETRY_MS = 250;
const LAST_RETRY_MS = 10_000;

/** @param {string} message A letter takes three bytes at most, so few have to be counted. */
const isTooLarge = (message) =>
  message.length * 3 > MAX_BYTES &&
  (message.length > MAX_BYTES || new TextEncoder().encode(message).length > MAX_BYTES);

/** @typedef {'stopped' | 'offline' | 'connecting' | 'connected'} LinkState */

export class RelayLink {
  /** @type {WebSocket | undefined} */
  #socket;
  /** @type {string[]} Messages of the present turn of the event loop. */
  #waiting = [];
  #retryMs = FIRST_RETRY_MS;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #retry;
  #address = '';

  /** @type {LinkState} */
  state = 'stopped';

  /**
   * @param {object} on
   * @param {() => void} on.open
   * @param {(call: import('./protocol.js').Call) => void} on.call
   * @param {() => void} on.change The state has changed.
   */
  constructor(on) {
    this.on = on;
  }

  get address() {
    return this.#address;
  }

  /**
   * Connects to this address, leaving another. Connected already, or on the way, it does nothing.
   * @param {string} address
   */
  start(address) {
    if (address !== this.#address) {
      this.stop();
      this.#address = address;
      this.#retryMs = FIRST_RETRY_MS;
    }
    if (!this.#socket) {
      this.#connect();
    }
  }

  stop() {
    clearTimeout(this.#retry);
    const socket = this.#socket;
    this.#socket = undefined;
    socket?.close();
    this.#set('stopped');
  }

  /** @param {string} message @returns {boolean} Whether the message is of a size that can be sent. */
  send(message) {
    if (isTooLarge(message)) {
      return false;
    }
    if (this.state === 'connected' && this.#waiting.push(message) === 1) {
      queueMicrotask(() => this.#flush());
    }
    return true;
  }

  #flush() {
    const messages = this.#waiting;
    this.#waiting = [];
    if (this.#socket && this.state === 'connected') {
      this.#socket.send(joinFrame(messages));
    }
  }

  #connect() {
    clearTimeout(this.#retry);
    const socket = new WebSocket(`ws://${this.#address}/extension`);
    this.#socket = socket;
    this.#set('connecting');
    // A socket that was replaced or stopped has no say any more.
    const isPresent = () => this.#socket === socket;
    socket.onopen = () => {
      if (!isPresent()) {
        return;
      }
      this.#retryMs = FIRST_RETRY_MS;
      this.#waiting = [];
      this.#set('connected');
      this.on.open();
    };
    socket.onmessage = ({ data }) => {
      for (const call of isPresent() ? parseFrame(data) : []) {
        this.on.call(call);
      }
    };
    socket.onclose = () => {
      if (isPresent()) {
        this.#socket = undefined;
        this.#set('offline');
        this.#retryLater();
      }
    };
  }

  #retryLater() {
    const jitter = 0.75 + Math.random() / 2;
    this.#retry = setTimeout(() => this.#connect(), this.#retryMs * jitter);
    this.#retryMs = Math.min(this.#retryMs * 2, LAST_RETRY_MS);
  }

  /** @param {LinkState} state */
  #set(state) {
    if (this.state !== state) {
      this.state = state;
      this.on.change();
    }
  }
}
