/**
 * Where the code may put a secret, and how it is written there: as it is in what is typed and in headers, and in a body as the
 * format of that wants it. Anywhere else its placeholder would be sent, so such calls are refused.
 */

/** @import { Secrets } from './secrets.mjs' */

import { isPlain } from './output.mjs';

/** The parameter of each method of Playwright that types text into a page. */
const TYPED = new Map([
  ['fill', 'value'],
  ['type', 'text'],
  ['keyboardType', 'text'],
  ['keyboardInsertText', 'text'],
  // Of a dialog.
  ['accept', 'promptText'],
]);
/** Parameters of a request that are lists of `{ name, value }`. */
const LISTS = ['headers', 'formData', 'multipartData'];

/**
 * The parameters of a call of Playwright with the secrets that it may have.
 * @param {Secrets} secrets
 * @param {{ type: string, method: string, params: any }} call
 * @returns {any}
 */
export function withSecrets(secrets, { type, method, params }) {
  if (secrets.isEmpty || !params) {
    return params;
  }
  const isRequest = type === 'APIRequestContext' && method === 'fetch';
  const revealed = isRequest
    ? revealRequest(secrets, params)
    : revealTyped(secrets, TYPED.get(method), params);
  const name = nameIn(secrets, revealed);
  if (name !== undefined) {
    throw new Error(
      `secret('${name}') can be typed (fill, type, keyboard, dialogs) or sent in the headers or the body of fetch() and context.request. Here the page would get its placeholder, so nothing was sent.`,
    );
  }
  return revealed;
}

/** @param {Secrets} secrets @param {string | undefined} name of the parameter @param {any} params */
const revealTyped = (secrets, name, params) =>
  name !== undefined && typeof params[name] === 'string'
    ? { ...params, [name]: secrets.reveal(params[name]) }
    : params;

/** @param {Secrets} secrets @param {any} params */
function revealRequest(secrets, params) {
  const { jsonData, postData, ...rest } = params;
  const lists = LISTS.filter((name) => params[name]).map((name) => [
    name,
    params[name].map((/** @type {any} */ field) => revealTyped(secrets, 'value', field)),
  ]);
  const type = params.headers?.find(isContentType)?.value ?? '';
  return {
    ...rest,
    ...Object.fromEntries(lists),
    ...(jsonData && { jsonData: revealBody(secrets, jsonData, 'json') }),
    ...(postData && { postData: revealBytes(secrets, postData, type) }),
  };
}

/** @param {{ name: string }} header */
const isContentType = ({ name }) => name.toLowerCase() === 'content-type';

/** Bytes that have no placeholder stay as they are: they may be no text. @param {Secrets} secrets @param {Buffer} bytes @param {string} type */
function revealBytes(secrets, bytes, type) {
  const text = bytes.toString('utf8');
  const revealed = revealBody(secrets, text, type);
  return revealed === text ? bytes : Buffer.from(revealed);
}

/**
 * A body with its secrets, which are escaped as JSON and forms need it.
 * @param {Secrets} secrets
 * @param {string} text
 * @param {string} type of the content
 */
export function revealBody(secrets, text, type) {
  if (type.includes('x-www-form-urlencoded')) {
    return secrets.reveal(text, encodeURIComponent);
  }
  return isJson(text)
    ? secrets.reveal(text, (value) => JSON.stringify(value).slice(1, -1))
    : secrets.reveal(text);
}

/** @param {string} text */
function isJson(text) {
  try {
    return typeof JSON.parse(text) === 'object';
  } catch {
    return false;
  }
}

/** The secret whose placeholder is somewhere in a value. @param {Secrets} secrets @param {any} value @returns {string | undefined} */
function nameIn(secrets, value) {
  if (typeof value === 'string') {
    return secrets.nameIn(value);
  }
  if (typeof value !== 'object' || value === null || !(Array.isArray(value) || isPlain(value))) {
    return undefined;
  }
  for (const part of Object.values(value)) {
    const name = nameIn(secrets, part);
    if (name !== undefined) {
      return name;
    }
  }
  return undefined;
}
