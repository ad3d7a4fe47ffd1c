/**
 * The cookies of the profile, in the form of CDP. Reads and writes them with `chrome.cookies`, which
 * needs no debugger. It knows everything about a cookie except its priority and where it was set.
 *
 * `chrome.cookies` changes one cookie at a time. If the debugger is attached to a tab anyway, many are
 * changed through it, which is as fast as on Chrome's own port.
 */

import { attachedTabs, sendCommand } from './attachments.js';
import { cdpError, INVALID_PARAMS } from './protocol.js';

/** @type {Record<string, string | undefined>} CDP has no word for an unspecified `sameSite`. */
const SAME_SITE_IN_CDP = { strict: 'Strict', lax: 'Lax', no_restriction: 'None' };
/** @type {Record<string, `${chrome.cookies.SameSiteStatus}` | undefined>} */
const SAME_SITE = { Strict: 'strict', Lax: 'lax', None: 'no_restriction' };

/** From how many cookies on it pays to look for a debugger. */
const MANY = 50;

/** Long past. A cookie that expires then is removed. */
const EXPIRED = 1;

/** All cookies, including partitioned ones. */
const readAll = () => chrome.cookies.getAll({ partitionKey: {} });

export async function getCookies() {
  return { cookies: (await readAll()).map(toCdp) };
}

/** @param {chrome.cookies.Cookie} cookie */
function toCdp({ name, value, domain, path, expirationDate, ...cookie }) {
  const sameSite = SAME_SITE_IN_CDP[cookie.sameSite];
  return {
    name,
    value,
    domain,
    path,
    expires: expirationDate ?? -1,
    size: byteLength(name) + byteLength(value),
    httpOnly: cookie.httpOnly,
    secure: cookie.secure,
    session: cookie.session,
    ...(sameSite ? { sameSite } : {}),
    // What `chrome.cookies` does not report. These are CDP's default, and its values for "unknown".
    priority: 'Medium',
    sourceScheme: 'Unset',
    sourcePort: -1,
    ...(cookie.partitionKey ? { partitionKey: cookie.partitionKey } : {}),
  };
}

/** @param {string} text */
function byteLength(text) {
  return /^[\x00-\x7f]*$/.test(text) ? text.length : new TextEncoder().encode(text).length;
}

/**
 * Checks all cookies before it sets the first one, as Chrome does.
 * @param {any[]} cookies
 */
export async function setCookies(cookies) {
  if (!Array.isArray(cookies)) {
    throw invalidParameters('cookies');
  }
  const details = cookies.map(fromCdp);
  if (cookies.length >= MANY && (await changeByDebugger('Network.setCookies', { cookies }))) {
    return;
  }
  const results = await Promise.allSettled(details.map((detail) => chrome.cookies.set(detail)));
  const failures = results.flatMap((result, index) =>
    result.status === 'rejected' ? [`${details[index]?.url}: ${result.reason.message}`] : [],
  );
  if (failures.length > 0) {
    const others = `The other ${cookies.length - failures.length} cookies were set.`;
    throw invalidCookie(`${failures.slice(0, 3).join(' ')} ${others}`);
  }
}

/**
 * What `chrome.cookies.set` needs for a cookie of CDP. It takes the scheme, host and port from an
 * address; CDP can also name them one by one.
 * @param {any} cookie
 * @returns {chrome.cookies.SetDetails}
 */
function fromCdp(cookie) {
  const { name, value, domain, path = '/', expires = -1, partitionKey } = cookie ?? {};
  checkTypes(cookie ?? {});
  const source = sourceOf(cookie);
  if (cookie.priority !== undefined && cookie.priority !== 'Medium') {
    throw cdpError(
      `The cookie "${name}" cannot have the priority ${cookie.priority}: Chrome does not let an ` +
        'extension set it. Leave it out.',
    );
  }
  return {
    url: source.url,
    name,
    value,
    path,
    secure: source.secure,
    httpOnly: cookie.httpOnly ?? false,
    sameSite: SAME_SITE[cookie.sameSite] ?? 'unspecified',
    // A cookie without a domain belongs to one host only.
    ...(domain?.startsWith('.') ? { domain } : {}),
    ...(expires === -1 ? {} : { expirationDate: expires }),
    ...(partitionKey ? { partitionKey } : {}),
  };
}

