/**
 * Which tabs are offered at all. Chrome refuses its debugger to its own pages, to other extensions and to the web store;
 * such tabs stay the person's alone.
 */

const RESTRICTED_SCHEMES = [
  'about:', // All but about:blank and about:srcdoc.
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

/** @param {string | undefined} url A tab that has none yet shows an empty page. */
export function isRestricted(url) {
  if (!url || url === 'about:blank' || url.startsWith('about:blank#') || url === 'about:srcdoc') {
    return false;
  }
  if (RESTRICTED_SCHEMES.some((scheme) => url.startsWith(scheme))) {
    return true;
  }
  const { hostname, pathname } = new URL(url);
  return hostname === 'chromewebstore.google.com' || (hostname === 'chrome.google.com' && pathname.startsWith('/webstore'));
}
