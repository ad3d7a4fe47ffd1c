/**
 * The connection to the relay: dials, retries with exponential backoff, and batches messages into
 * frames. Does not interpret messages. Nothing passes before the relay has proven itself: `dial.js`
 * returns a socket only then.
 *
 * States: `stopped`; after `start`, `connecting` until the first attempt has an outcome. Then the
 * state is the outcome of the last attempt while further ones are made. A connection that is lost
 * is `offline`, or `replaced` if another browser has taken over.
 */

import { dial } from './dial.js';
import { CLOSE_SLOT_TAKEN, joinFrame, parseFrame } from './protocol.js';

/**
 * The relay's limit, minus some room for the frame around the message. The relay closes the
 * connection beyond it.
 */
const MAX_BYTES = 255 * 2 ** 20;
/** How many events may be sent in frames of their own before they are collected, and how soon again. */
const MAX_LONE_EVENTS = 64;
const LONE_EVENTS_PER_MS = 0.5;
/** How long events are collected, and up to which size. */
const COLLECT_MS = 2;
const MAX_COLLECTED_CHARACTERS = 256 * 1024;
const MIN_RETRY_MS = 250;
const MAX_RETRY_MS = 3_000;
/** While the user is watching. */
const MAX_WATCHED_RETRY_MS = 2_000;

/**
 * A UTF-16 code unit takes at most three bytes, so only huge messages have to be encoded.
 * @param {string} message
 */
const isTooLarge = (message) =>
  message.length * 3 > MAX_BYTES &&
  (message.length > MAX_BYTES || new TextEncoder().encode(message).length > MAX_BYTES);

/**
 * Sends a reply to whoever has called, unless that connection is lost: a relay that was started again
 * counts its calls anew, and would take it for the reply to another one.
 * @typedef {(message: string) => boolean} Reply False if the message is too large.
 *
 * @typedef {'connecting' | 'replaced' | import('./dial.js').Outcome['state']} LinkState
 *
 * @typedef {object} LinkStatus
 * @property {LinkState} state
 * @property {string} address Empty until the settings have been read.
 * @property {string} [version] The relay's version. Set while connected.
 * @property {string} [name] The relay's name for this browser. Set while connected.
 * @property {string} [holder] The name of the browser that is connected instead of this one.
 * @property {boolean} [canTakeOver] Whether the user may choose this browser instead.
 * @property {number} [relayProtocol] The relay's protocol version, if it is another one.
 * @property {boolean} [timedOut] The program that is listening did not answer in time.
 *
 * @typedef {Omit<import('./handshake.js').Credentials, 'takeOver'> & { isLaunched: boolean }}
 *   StoredCredentials `isLaunched`: the relay has launched this browser.
 */

export class RelayLink {
  /** @type {WebSocket | undefined} Set while connected. */
  #socket;
  /** @type {AbortController | undefined} Set during an attempt. */
  #attempt;
  /** @type {string[]} Messages of this turn of the event loop and, during a flood, events of earlier ones. */
  #queue = [];
  #queuedCharacters = 0;
  #isFlushing = false;
  /** @type {ReturnType<typeof setTimeout> | undefined} Set while events are collected. */
  #collectTimer;
  /** How many events may still be sent at once, and since when. Each millisecond adds to it. */
  #loneEvents = MAX_LONE_EVENTS;
  #loneEventsAt = 0;
  #isFirstAttempt = true;
  #retryMs = MIN_RETRY_MS;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #retryTimer;
  #listeners;

  /** @type {LinkStatus} */
  status = { state: 'stopped', address: '' };
  /** Whether to retry sooner, because the user is waiting. */
  isWatched = false;

  /**
   * @param {object} listeners
   * @param {() => Promise<StoredCredentials>} listeners.readCredentials Called for each retry.
   * @param {() => string} listeners.firstMessage Sent as soon as the relay has proven itself.
   * @param {(call: import('./protocol.js').Call, reply: Reply) => void} listeners.onCall
   * @param {() => void} listeners.onChange The status has changed.
   */
  constructor(listeners) {
    this.#listeners = listeners;
  }

  /** Connects now, unless connected or connecting. @param {StoredCredentials} credentials */
  start(credentials) {
    if (this.status.state === 'stopped') {
      this.restart(credentials);
    } else if (!this.#socket && !this.#attempt) {
      this.#connect(credentials);
    }
  }

  /**
   * Disconnects, and connects with new credentials or, for this one attempt, in place of the browser
   * that is connected.
   * @param {StoredCredentials} credentials
   * @param {{ takeOver?: boolean }} [options]
   */
  restart(credentials, { takeOver = false } = {}) {
    this.#disconnect();
    this.#retryMs = MIN_RETRY_MS;
    this.#set({ state: 'connecting', address: '' });
    this.#connect(credentials, takeOver);
  }

  stop() {
    this.#disconnect();
    this.#set({ state: 'stopped', address: this.status.address });
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
    if (this.#socket) {
      this.#queue.push(message);
      this.#flushSoon();
    }
    return true;
  }

