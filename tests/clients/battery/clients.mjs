/** The clients of the battery: how each is started, and the line that its users type. */

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const pathOf = (file) => fileURLToPath(new URL(file, import.meta.url));
const node = (driver, ...args) => [process.execPath, pathOf(`drivers/${driver}.mjs`), ...args];
const versionIn = (folder, name) => () =>
  JSON.parse(readFileSync(pathOf(`${folder}/node_modules/${name}/package.json`), 'utf8')).version;
const versionOf = (name) => versionIn('../..', name);

/**
 * `isFast` clients are part of `make test`, and need only what that installs. `line` is what a user types, with
 * `url` for the content of `~/.tabwire/cdp-url`. `attaches` is how many tabs a client may attach by connecting
 * and listing them, because it sends something to pages; without it, none. `mayChange` has what a client changes
 * because it was told to.
 */
export const clients = [
  {
    name: 'Playwright',
    version: versionOf('playwright-core'),
    isFast: true,
    command: node('playwright'),
    line: 'chromium.connectOverCDP(url)',
  },
  {
    name: 'Playwright, a year old',
    version: versionOf('playwright-core-1.56'),
    isFast: true,
    command: node('playwright', 'playwright-core-1.56'),
    line: 'chromium.connectOverCDP(url)',
  },
  {
    name: 'Puppeteer, previous major',
    version: versionOf('puppeteer-core'),
    isFast: true,
    command: node('puppeteer'),
    line: 'puppeteer.connect({ browserWSEndpoint: url })',
  },
];
