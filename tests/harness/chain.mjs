/**
 * A chain of relay, extension and Chromium that the tests of one file share, and the user's side of
 * its browser: what a test sees and does there without going through the relay.
 */

import { after, before } from 'node:test';

import { chromium as playwright } from 'playwright-core';
import puppeteer from 'puppeteer-core';

import { EXTENSION_ID, startChain, until } from './processes.mjs';
import { connectRaw } from './raw_client.mjs';
import { startSite } from './site.mjs';

/**
 * Starts a chain and a site before the tests of a file and stops them afterwards.
 * @param {object} [options] for `startChain`, plus the site's `pages` and the addresses of `tabs` to open.
 */
export function useChain({ pages = {}, tabs = () => [], ...options } = {}) {
  const shared = {};
  before(async () => {
    shared.site = await startSite(pages);
    shared.chain = await startChain(options);
    const urls = tabs(shared.site);
    if (urls.length > 0) {
      await openTabs(shared.chain, urls);
    }
  });
  after(async () => {
    await shared.chain?.stop();
    shared.site?.stop();
  });
  return {
    get chain() {
      return shared.chain;
    },
    get site() {
      return shared.site;
    },
    withPlaywright: (use) => withPlaywright(shared.chain, use),
    /**
     * Opens a tab as the user, passes it to `use` as the dormant page of a new Playwright, and
     * closes it.
     */
    withDormantPage: async (url, use) => {
      await openTabs(shared.chain, [url]);
      await withPlaywright(shared.chain, async ({ context }) => {
        const page = pageAt(context, url);
        await use({ page, url });
        await page.close();
      });
    },
    withPuppeteer: (use) => withPuppeteer(shared.chain, use),
    withClients: (use) => withClients(shared.chain, use),
  };
}

/** The tabs of the browser, as its user sees them. */
export const userTabs = (chain) =>
  inExtension(chain, async () => (await chrome.tabs.query({})).map(({ id, url }) => ({ id, url })));

/** Connects an unmodified Playwright for `use`, then closes the tabs it opened and disconnects. */
async function withPlaywright(chain, use) {
  const browser = await playwright.connectOverCDP(chain.cdpUrl);
  const context = browser.contexts()[0];
  const existing = new Set(context.pages());
  try {
    return await use({ browser, context });
  } finally {
    const opened = context.pages().filter((page) => !existing.has(page));
    await Promise.all(opened.map((page) => page.close()));
    await browser.close();
    await chain.relay.waitForClients(0);
  }
}

const connectPuppeteer = (browserWSEndpoint) =>
  puppeteer.connect({ browserWSEndpoint, defaultViewport: null });

/** Connects an unmodified Puppeteer for `use`. Tabs it opens are left to `use`. */
async function withPuppeteer(chain, use) {
  const browser = await connectPuppeteer(chain.cdpUrl);
  try {
    return await use(browser);
  } finally {
    await browser.disconnect();
    await chain.relay.waitForClients(0);
  }
}

/**
 * Lets `use` connect any number of clients: `connect.playwright()`, `connect.puppeteer()`,
 * `connect.raw()`. Afterwards all of them are disconnected, and tabs opened meanwhile are closed.
 */
async function withClients(chain, use) {
  const disconnects = [];
  const existing = await inExtension(chain, async () =>
    (await chrome.tabs.query({})).map((tab) => tab.id),
  );
  const connect = {
    async playwright() {
      const browser = await playwright.connectOverCDP(chain.cdpUrl);
      disconnects.push(() => browser.close());
      return { browser, context: browser.contexts()[0] };
    },
    async puppeteer() {
      const browser = await connectPuppeteer(chain.cdpUrl);
      disconnects.push(() => browser.disconnect());
      return browser;
    },
    async raw() {
      const client = await connectRaw(chain.cdpUrl);
      disconnects.push(() => client.kill());
      return client;
    },
  };
  try {
    return await use(connect);
  } finally {
    await Promise.all(disconnects.map((disconnect) => disconnect()));
    await chain.relay.waitForClients(0);
    await closeTabsExcept(chain, existing);
  }
}

