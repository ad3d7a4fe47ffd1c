/**
 * One attempt to connect to the relay: finds out whether a program is listening, opens a WebSocket
 * and completes the handshake. Sends nothing else. Never retries, and never rejects.
 */

import { Handshake } from './handshake.js';
import { CLOSE_NOT_PAIRED, CLOSE_OTHER_VERSION, CLOSE_WRONG_PROOF } from './protocol.js';

// WebSocket close codes: the relay stops, gives up on this connection, or is busy.
const CLOSE_GOING_AWAY = 1001;
const CLOSE_POLICY_VIOLATION = 1008;
const CLOSE_TRY_AGAIN_LATER = 1013;

/**
 * With the longest delay between retries while the user is watching, these are 5 seconds: then the
 * popup shows the truth at the latest.
 */
const PROBE_TIMEOUT_MS = 1_000;
const HANDSHAKE_TIMEOUT_MS = 2_000;

/**
 * What the attempt has shown.
 * - `connected`: the relay has proven itself. `socket` is open and has no listeners.
 * - `offline`: no program answers at this address.
 * - `notPaired`: there is no secret to prove anything with, so nothing was dialed.
 * - `rejected`: whoever listens there does not accept our pairing. It has proven nothing itself.
 * - `busy`: the relay has proven itself, and `holder` is the browser connected to it.
 * - `otherVersion`: it speaks `relayProtocol`. It has proven nothing.
 * - `impostor`: a program is listening that did not prove to be our relay.
 * - `stopped`: the attempt was aborted.
 * @typedef {{ state: 'connected', socket: WebSocket, version: string, name?: string }
 *   | { state: 'offline' | 'notPaired' | 'rejected' | 'stopped' }
 *   | { state: 'busy', holder?: string, canTakeOver: boolean }
 *   | { state: 'otherVersion', relayProtocol?: number }
 *   | { state: 'impostor', timedOut?: boolean }} Outcome
 */

/** @type {Outcome} */
const TIMED_OUT = { state: 'impostor', timedOut: true };

/**
 * @param {import('./handshake.js').Credentials} credentials
 * @param {AbortSignal} signal
 * @param {{ isListening?: boolean }} [options] A program is known to listen at the address.
 * @returns {Promise<Outcome>}
 */
export async function dial(credentials, signal, { isListening = false } = {}) {
  if (!credentials.secret) {
    return { state: 'notPaired' };
  }
  if (isListening) {
    return shakeHands(credentials, signal);
  }
  const listener = await probe(credentials.address, signal);
  if (signal.aborted) {
    return { state: 'stopped' };
  }
  switch (listener) {
    case 'none':
      return { state: 'offline' };
    case 'silent':
      return TIMED_OUT;
    case 'answers':
      return shakeHands(credentials, signal);
  }
}

/**
 * @param {import('./handshake.js').Credentials} credentials
 * @param {AbortSignal} signal
 */
async function shakeHands(credentials, signal) {
  const socket = new HandshakeSocket(credentials);
  const abort = () => socket.finish({ state: 'stopped' });
  signal.addEventListener('abort', abort);
  const outcome = await socket.outcome;
  signal.removeEventListener('abort', abort);
  return outcome;
}

/**
 * Chrome lists a WebSocket that cannot connect among the extension's errors, again for each retry.
 * It does not list a failed `fetch`, so that is tried first. The response cannot be read and does
 * not matter.
 * @param {string} address
 * @param {AbortSignal} signal
 * @returns {Promise<'none' | 'silent' | 'answers'>}
 */
async function probe(address, signal) {
  const end = new AbortController();
  let hasTimedOut = false;
  const timer = setTimeout(() => {
    hasTimedOut = true;
    end.abort();
  }, PROBE_TIMEOUT_MS);
  try {
    await fetch(`http://${address}/`, {
      mode: 'no-cors',
      cache: 'no-store',
      credentials: 'omit',
      signal: AbortSignal.any([signal, end.signal]),
    });
    return 'answers';
  } catch {
    return hasTimedOut ? 'silent' : 'none';
  } finally {
    clearTimeout(timer);
    // The body may never end.
    end.abort();
  }
}

/** A WebSocket during its handshake. Afterwards, it has no listeners of ours. */
class HandshakeSocket {
  #handshake;
  #socket;
  #timer;
  #isHandlingFrame = false;
  #isFinished = false;
  /** @type {number | undefined} Set when the socket has been closed. */
  #closeCode;
  /** @type {(outcome: Outcome) => void} */
  #resolve = () => {};

  /** @type {Promise<Outcome>} */
  outcome = new Promise((resolve) => (this.#resolve = resolve));

  /** @param {import('./handshake.js').Credentials} credentials */
  constructor(credentials) {
    this.#handshake = new Handshake(credentials);
    this.#socket = new WebSocket(`ws://${credentials.address}/extension`);
    this.#socket.onmessage = ({ data }) => this.#onFrame(data);
    this.#socket.onclose = ({ code }) => this.#onClose(code);
    this.#timer = setTimeout(() => this.finish(TIMED_OUT), HANDSHAKE_TIMEOUT_MS);
  }

  /** @param {Outcome} outcome */
  finish(outcome) {
    this.#isFinished = true;
    clearTimeout(this.#timer);
    this.#socket.onmessage = null;
    this.#socket.onclose = null;
    if (outcome.state !== 'connected') {
      this.#socket.close();
    }
    this.#resolve(outcome);
  }

  /** @param {string} frame */
  async #onFrame(frame) {
    if (this.#isHandlingFrame) {
      // Our relay waits for our reply to each frame.
      this.finish({ state: 'impostor' });
      return;
    }
    this.#isHandlingFrame = true;
    const step = await this.#handshake.onFrame(frame);
    this.#isHandlingFrame = false;
    if (this.#isFinished) {
      return; // It timed out or was aborted.
    }
    if ('outcome' in step) {
      this.#onOutcome(step.outcome);
    } else if (this.#closeCode === undefined) {
      this.#socket.send(step.send);
    } else {
      this.finish(closedBeforeProof(this.#closeCode));
    }
  }

  /** @param {import('./handshake.js').HandshakeOutcome} outcome */
  #onOutcome(outcome) {
    if (outcome.state !== 'connected') {
      this.finish(outcome);
    } else if (this.#closeCode === undefined) {
      this.finish({ ...outcome, socket: this.#socket });
    } else {
      this.finish({ state: 'offline' }); // It was our relay, and has stopped.
    }
  }

  /** @param {number} code */
  #onClose(code) {
    this.#closeCode = code;
    if (!this.#isHandlingFrame) {
      this.finish(closedBeforeProof(code));
    }
  }
}

/** @param {number} code @returns {Outcome} */
function closedBeforeProof(code) {
  switch (code) {
    case CLOSE_NOT_PAIRED:
    case CLOSE_WRONG_PROOF:
      return { state: 'rejected' };
    case CLOSE_OTHER_VERSION:
      return { state: 'otherVersion' };
    case CLOSE_GOING_AWAY:
    case CLOSE_POLICY_VIOLATION:
    case CLOSE_TRY_AGAIN_LATER:
      // Our own relay may close with these, before it can prove anything.
      return TIMED_OUT;
    default:
      return { state: 'impostor' };
  }
}
