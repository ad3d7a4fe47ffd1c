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

/** All cookies, including partitioned ones. @param {{ name?: string }} [only] Those with this name. */
const readAll = (only = {}) => chrome.cookies.getAll({ ...only, partitionKey: {} });

export async function getCookies() {
  return { cookies: (await readAll()).map(toCdp) };
}

/**
 * The cookies that would be sent to these addresses from a tab's page.
 * @param {string[] | undefined} urls Without any, those of the page and its frames.
 * @param {number} tabId
 */
export async function getCookiesOf(urls, tabId) {
  if (
    urls !== undefined &&
    !(Array.isArray(urls) && urls.every((url) => typeof url === 'string'))
  ) {
    throw invalidParameters('urls');
  }
  const { url: pageUrl = '' } = await chrome.tabs.get(tabId);
  const lists = await Promise.all(
    (urls ?? (await documentUrls(tabId, pageUrl))).map((url) => readSentTo(url, pageUrl)),
  );
  return { cookies: withoutRepeats(lists.flat()).map(toCdp) };
}

/** @param {number} tabId @param {string} pageUrl */
async function documentUrls(tabId, pageUrl) {
  // A discarded tab has no frames.
  const frames = await chrome.webNavigation.getAllFrames({ tabId }).catch(() => null);
  return [pageUrl, ...(frames ?? []).map(({ url }) => url)];
}

/** @param {string} url @param {string} pageUrl */
async function readSentTo(url, pageUrl) {
  // A WebSocket sends the same cookies as a request. `chrome.cookies` takes only addresses of requests.
  const address = parseUrl(url.replace(/^ws/i, 'http'))?.href;
  if (!address) {
    return [];
  }
  // Chrome does not show extensions the cookies of its Web Store.
  const cookies = await chrome.cookies.getAll({ url: address, partitionKey: {} }).catch(() => []);
  return cookies.filter(({ partitionKey }) => {
    const { topLevelSite, hasCrossSiteAncestor } = partitionKey ?? {};
    return (
      topLevelSite === undefined ||
      (isOfSite(pageUrl, topLevelSite) && isOfSite(address, topLevelSite) === !hasCrossSiteAncestor)
    );
  });
}

/**
 * Whether an address belongs to a site: its host is the site's or below it.
 * @param {string} url
 * @param {string} site Scheme and registrable domain.
 */
function isOfSite(url, site) {
  const [address, { protocol, hostname }] = [parseUrl(url), new URL(site)];
  return address?.protocol === protocol && `.${address.hostname}`.endsWith(`.${hostname}`);
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
function checkTypes({ name, value, expires, url, domain, path, partitionKey }) {
  if (typeof name !== 'string' || typeof value !== 'string') {
    throw invalidParameters('cookies.name and cookies.value');
  }
  checkPlace({ url, domain, path, partitionKey }, 'cookies.');
  if (expires !== undefined && typeof expires !== 'number') {
    throw invalidParameters('cookies.expires');
  }
}

/** What says where a cookie is. All of it is optional. @param {any} place */
function checkPlace({ partitionKey, ...texts }, prefix = '') {
  for (const [field, value] of Object.entries(texts)) {
    if (!['undefined', 'string'].includes(typeof value)) {
      throw invalidParameters(prefix + field);
    }
  }
  if (partitionKey !== undefined && typeof partitionKey?.topLevelSite !== 'string') {
    throw invalidParameters(`${prefix}partitionKey`);
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

export async function clearCookies() {
  if (!(await changeByDebugger('Network.clearBrowserCookies', {}))) {
    await removeAll(await readAll());
  }
}

/** As Chrome does, `url` only stands for its host. @param {any} params */
export async function deleteCookies({ name, url, domain, path, partitionKey }) {
  if (typeof name !== 'string') {
    throw invalidParameters('name');
  }
  checkPlace({ url, domain, path, partitionKey });
  if (url === undefined && domain === undefined) {
    throw cdpError('At least one of the url and domain needs to be specified', INVALID_PARAMS);
  }
  const host = domain || parseUrl(url)?.hostname;
  if (!host) {
    throw cdpError('An http or https url URL must be specified', INVALID_PARAMS);
  }
  const named = await readAll({ name });
  await removeAll(
    named.filter(
      (cookie) =>
        cookie.domain === host &&
        (!path || cookie.path === path) &&
        cookie.partitionKey?.topLevelSite === partitionKey?.topLevelSite &&
        cookie.partitionKey?.hasCrossSiteAncestor === partitionKey?.hasCrossSiteAncestor,
    ),
  );
}

/**
 * Letting a cookie expire takes Chrome a twentieth of the time of `chrome.cookies.remove`, which
 * looks through all cookies each time. It remains for those that cannot be replaced.
 * @param {chrome.cookies.Cookie[]} cookies
 */
async function removeAll(cookies) {
  await Promise.allSettled(cookies.map((cookie) => chrome.cookies.set(expired(cookie))));
  const rest = await readRest(cookies);
  await Promise.allSettled(rest.map((cookie) => chrome.cookies.remove(identify(cookie))));
  const left = await readRest(rest);
  if (left.length > 0) {
    throw cdpError(`${left.length} of ${cookies.length} cookies could not be removed.`);
  }
}

/**
 * Which of these cookies still exist. One with another value was set in the meantime.
 * @param {chrome.cookies.Cookie[]} removed
 */
async function readRest(removed) {
  const isRemoved = new Set(removed.map(describe));
  const all = removed.length < MANY ? await readThese(removed) : await readAll();
  return all.filter((cookie) => isRemoved.has(describe(cookie)));
}

/** Chrome finds the cookies of an address sooner than all cookies. @param {chrome.cookies.Cookie[]} cookies */
async function readThese(cookies) {
  const lists = await Promise.all(
    cookies.map((cookie) => chrome.cookies.getAll({ ...identify(cookie), partitionKey: {} })),
  );
  return withoutRepeats(lists.flat());
}

/** @param {chrome.cookies.Cookie[]} cookies */
const withoutRepeats = (cookies) => [
  ...new Map(cookies.map((cookie) => [keyOf(cookie), cookie])).values(),
];

/** @param {chrome.cookies.Cookie} cookie */
const describe = (cookie) => `${keyOf(cookie)} ${cookie.value}`;

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

/** What tells a cookie from all others. @param {chrome.cookies.Cookie} cookie */
const keyOf = ({ name, domain, path, partitionKey }) =>
  JSON.stringify([
    name,
    domain,
    path,
    partitionKey?.topLevelSite,
    partitionKey?.hasCrossSiteAncestor,
  ]);

/** @param {string} field */
const invalidParameters = (field) =>
  cdpError('Invalid parameters', INVALID_PARAMS, `Failed to deserialize params.${field}`);

/** @param {string} reason */
const invalidCookie = (reason) => cdpError('Invalid cookie fields', INVALID_PARAMS, reason);
