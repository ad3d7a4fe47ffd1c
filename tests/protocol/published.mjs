/**
 * Writes what the relay serves at `/json/protocol` for a browser with the extension: the published
 * protocol, without its descriptions.
 *
 *     node protocol/published.mjs > ../relay/src/http/protocol.json
 */

import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
const browser = require('devtools-protocol/json/browser_protocol.json');
const js = require('devtools-protocol/json/js_protocol.json');

/** A property may be called `description`; only a text under that name is one. */
const withoutDescriptions = (key, value) =>
  key === 'description' && typeof value === 'string' ? undefined : value;

export const published = JSON.stringify(
  { version: browser.version, domains: [...browser.domains, ...js.domains] },
  withoutDescriptions,
);

if (process.argv[1] === import.meta.filename) {
  process.stdout.write(published + '\n');
}
