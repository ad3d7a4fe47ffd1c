/**
 * The WebSocket to the relay: connects, reconnects with exponential backoff, and batches messages
 * into frames. Does not interpret messages.
 *
 * States: `stopped`; after `start`, `connecting` → `connected` → `offline` → `connecting` and so on,
 * until `stop`.
 */

import { joinFrame, parseFrame } from './protocol.js';

/**
 * The relay's limit, minus some room for the frame around the message. The relay closes the
 * connection beyond it.
 */
const MAX_BYTES = 255 * 2 ** 20;
const MIN_RETRY_MS = 250;
const MAX_RETRY_MS = 10_000;

/**
 * A UTF-16 code unit takes at most three bytes, so only huge messages have to be encoded.
 * @param {string} message
 */
const isTooLarge = (message) =>
  message.length * 3 > MAX_BYTES &&
  (message.length > MAX_BYTES || new TextEncoder().encode(message).length > MAX_BYTES);

/** @typedef {'stopped' | 'offline' | 'connecting' | 'connected'} LinkState */

export class RelayLink {
  /** @type {WebSocket | undefined} */
  #socket;
  /** @type {string[]} Messages sent in this turn of the event loop. */
  #queue = [];
  #retryMs = MIN_RETRY_MS;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #retryTimer;
  #address = '';
  #listeners;

  /** @type {LinkState} */
  state = 'stopped';

  /**
   * @param {object} listeners
   * @param {() => void} listeners.onOpen
   * @param {(call: import('./protocol.js').Call) => void} listeners.onCall
   * @param {() => void} listeners.onChange The state has changed.
   */
  constructor(listeners) {
    this.#listeners = listeners;
  }

  get address() {
    return this.#address;
  }

  /**
   * Connects to this address, after disconnecting from any other. Does nothing if already connected
   * or connecting.
   * @param {string} address
   */
  start(address) {
    if (address !== this.#address) {
      this.stop();
      this.#address = address;
      this.#retryMs = MIN_RETRY_MS;
    }
    if (!this.#socket) {
      this.#connect();
    }
  }

  stop() {
    clearTimeout(this.#retryTimer);
    const socket = this.#socket;
    this.#socket = undefined;
    socket?.close();
    this.#set('stopped');
  }

  /**
   * Drops the message if there is no connection.
   * @param {string} message
   * @returns {boolean} False if it is too large.
   */
  send(message) {
    if (isTooLarge(message)) {
      return false;
    }
    if (this.state === 'connected' && this.#queue.push(message) === 1) {
      queueMicrotask(() => this.#flush());
    }
    return true;
  }

  #flush() {
    const messages = this.#queue;
    this.#queue = [];
    if (this.#socket && this.state === 'connected') {
      this.#socket.send(joinFrame(messages));
    }
  }

  #connect() {
    clearTimeout(this.#retryTimer);
    const socket = new WebSocket(`ws://${this.#address}/extension`);
    this.#socket = socket;
    this.#set('connecting');
    // Ignore a socket that was replaced or stopped.
    const isCurrent = () => this.#socket === socket;
    socket.onopen = () => {
      if (!isCurrent()) {
        return;
      }
      this.#retryMs = MIN_RETRY_MS;
      this.#queue = [];
      this.#set('connected');
      this.#listeners.onOpen();
    };
    socket.onmessage = ({ data }) => {
      for (const call of isCurrent() ? parseFrame(data) : []) {
        this.#listeners.onCall(call);
      }
    };
    socket.onclose = () => {
      if (isCurrent()) {
        this.#socket = undefined;
        this.#set('offline');
        this.#retryLater();
      }
    };
  }

  #retryLater() {
    const jitter = 0.75 + Math.random() / 2;
    this.#retryTimer = setTimeout(() => this.#connect(), this.#retryMs * jitter);
    this.#retryMs = Math.min(this.#retryMs * 2, MAX_RETRY_MS);
  }

  /** @param {LinkState} state */
  #set(state) {
    if (this.state !== state) {
      this.state = state;
      this.#listeners.onChange();
    }
  }
}
