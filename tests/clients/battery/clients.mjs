/** The clients of the battery: how each is started, and the line that its users type. */

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { PYTHON } from '../../harness/processes.mjs';
import { cargoProgram, packagesOf, pythonWith } from './install.mjs';

const pathOf = (file) => fileURLToPath(new URL(file, import.meta.url));
const node = (driver, ...args) => [process.execPath, pathOf(`drivers/${driver}.mjs`), ...args];
const python = (program, driver) => [program, pathOf(`drivers/${driver}.py`)];
/** The version of a package in a lock file of npm. */
const versionIn = (folder, name) => () =>
  JSON.parse(readFileSync(pathOf(`${folder}/package-lock.json`), 'utf8')).packages[
    `node_modules/${name}`
  ].version;
const versionOf = (name) => versionIn('../..', name);
/** A driver in Python with what `requirements/NAME.txt` lists. */
const fromPython = (name, driver) => {
  const { python: program, install } = pythonWith(name);
  return { command: python(program, driver), install };
};
/** A driver in JavaScript with the packages of `packages/NAME`. */
const fromPackages = (name, driver) => ({
  command: node(driver),
  install: packagesOf(name).install,
});
/** A driver in Rust: the program in `drivers/NAME`. */
const fromCargo = (name) => {
  const { program, install } = cargoProgram(name);
  return { command: [program], install };
};
/** The version of a package in a lock file of Cargo. */
const lockedIn = (file, name) => () =>
  new RegExp(`name = "${name}"\nversion = "(.*)"`).exec(readFileSync(pathOf(file), 'utf8'))[1];
/** The version of a package that a list of requirements pins. */
const pinnedIn = (file, name) => () =>
  new RegExp(`^${name}==(\\S+)`, 'm').exec(readFileSync(pathOf(file), 'utf8'))[1];

/** What changes in tabs that a client shows, because it selects a tab before it uses it or opens its own in front. */
const SHOWS_TABS = [/ (active|visibility|height): /];
/** The client shows the last tab when its own is closed, and so wakes it. */
const SHOWS_LAST_TAB = [/ discarded: true became false/];

/**
 * `isFast` clients are part of `make test`, and need only what that installs; `install` prepares the others.
 * `line` is what a user types, with `url` for the content of `~/.tabwire/cdp-url`. `attaches` is how many tabs
 * a client may attach by connecting and listing them, because it sends something to pages; without it, none.
 * `mayChange` has what a client is expected to change, `notes` say why, and `env` turns off its telemetry.
 * `usesOpenPort` clients cannot show a token, so `tabwire open-port` comes first.
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
    name: 'Playwright for Python',
    version: pinnedIn('../../../examples/requirements.txt', 'playwright'),
    command: python(PYTHON, 'python_playwright'),
    line: 'playwright.chromium.connect_over_cdp(url)',
  },
  {
    name: 'Puppeteer',
    version: versionOf('puppeteer-core-25'),
    isFast: true,
    command: node('puppeteer', 'puppeteer-core-25'),
    line: 'puppeteer.connect({ browserWSEndpoint: url })',
  },
  {
    name: 'Puppeteer, previous major',
    version: versionOf('puppeteer-core'),
    command: node('puppeteer'),
    line: 'puppeteer.connect({ browserWSEndpoint: url })',
  },
  {
    name: 'chrome-devtools-mcp',
    version: versionOf('chrome-devtools-mcp'),
    isFast: true,
    command: node('chrome_devtools_mcp'),
    env: { CHROME_DEVTOOLS_MCP_NO_UPDATE_CHECKS: '1' },
    attaches: 1,
    notes: { attached: 'it opens DevTools in the tab that it selects by itself' },
    line: "tabwire wrap -- npx chrome-devtools-mcp --wsEndpoint '{cdp_url}'",
  },
  {
    name: '@playwright/mcp',
    version: versionOf('@playwright/mcp'),
    command: node('playwright_mcp'),
    mayChange: SHOWS_TABS,
    notes: { afterwards: 'it shows the tab that it selects' },
    line: "tabwire wrap -- npx @playwright/mcp --cdp-endpoint '{cdp_url}'",
  },
  {
    name: 'browser-use',
    version: pinnedIn('requirements/browser-use.txt', 'browser-use'),
    ...fromPython('browser-use', 'python_browser_use'),
    env: { ANONYMIZED_TELEMETRY: 'false', BROWSER_USE_VERSION_CHECK: 'false' },
    mayChange: [...SHOWS_TABS, ...SHOWS_LAST_TAB],
    notes: { afterwards: 'it shows the tab that it goes on in, also when its own is closed' },
    line: 'Browser(cdp_url=url)',
  },
  {
    name: 'agent-browser',
    version: versionIn('packages/agent-browser', 'agent-browser'),
    ...fromPackages('agent-browser', 'agent_browser'),
    mayChange: SHOWS_TABS,
    notes: { afterwards: 'it shows the tab that it selects' },
    line: 'agent-browser connect "$(tabwire cdp-url)"',
  },
  {
    name: 'Stagehand',
    version: versionIn('packages/stagehand', '@browserbasehq/stagehand'),
    ...fromPackages('stagehand', 'stagehand'),
    mayChange: SHOWS_TABS,
    notes: { afterwards: 'it shows the tab that it opens' },
    line: "new Stagehand({ env: 'LOCAL', localBrowserLaunchOptions: { cdpUrl: url } })",
  },
  {
    name: 'chromiumoxide',
    version: lockedIn('drivers/chromiumoxide/Cargo.lock', 'chromiumoxide'),
    ...fromCargo('chromiumoxide'),
    mayChange: SHOWS_TABS,
    notes: { afterwards: 'it shows the tab of which it takes a picture' },
    line: 'Browser::connect(url)',
  },
  {
    name: 'chrome-remote-interface',
    version: versionIn('packages/chrome-remote-interface', 'chrome-remote-interface'),
    ...fromPackages('chrome-remote-interface', 'chrome_remote_interface'),
    line: 'CDP({ port: 19222, alterPath: withToken })',
  },
  {
    name: 'Selenium',
    version: pinnedIn('requirements/selenium.txt', 'selenium'),
    ...fromPython('selenium', 'python_selenium'),
    usesOpenPort: true,
    attaches: 1,
    mayChange: SHOWS_TABS,
    notes: {
      attached:
        'chromedriver looks at its current tab before each command, also before it lists tabs',
      afterwards: 'chromedriver shows the tab that it switches to',
    },
    line: "options.debugger_address = '127.0.0.1:9222'",
  },
  {
    name: 'nodriver',
    version: pinnedIn('requirements/nodriver.txt', 'nodriver'),
    ...fromPython('nodriver', 'python_nodriver'),
    usesOpenPort: true,
    line: "nodriver.start(host='127.0.0.1', port=9222)",
  },
  {
    name: 'zendriver',
    version: pinnedIn('requirements/zendriver.txt', 'zendriver'),
    ...fromPython('zendriver', 'python_nodriver'),
    usesOpenPort: true,
    line: "zendriver.start(host='127.0.0.1', port=9222)",
  },
];
