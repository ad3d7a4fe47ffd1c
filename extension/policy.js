/**
 * Which pages agents may use. Chrome does not let extensions debug its own pages, other extensions
 * or the web store. A tab that shows one of those is reported to the relay only if agents know it
 * from an earlier page.
 */

const RESTRICTED_SCHEMES = [
  'about:', // Except about:blank and about:srcdoc.
  'brave:',
  'chrome-error:',
  'chrome-extension:',
  'chrome-search:',
  'chrome-untrusted:',
  'chrome:',
  'devtools:',
  'edge:',
  'isolated-app:',
  'view-source:',
  'vivaldi:',
];

/** For errors. */
export const RESTRICTION =
  "Chrome does not let extensions use its own pages, the Web Store, other extensions' pages and " +
  'view-source. A browser that was started with `tabwire launch --direct` can.';

/** @param {string | undefined} url A tab without a URL shows an empty page. */
export function isRestricted(url) {
  if (!url) {
    return false;
  }
  if (!URL.canParse(url)) {
    // Chrome would resolve it as a path inside this extension.
    return true;
  }
  // Compare the parsed URL: the same page can be written in many ways.
  const { href, protocol, hostname, pathname } = new URL(url);
  // An empty page may have a query and a fragment.
  const isBlank = protocol === 'about:' && pathname === 'blank';
  if (isBlank || href === 'about:srcdoc') {
    return false;
  }
  if (RESTRICTED_SCHEMES.includes(protocol)) {
    return true;
  }
  return (
    hostname === 'chromewebstore.google.com' ||
    (hostname === 'chrome.google.com' && pathname.startsWith('/webstore'))
  );
}

/**
 * Throws if a tab may not be navigated there. Chrome checks some of these addresses itself, but not
 * all: `about:version` would crash the whole browser, and the debugger could not be detached from
 * `view-source:`. A fragment of an empty page crashes it too, if the tab shows an empty page already.
 * @param {unknown} url
 */
export function checkNavigation(url) {
  if (typeof url !== 'string' || !URL.canParse(url)) {
    return;
  }
  if (isRestricted(url)) {
    throw new Error(`Cannot navigate to ${url}. ${RESTRICTION}`);
  }
  const { protocol, href } = new URL(url);
  if (protocol === 'about:' && href.includes('#')) {
    throw new Error(
      `Cannot navigate to ${url}: Chrome would crash. Go to about:blank, and set location.hash there.`,
    );
  }
}
