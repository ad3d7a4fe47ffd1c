/**
 * The relay's end of the handshake with the extension, written from `docs/protocol.md` and not from
 * the extension's code: what the fakes in these tests send, and how they check a `hello`.
 */

import { createHmac, randomBytes } from 'node:crypto';

/** The secret that the tests' extensions are paired with, unless a test says otherwise. */
export const SECRET = 'AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8';
export const VERSION = '0.1.0';

export const newNonce = () => randomBytes(32).toString('base64url');

/**
 * @param {string} role `extension` or `relay`.
 * @param {{ relayNonce: string, extensionNonce: string, installId: string, address: string }} facts
 */
export function proofOf(role, facts, secret = SECRET) {
  const { relayNonce, extensionNonce, installId, address } = facts;
  return createHmac('sha256', Buffer.from(secret, 'base64url'))
    .update(['tabwire 2', role, relayNonce, extensionNonce, installId, address].join('\n'))
    .digest('base64url');
}

export const challenge = (nonce, protocol = 2) => ({
  method: 'challenge',
  params: { protocol, nonce },
});

/** What both proofs of a connection are about. */
export const factsOf = (relayNonce, hello, address) => ({
  relayNonce,
  extensionNonce: hello.params.nonce,
  installId: hello.params.installId,
  address,
});

export const welcome = (facts, { secret, name = 'chrome' } = {}) => ({
  method: 'welcome',
  params: { proof: proofOf('relay', facts, secret), version: VERSION, name },
});

export const busy = (facts, { secret, holder = 'edge' } = {}) => ({
  method: 'busy',
  params: { proof: proofOf('relay', facts, secret), version: VERSION, holder, canTakeOver: true },
});