/** @param {any} cookie */
function checkTypes({ name, value, expires, partitionKey, ...cookie }) {
  if (typeof name !== 'string' || typeof value !== 'string') {
    throw invalidParameters('cookies.name and cookies.value');
  }
  for (const field of ['url', 'domain', 'path']) {
    if (!['undefined', 'string'].includes(typeof cookie[field])) {
      throw invalidParameters(`cookies.${field}`);
    }
  }
  if (expires !== undefined && typeof expires !== 'number') {
    throw invalidParameters('cookies.expires');
  }
  if (partitionKey !== undefined && typeof partitionKey?.topLevelSite !== 'string') {
    throw invalidParameters('cookies.partitionKey');
  }
}

/**
 * The address that a cookie counts as set from. As on Chrome's own port, the port of `url` does not
 * matter, and an `https` address makes the cookie secure.
 * @param {any} cookie
 */
function sourceOf({ name, url, domain, secure = false, sourceScheme, sourcePort }) {
  const given = url === undefined ? undefined : parseUrl(url);
  if (!given && (url !== undefined || !domain)) {
    throw invalidCookie(`The cookie "${name}" needs a domain, or a url with http or https.`);
  }
  const host = domain?.replace(/^\./, '') || given?.hostname;
  const isSecure = secure || given?.protocol === 'https:';
  const schemes = { Secure: 'https', NonSecure: 'http' };
  const scheme =
    schemes[/** @type {keyof typeof schemes} */ (sourceScheme)] ?? (isSecure ? 'https' : 'http');
  const port = sourcePort > 0 ? `:${sourcePort}` : '';
  return { url: `${scheme}://${host}${port}/`, secure: isSecure };
}

/** @param {string} url */
function parseUrl(url) {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  return parsed && ['http:', 'https:'].includes(parsed.protocol) ? parsed : undefined;
}

/**
 * Cookies belong to the profile, so any tab will do. It need not answer: Chrome carries out these commands
 * itself.
 * @param {string} method
 * @param {object} params
 * @returns {Promise<boolean>} False if there is no debugger, or not every cookie could be changed.
 */
async function changeByDebugger(method, params) {
  const [tabId] = attachedTabs();
  if (tabId === undefined) {
    return false;
  }
  return sendCommand(tabId, method, params).then(
    () => true,
    () => false,
  );
}

/**
 * Letting a cookie expire takes Chrome a twentieth of the time of `chrome.cookies.remove`, which
 * looks through all cookies each time. It remains for those that cannot be replaced.
 */
export async function clearCookies() {
  if (await changeByDebugger('Network.clearBrowserCookies', {})) {
    return;
  }
  const all = await readAll();
  await Promise.allSettled(all.map((cookie) => chrome.cookies.set(expired(cookie))));
  const rest = await readRest(all);
  await Promise.allSettled(rest.map((cookie) => chrome.cookies.remove(identify(cookie))));
  const left = rest.length > 0 ? await readRest(rest) : [];
  if (left.length > 0) {
    throw cdpError(`${left.length} of ${all.length} cookies could not be removed.`);
  }
}

/** Which of these cookies still exist. @param {chrome.cookies.Cookie[]} removed */
async function readRest(removed) {
  return (await readAll()).filter((cookie) => removed.some((other) => isSame(cookie, other)));
}

/** @param {Pick<chrome.cookies.Cookie, 'name' | 'domain' | 'path' | 'secure' | 'partitionKey'>} cookie */
const identify = ({ name, partitionKey, ...cookie }) => ({
  url: urlOf(cookie),
  name,
  ...(partitionKey ? { partitionKey } : {}),
});

/** @param {chrome.cookies.Cookie} cookie @returns {chrome.cookies.SetDetails} */
function expired({ name, domain, hostOnly, path, secure, httpOnly, sameSite, partitionKey }) {
  return {
    ...identify({ name, domain, path, secure, partitionKey }),
    value: '',
    path,
    secure,
    httpOnly,
    sameSite,
    expirationDate: EXPIRED,
    ...(hostOnly ? {} : { domain }),
  };
}

/** @param {{ domain: string, path: string, secure: boolean }} cookie */
const urlOf = ({ domain, path, secure }) =>
  `http${secure ? 's' : ''}://${domain.replace(/^\./, '')}${path}`;

/** @param {chrome.cookies.Cookie} a @param {chrome.cookies.Cookie} b */
const isSame = (a, b) =>
  a.name === b.name &&
  a.domain === b.domain &&
  a.path === b.path &&
  a.value === b.value &&
  a.partitionKey?.topLevelSite === b.partitionKey?.topLevelSite;

/** @param {string} field */
const invalidParameters = (field) =>
  cdpError('Invalid parameters', INVALID_PARAMS, `Failed to deserialize params.${field}`);

/** @param {string} reason */
const invalidCookie = (reason) => cdpError('Invalid cookie fields', INVALID_PARAMS, reason);
