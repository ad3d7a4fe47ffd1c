/**
 * The handshake of one connection: proves to the relay that it has been paired with this browser,
 * and checks the relay's proof of the same. Pure: it never touches sockets, timers or Chrome.
 *
 * relay: `challenge` → extension: `hello` with its proof → relay: `welcome` or `busy` with its own.
 *
 * A proof is an HMAC with the shared secret, which is never sent. It covers the nonces of both
 * sides, so a recorded proof is useless; the role of whoever made it, so it cannot be sent back;
 * and the address that was dialed, so that a program on another port cannot pass it on.
 */

import { fromBase64url, toBase64url } from './base64url.js';
import * as protocol from './protocol.js';

/** 32 bytes in base64url, without padding. */
const TOKEN = /^[A-Za-z0-9_-]{43}$/;

/**
 * @typedef {object} Credentials
 * @property {string} address What the extension dials: `127.0.0.1:PORT`.
 * @property {string} secret 32 bytes in base64url.
 * @property {string} installId
 * @property {boolean} takeOver Disconnect the browser that is connected, if there is one.
 *
 * @typedef {{ state: 'connected', version: string, name?: string }
 *   | { state: 'busy', holder?: string, canTakeOver: boolean }
 *   | { state: 'otherVersion', relayProtocol?: number }
 *   | { state: 'impostor' }} HandshakeOutcome
 *
 * @typedef {{ send: string } | { outcome: HandshakeOutcome }} Step
 *
 * @typedef {'extension' | 'relay'} Role
 * @typedef {{ relayNonce: string, extensionNonce: string, installId: string, address: string }}
 *   Facts What both proofs are about.
 */

/** @type {Step} */
const IMPOSTOR = { outcome: { state: 'impostor' } };

export class Handshake {
  #credentials;
  /** @type {Facts | undefined} Set once `hello` has been made. */
  #facts;

  /** @param {Credentials} credentials */
  constructor(credentials) {
    this.#credentials = credentials;
  }

  /**
   * What to do about the relay's next frame. Do not call this again before it has returned, nor
   * after an outcome.
   * @param {string} text
   * @returns {Promise<Step>}
   */
  async onFrame(text) {
    const [message, ...more] = protocol.parseFrame(text);
    if (!message || more.length > 0 || message.id !== undefined) {
      return IMPOSTOR;
    }
    const params = message.params ?? {};
    return this.#facts
      ? this.#onAnswer(message.method, params, this.#facts)
      : this.#onChallenge(message.method, params);
  }

  /** @param {string} method @param {Record<string, any>} params @returns {Promise<Step>} */
  async #onChallenge(method, params) {
    if (method !== 'challenge' || !Number.isInteger(params.protocol)) {
      return IMPOSTOR;
    }
    if (params.protocol !== protocol.PROTOCOL) {
      return { outcome: { state: 'otherVersion', relayProtocol: params.protocol } };
    }
    if (!isToken(params.nonce)) {
      return IMPOSTOR;
    }
    const { address, secret, installId, takeOver } = this.#credentials;
    const nonce = newNonce();
    const facts = { relayNonce: params.nonce, extensionNonce: nonce, installId, address };
    const proof = await prove(secret, 'extension', facts);
    this.#facts = facts;
    const hello = { protocol: protocol.PROTOCOL, installId, nonce, proof, takeOver };
    return { send: protocol.event('hello', hello) };
  }

  /**
   * @param {string} method
   * @param {Record<string, any>} params
   * @param {Facts} facts
   * @returns {Promise<Step>}
   */
  async #onAnswer(method, params, facts) {
    const isAnswer = method === 'welcome' || method === 'busy';
    if (!isAnswer || !(await isProof(this.#credentials.secret, 'relay', facts, params.proof))) {
      return IMPOSTOR;
    }
    return { outcome: method === 'welcome' ? welcomed(params) : refusedAsBusy(params) };
  }
}

/**
 * The relay has no name yet for a browser that it has never been connected to.
 * @param {Record<string, any>} params
 * @returns {HandshakeOutcome}
 */
function welcomed({ version, name }) {
  const connected = { state: /** @type {const} */ ('connected'), version: String(version ?? '') };
  return typeof name === 'string' ? { ...connected, name } : connected;
}

/** @param {Record<string, any>} params @returns {HandshakeOutcome} */
function refusedAsBusy({ holder, canTakeOver }) {
  const busy = { state: /** @type {const} */ ('busy'), canTakeOver: canTakeOver === true };
  return typeof holder === 'string' ? { ...busy, holder } : busy;
}

/** @param {unknown} value @returns {value is string} */
const isToken = (value) => typeof value === 'string' && TOKEN.test(value);

function newNonce() {
  return toBase64url(crypto.getRandomValues(new Uint8Array(32)));
}

/** @param {string} secret @param {Role} role @param {Facts} facts */
export async function prove(secret, role, facts) {
  const key = await importKey(secret);
  return toBase64url(new Uint8Array(await crypto.subtle.sign('HMAC', key, covered(role, facts))));
}

/**
 * Whether this is the role's proof. Takes the same time for every wrong one.
 * @param {string} secret
 * @param {Role} role
 * @param {Facts} facts
 * @param {unknown} proof
 */
export async function isProof(secret, role, facts, proof) {
  if (!isToken(proof)) {
    return false;
  }
  const key = await importKey(secret);
  return crypto.subtle.verify('HMAC', key, fromBase64url(proof), covered(role, facts));
}

/** @param {Role} role @param {Facts} facts */
function covered(role, { relayNonce, extensionNonce, installId, address }) {
  const lines = [
    `tabwire ${protocol.PROTOCOL}`,
    role,
    relayNonce,
    extensionNonce,
    installId,
    address,
  ];
  return new TextEncoder().encode(lines.join('\n'));
}

/** @param {string} secret */
function importKey(secret) {
  if (!isToken(secret)) {
    throw new Error('The secret is not 32 bytes in base64url.');
  }
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  return crypto.subtle.importKey('raw', fromBase64url(secret), algorithm, false, [
    'sign',
    'verify',
  ]);
}
