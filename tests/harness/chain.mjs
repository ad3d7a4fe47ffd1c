/** A chain that the tests of one file share, and what they ask of its browser behind the clients' backs. */

import { after, before } from 'node:test';

import { chromium as playwright } from 'playwright-core';

import puppeteer from 'puppeteer-core';

import { connectBare } from './bare_client.mjs';
import { EXTENSION_ID, startChain, until } from './processes.mjs';
import { startSite } from './site.mjs';

/**
 * Starts chain and site before the tests of a file and ends them after.
 * @param {object} [options] of `startChain`, and `pages` of the site.
 */
export function useChain({ pages = {}, ...options } = {}) {
  const shared = {};
  before(async () => {
    shared.site = await startSite(pages);
    shared.chain = await startChain(options);
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
    /** Connects an unmodified Playwright and gives it to `use`; afterwards its own tabs are closed and it leaves. */
    async withPlaywright(use) {
      const browser = await playwright.connectOverCDP(shared.chain.cdpUrl);
      const context = browser.contexts()[0];
      const there = new Set(context.pages());
      try {
        return await use({ browser, context });
      } finally {
        await Promise.all(
          context
            .pages()
            .filter((page) => !there.has(page))
            .map((page) => page.close()),
        );
        await browser.close();
        await until(
          'the slot is free',
          async () => (await shared.chain.relay.status()).clients === 0,
        );
      }
    },
    /** Gives `use` what connects clients, as many as the relay takes; afterwards all leave, and the tabs that came are closed. */
    async withClients(use) {
      const { chain } = shared;
      const leave = [];
      const before = await inExtension(chain, async () =>
        (await chrome.tabs.query({})).map((tab) => tab.id),
      );
      const connect = {
        async playwright() {
          const browser = await playwright.connectOverCDP(chain.cdpUrl);
          leave.push(() => browser.close());
          return { browser, context: browser.contexts()[0] };
        },
        async puppeteer() {
          const browser = await puppeteer.connect({
            browserWSEndpoint: chain.cdpUrl,
            defaultViewport: null,
          });
          leave.push(() => browser.disconnect());
          return browser;
        },
        async bare() {
          const client = await connectBare(chain.cdpUrl);
          leave.push(() => client.kill());
          return client;
        },
      };
      try {
        return await use(connect);
      } finally {
        await Promise.all(leave.map((end) => end()));
        await until(
          'all clients have left',
          async () => (await chain.relay.status()).clients === 0,
        );
        await inExtension(
          chain,
          async (kept) => {
            const tabs = await chrome.tabs.query({});
            await chrome.tabs.remove(tabs.map((tab) => tab.id).filter((id) => !kept.includes(id)));
          },
          before,
        );
      }
    },
  };
}

/** Playwright on Chromium's own port, for what only the test may see and do: the person's side. */
export async function asPerson(chain, use) {
  const browser = await playwright.connectOverCDP(chain.chromium.ownUrl);
  try {
    return await use(browser, browser.contexts()[0]);
  } finally {
    await browser.close();
  }
}

/** Runs a function in the extension's service worker, over Chromium's own port. */
export async function inExtension(chain, run, argument) {
  return asPerson(chain, async (browser, context) => {
    const isOurs = (worker) => worker.url().includes(EXTENSION_ID);
    const worker =
      context.serviceWorkers().find(isOurs) ??
      (await context.waitForEvent('serviceworker', isOurs));
    return worker.evaluate(run, argument);
  });
}

/** The tabs that Chrome says have a debugger of the extension. */
export async function attachedUrls(chain) {
  return inExtension(chain, async () => {
    const { attachedTabs } = await chrome.storage.session.get('attachedTabs');
    const tabs = await Promise.all((attachedTabs ?? []).map((tabId) => chrome.tabs.get(tabId)));
    return tabs.map((tab) => tab.url);
  });
}

/**
 * Opens tabs as the person would: with no client of the relay involved. They are behind the others, but for `inFront`,
 * which is not waited for.
 */
export async function openTabs(chain, urls, { inFront } = {}) {
  await inExtension(
    chain,
    async ({ urls: wanted, inFront: active }) => {
      for (const url of wanted) {
        await chrome.tabs.create({ url, active: false });
      }
      const loaded = async () =>
        (await chrome.tabs.query({})).every((tab) => tab.status === 'complete');
      while (!(await loaded())) {
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      if (active) {
        await chrome.tabs.create({ url: active, active: true });
      }
    },
    { urls, inFront },
  );
}
