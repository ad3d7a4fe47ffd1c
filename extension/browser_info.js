/**
 * The `browser` message, which describes this browser to a relay that has proven itself.
 */

import * as protocol from './protocol.js';

/** The browsers that the protocol has names for. Each also reports Chromium, so that is last. */
const BRANDS = {
  'Microsoft Edge': 'edge',
  Brave: 'brave',
  Vivaldi: 'vivaldi',
  Opera: 'opera',
  'Google Chrome': 'chrome',
  Chromium: 'chromium',
};

export async function makeBrowserMessage() {
  const values = await navigator.userAgentData?.getHighEntropyValues(['fullVersionList']);
  const brands = values?.fullVersionList ?? [];
  return protocol.event('browser', {
    version: chrome.runtime.getManifest().version,
    product: productOf(brands),
    userAgent: navigator.userAgent,
    brand: brandOf(brands),
  });
}

/** @typedef {{ brand: string, version: string }} Brand */

/** Product and full version, in the form of Chrome's own `Browser.getVersion`. @param {Brand[]} brands */
function productOf(brands) {
  const chromium = brands.find(({ brand }) => brand === 'Chromium');
  const product = navigator.userAgent.includes('HeadlessChrome/') ? 'HeadlessChrome' : 'Chrome';
  const reducedVersion = /Chrome\/([\d.]+)/.exec(navigator.userAgent)?.[1] ?? '';
  return `${product}/${chromium?.version ?? reducedVersion}`;
}

/** @param {Brand[]} brands */
function brandOf(brands) {
  const known = Object.entries(BRANDS).find(([name]) => brands.some(({ brand }) => brand === name));
  return known?.[1] ?? 'browser';
}