const closeTabsExcept = (chain, keep) =>
  inExtension(
    chain,
    async (kept) => {
      const tabs = await chrome.tabs.query({});
      await chrome.tabs.remove(tabs.map((tab) => tab.id).filter((id) => !kept.includes(id)));
    },
    keep,
  );

/** The page whose address ends with `end`, in a list of pages or in a Playwright context. */
export const pageAt = (pages, end) =>
  (Array.isArray(pages) ? pages : pages.pages()).find((page) => page.url().endsWith(end));

/**
 * Uses a page: reads its title there. Playwright's `page.title()` is answered without attaching to the
 * tab.
 */
export const titleIn = (page) => page.evaluate(() => document.title);

/**
 * Connects Puppeteer to Chromium's own port, where it sees what only a test may see. The caller
 * disconnects it.
 */
export const puppeteerOnOwnPort = (chain) => connectPuppeteer(chain.chromium.ownUrl);

/** Connects Playwright to Chromium's own port, for what the user does and sees in the browser. */
export async function onOwnPort(chain, use) {
  const browser = await playwright.connectOverCDP(chain.chromium.ownUrl);
  try {
    return await use(browser, browser.contexts()[0]);
  } finally {
    await browser.close();
  }
}

/**
 * Runs a function in the first service worker whose address matches, through Chromium's own port.
 */
export const inServiceWorker = (chain, isWanted, run, argument) =>
  onOwnPort(chain, async (_browser, context) => {
    const matches = (worker) => isWanted(worker.url());
    const worker =
      context.serviceWorkers().find(matches) ??
      (await context.waitForEvent('serviceworker', matches));
    return worker.evaluate(run, argument);
  });

/** Runs a function in the Tabwire extension's service worker. */
export const inExtension = (chain, run, argument) =>
  inServiceWorker(chain, (url) => url.includes(EXTENSION_ID), run, argument);

/** The addresses of the tabs to which the extension has attached its debugger. */
export async function attachedUrls(chain) {
  return inExtension(chain, async () => {
    const { attachedTabs } = await chrome.storage.session.get('attachedTabs');
    const tabs = await Promise.all((attachedTabs ?? []).map((tabId) => chrome.tabs.get(tabId)));
    return tabs.map((tab) => tab.url);
  });
}

/** Waits until the extension has detached its debugger from every tab. */
export const untilDetached = (chain) =>
  until('no debugger is attached', async () => (await attachedUrls(chain)).length === 0);

/**
 * Opens background tabs as the user would, without a client of the relay, and waits until they have
 * loaded.
 */
export async function openTabs(chain, urls) {
  await inExtension(
    chain,
    async (wanted) => {
      for (const url of wanted) {
        await chrome.tabs.create({ url, active: false });
      }
      const loaded = async () =>
        (await chrome.tabs.query({})).every((tab) => tab.status === 'complete');
      while (!(await loaded())) {
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    },
    urls,
  );
}

/** Opens a tab in the foreground as the user would, without waiting for it to load. */
export const openForegroundTab = (chain, url) =>
  inExtension(
    chain,
    async (wanted) => void (await chrome.tabs.create({ url: wanted, active: true })),
    url,
  );

/**
 * Calls `chrome.tabs[method]` on the tab whose address starts with `url`, as when the user
 * navigates, reloads or closes it.
 */
export const actOnTab = (chain, url, method, ...args) =>
  inExtension(
    chain,
    async (given) => {
      const tabs = await chrome.tabs.query({});
      const { id } = tabs.find((tab) => tab.url.startsWith(given.url));
      await chrome.tabs[given.method](id, ...given.args);
    },
    { url, method, args },
  );
