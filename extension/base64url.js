/** Bytes as text: base64url without padding, as in the protocol and in pairing codes. */

/** @param {Uint8Array} bytes */
export function toBase64url(bytes) {
  const padded = btoa(String.fromCharCode(...bytes));
  return padded.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

/** @param {string} encoded */
export function fromBase64url(encoded) {
  const binary = atob(encoded.replaceAll('-', '+').replaceAll('_', '/'));
  return Uint8Array.from(binary, (character) => character.charCodeAt(0));
}
