/**
 * `fetch()` of the code: a request that the page sends, with its cookies, as its own scripts would. The response comes whole,
 * and is cut if it is long.
 */

/** @import { Page } from 'playwright-core' */
/** @import { Files, SavedFile } from './files.mjs' */
/** @import { Secrets } from './secrets.mjs' */

import { writeFile } from 'node:fs/promises';

import { checkOptions } from './options.mjs';
import { isPlain } from './output.mjs';
import { revealBody } from './secret_requests.mjs';
import { within } from './timing.mjs';

/** Options of the web's own `fetch`. */
const OF_WEB = [
  'method',
  'headers',
  'body',
  'credentials',
  'mode',
  'cache',
  'redirect',
  'referrer',
];
const OPTIONS = [...OF_WEB, 'timeout', 'max', 'save'];
/** Bytes of a body. */
const DEFAULT_MAX = 5_000_000;
const MAX_SAVED = 100_000_000;
const TEXT =
  /^(text\/|application\/(.*\+)?(json|xml|javascript|x-www-form-urlencoded|graphql)|image\/svg)/;

/** @typedef {{ status: number, statusText: string, url: string, headers: [string, string][], data: string, bytes: number, isCut: boolean }} Received `data` is base64 */

/**
 * @param {Page} page
 * @param {string} url relative to the page, or absolute
 * @param {any} options
 * @param {{ timeoutMs: number, files: Files, secrets: Secrets }} context
 */
export async function fetchInPage(page, url, options, { timeoutMs, files, secrets }) {
  checkOptions('fetch', options, OPTIONS);
  const {
    timeout = timeoutMs,
    save = false,
    max = save ? MAX_SAVED : DEFAULT_MAX,
    ...rest
  } = options;
  const request = {
    url: String(url),
    init: revealInit(secrets, initOf(rest)),
    timeout: Math.min(timeout, timeoutMs),
    max,
  };
  const received = await within(timeoutMs, page.evaluate(fetchThere, request)).catch((error) => {
    throw new Error(explain(page, request.url, error));
  });
  if (!received) {
    throw new Error(`The page did not respond for ${timeoutMs / 1_000} s.`);
  }
  const file = save ? await saveBody(received, save, files) : undefined;
  return toResponse(received, file);
}

/** An object is sent as JSON. @param {Record<string, any>} options */
function initOf({ body, headers, ...rest }) {
  const all = new Headers(headers);
  const isData =
    Array.isArray(body) || (typeof body === 'object' && body !== null && isPlain(body));
  const type = isData
    ? 'application/json'
    : body instanceof URLSearchParams && 'application/x-www-form-urlencoded';
  if (type && !all.has('content-type')) {
    all.set('content-type', type);
  }
  const sent = isData ? JSON.stringify(body) : body === undefined ? undefined : String(body);
  const method = sent === undefined ? {} : { method: 'POST' };
  return { ...method, ...rest, headers: Object.fromEntries(all), body: sent };
}

/** With secrets in the place of their placeholders. @param {Secrets} secrets @param {ReturnType<typeof initOf>} init */
function revealInit(secrets, { body, headers, ...rest }) {
  const all = Object.entries(headers).map(([name, value]) => [name, secrets.reveal(value)]);
  const type = headers['content-type'] ?? '';
  return {
    ...rest,
    headers: Object.fromEntries(all),
    body: body === undefined ? body : revealBody(secrets, body, type),
  };
}

/**
 * Runs in the page, so it may not use anything outside of this function.
 * @param {{ url: string, init: RequestInit, timeout: number, max: number }} request
 * @returns {Promise<Received>}
 */
async function fetchThere({ url, init, timeout, max }) {
  const response = await fetch(url, { ...init, signal: AbortSignal.timeout(timeout) });
  const reader = response.body?.getReader();
  /** @type {Uint8Array[]} */
  const parts = [];
  let bytes = 0;
  while (reader && bytes <= max) {
    const { done, value } = await reader.read();
    if (done) {
      break;
    }
    parts.push(value);
    bytes += value.length;
  }
  const isCut = bytes > max;
  if (isCut) {
    await reader?.cancel();
  }
  const blob = new Blob(/** @type {BlobPart[]} */ (parts)).slice(0, max);
  /** @type {string} */
  const address = await new Promise((resolve) => {
    const file = new FileReader();
    file.onload = () => resolve(String(file.result));
    file.readAsDataURL(blob);
  });
  return {
    status: response.status,
    statusText: response.statusText,
    url: response.url,
    headers: [...response.headers],
    data: address.slice(address.indexOf(',') + 1),
    bytes: blob.size,
    isCut,
  };
}

/** @param {Page} page @param {string} url @param {any} error */
function explain(page, url, error) {
  const text = String(error?.message ?? error);
  if (/TimeoutError/.test(text)) {
    return `fetch: ${url} did not respond in time.`;
  }
  const cause = /(?:TypeError|SyntaxError|Error): (.*)/.exec(text)?.[1] ?? text;
  return /Failed to fetch|Failed to parse URL|Load failed/.test(text)
    ? `fetch: ${page.url()} cannot load ${url} (${cause}): it is another site that does not allow it, the page's policy forbids it, or there is no response. Go to that site first, or use context.request.fetch(url), which has the browser's cookies, too.`
    : `fetch: ${cause}`;
}

/** @param {Received} received @param {string | true} name @param {Files} files */
function saveBody({ url, data, isCut, bytes }, name, files) {
  if (isCut) {
    throw new Error(`fetch: the body is longer than ${bytes} bytes. Pass a higher max.`);
  }
  const chosen = typeof name === 'string' ? name : nameIn(url);
  return files.save(chosen, (file) => writeFile(file, Buffer.from(data, 'base64')));
}

/** What an address calls its file. @param {string} url empty if the page may not know it */
function nameIn(url) {
  const last = URL.canParse(url) ? (new URL(url).pathname.split('/').at(-1) ?? '') : '';
  try {
    return decodeURIComponent(last);
  } catch {
    // Not every address is encoded as it should be.
    return last;
  }
}

/**
 * Prints as its status, type and body; otherwise like the web's `Response`.
 * @param {Received} received
 * @param {SavedFile} [file]
 */
function toResponse({ status, statusText, url, headers, data, bytes, isCut }, file) {
  const body = Buffer.from(data, 'base64');
  const all = new Headers(headers);
  const type = all.get('content-type') ?? '';
  const text = () => body.toString('utf8');
  const isText = TEXT.test(type) || (!type && !body.includes(0));
  const shown = {
    status,
    ...(type && { type }),
    ...(file ??
      (isText
        ? { body: parse(text(), type, isCut) }
        : { bytes, note: 'binary; { save: true } writes it to a file' })),
    ...(isCut && { note: `cut at ${bytes} bytes; max sets another limit` }),
  };
  return Object.defineProperties(shown, {
    ok: { value: status >= 200 && status < 300 },
    statusText: { value: statusText },
    url: { value: url },
    headers: { value: all },
    text: { value: async () => text() },
    json: { value: async () => JSON.parse(text()) },
    arrayBuffer: { value: async () => Uint8Array.from(body).buffer },
  });
}

/** @param {string} text @param {string} type @param {boolean} isCut */
function parse(text, type, isCut) {
  try {
    return /json/.test(type) && !isCut ? JSON.parse(text) : text;
  } catch {
    return text;
  }
}
