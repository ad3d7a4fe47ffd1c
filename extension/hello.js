/**
 * The `hello` message, which identifies this browser to the relay.
 */

import * as protocol from './protocol.js';
import { readSettings } from './settings.js';

export async function makeHello() {
  const { installId } = await readSettings();
  return protocol.event('hello', {
    protocol: protocol.PROTOCOL,
    version: chrome.runtime.getManifest().version,
    browser: await browserProduct(),
    userAgent: navigator.userAgent,
    installId,
  });
}

/** Product and full version, in the form of Chrome's own `Browser.getVersion`. */
async function browserProduct() {
  const values = await navigator.userAgentData?.getHighEntropyValues(['fullVersionList']);
  const chromium = values?.fullVersionList?.find(({ brand }) => brand === 'Chromium');
  const product = navigator.userAgent.includes('HeadlessChrome/') ? 'HeadlessChrome' : 'Chrome';
  const reducedVersion = /Chrome\/([\d.]+)/.exec(navigator.userAgent)?.[1] ?? '';
  return `${product}/${chromium?.version ?? reducedVersion}`;
}