  /**
   * Sends a debugger event: at once, or with others in one frame when there are many. Its order with other
   * messages stays, since whatever is sent takes along what was collected before.
   * @param {string} message
   */
  sendEvent(message) {
    if (!this.#socket || isTooLarge(message)) {
      return;
    }
    this.#queue.push(message);
    this.#queuedCharacters += message.length;
    if (this.#mayBeLone() || this.#queuedCharacters > MAX_COLLECTED_CHARACTERS) {
      this.#flushSoon();
    } else {
      this.#collectTimer ??= setTimeout(() => this.#flush(), COLLECT_MS);
    }
  }

  #mayBeLone() {
    if (this.#collectTimer !== undefined) {
      return false;
    }
    const now = performance.now();
    const added = (now - this.#loneEventsAt) * LONE_EVENTS_PER_MS;
    this.#loneEvents = Math.min(this.#loneEvents + added, MAX_LONE_EVENTS);
    this.#loneEventsAt = now;
    if (this.#loneEvents < 1) {
      return false;
    }
    this.#loneEvents -= 1;
    return true;
  }

  /** At the end of this turn of the event loop. */
  #flushSoon() {
    if (!this.#isFlushing) {
      this.#isFlushing = true;
      queueMicrotask(() => this.#flush());
    }
  }

  #flush() {
    const messages = this.#takeQueue();
    if (messages.length > 0) {
      this.#socket?.send(joinFrame(messages));
    }
  }

  #takeQueue() {
    clearTimeout(this.#collectTimer);
    this.#collectTimer = undefined;
    this.#isFlushing = false;
    this.#queuedCharacters = 0;
    const messages = this.#queue;
    this.#queue = [];
    return messages;
  }

  #disconnect() {
    clearTimeout(this.#retryTimer);
    this.#attempt?.abort();
    this.#attempt = undefined;
    this.#socket?.close();
    this.#socket = undefined;
    this.#takeQueue();
  }

  /** @param {StoredCredentials} [given] Read if there are none. */
  async #connect(given, takeOver = false) {
    clearTimeout(this.#retryTimer);
    const attempt = new AbortController();
    this.#attempt = attempt;
    try {
      const credentials = given ?? (await this.#listeners.readCredentials());
      const { address, isLaunched, ...proofs } = credentials;
      // The relay that has launched this browser is listening, and waiting for it.
      const isListening = isLaunched && this.#isFirstAttempt;
      this.#isFirstAttempt = false;
      const dialing = dial({ ...proofs, address, takeOver }, attempt.signal, { isListening });
      if (this.#attempt === attempt && this.status.state === 'connecting') {
        this.#set({ state: 'connecting', address });
      }
      const outcome = await dialing;
      if (this.#attempt === attempt) {
        this.#finish(address, outcome);
      }
    } finally {
      if (this.#attempt === attempt) {
        this.#attempt = undefined;
      }
    }
  }

  /** @param {string} address @param {import('./dial.js').Outcome} outcome */
  #finish(address, outcome) {
    if (outcome.state === 'connected') {
      const { socket, ...status } = outcome;
      this.#retryMs = MIN_RETRY_MS;
      this.#use(socket);
      this.#set({ ...status, address });
      return;
    }
    // The relay, asked again, says who has replaced this browser.
    const isStillReplaced = this.status.state === 'replaced' && outcome.state === 'busy';
    this.#set({ ...outcome, state: isStillReplaced ? 'replaced' : outcome.state, address });
    this.#retryLater();
  }

  /** @param {WebSocket} socket */
  #use(socket) {
    this.#socket = socket;
    socket.send(this.#listeners.firstMessage());
    // Ignore a socket that was replaced or stopped.
    const isCurrent = () => this.#socket === socket;
    /** @type {Reply} */
    const reply = (message) => !isCurrent() || this.send(message);
    socket.onmessage = ({ data }) => {
      for (const call of isCurrent() ? parseFrame(data) : []) {
        this.#listeners.onCall(call, reply);
      }
    };
    socket.onclose = ({ code }) => {
      if (isCurrent()) {
        this.#socket = undefined;
        this.#takeQueue();
        const state = code === CLOSE_SLOT_TAKEN ? 'replaced' : 'offline';
        this.#set({ state, address: this.status.address });
        this.#retryLater();
      }
    };
  }

  #retryLater() {
    const delay = this.#retryMs * (0.75 + Math.random() / 2);
    const limit = this.isWatched ? MAX_WATCHED_RETRY_MS : Infinity;
    this.#retryTimer = setTimeout(() => this.#connect(), Math.min(delay, limit));
    this.#retryMs = Math.min(this.#retryMs * 2, MAX_RETRY_MS);
  }

  /** @param {LinkStatus} status */
  #set(status) {
    const hasChanged = JSON.stringify(status) !== JSON.stringify(this.status);
    this.status = status;
    if (hasChanged) {
      this.#listeners.onChange();
    }
  }
}
