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
  if (!url) {
    return false;
  }
  if (!URL.canParse(url)) {
    // Chrome would take it for the path of a file of this extension.
    return true;
  }
  // Only as it was parsed has an address one way to be written.
  const { href, protocol, hostname, pathname } = new URL(url);
  if (href === 'about:blank' || href.startsWith('about:blank#') || href === 'about:srcdoc') {
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
