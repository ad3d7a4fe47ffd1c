/**
 * The one connection to the browser, through the relay. It is taken when a call needs it and given back when the server
 * is idle; the page in use is known by its target id, which outlives both.
 */

import { chromium } from 'playwright-core';

/** It takes a tenth of a second; only a tab that does not answer can hold it up. */
const CONNECT_WITHIN_MS = 8_000;

export class BrowserLink {
  browser;
  /** The person's profile: there is only this one. */
  context;
  #page;
  /** The target id of the page in use; also while nothing is connected. */
  #target;
  /** Target ids of pages, also of former connections: state may still hold those pages. */
  #ids = new WeakMap();
  #tell;

  /** @param {(event: { event: 'page' | 'opened', target: string }) => void} tell */
  constructor(tell) {
    this.#tell = tell;
  }

  /** Connects, unless it is. `target` is the page that was in use, if this process does not know. */
  async connect({ url, target }) {
    if (this.browser?.isConnected()) {
      return false;
    }
    this.#target ??= target ?? undefined;
    this.browser = await chromium.connectOverCDP(url, { timeout: CONNECT_WITHIN_MS });
    [this.context] = this.browser.contexts();
    this.context.pages().forEach((page) => this.#learn(page));
    this.context.on('page', (page) => this.#learn(page));
    this.#page = this.#target && this.pageOf(this.#target);
    return true;
  }

  async release() {
    await this.browser?.close();
  }

  #learn(page) {
    // Of Playwright's own objects only the one behind the page knows its target: asking Chrome would wake the tab.
    this.#ids.set(page, this.browser._connection.toImpl(page).mainFrame()._id);
  }

  targetOf(page) {
    return this.#ids.get(page);
  }

  pageOf(target) {
    return this.context.pages().find((page) => this.#ids.get(page) === target);
  }

  /** The page in use, if it is still open. */
  get page() {
    return this.#page?.isClosed() ? undefined : this.#page;
  }

  set page(page) {
    this.#page = page;
    this.#target = this.#ids.get(page);
    this.#tell({ event: 'page', target: this.#target });
  }

  /** Makes sure that a page is in use; opens a tab in the background if none is. Says so if there was one before. */
  async ensurePage() {
    if (this.page) {
      return undefined;
    }
    const wasClosed = this.#target !== undefined;
    this.page = await this.context.newPage();
    this.#tell({ event: 'opened', target: this.#target });
    return wasClosed ? 'The tab in use was closed: `page` is a new, empty tab.' : undefined;
  }

  /** Every tab with its title, which the relay knows without waking it. */
  async tabs() {
    const session = await this.browser.newBrowserCDPSession();
    const { targetInfos } = await session.send('Target.getTargets');
    await session.detach();
    const titles = new Map(targetInfos.map(({ targetId, title }) => [targetId, title]));
    return this.context.pages().map((page, index) => {
      const target = this.targetOf(page);
      return { index, target, title: titles.get(target) ?? '', url: page.url(), inUse: page === this.page };
    });
  }
}
