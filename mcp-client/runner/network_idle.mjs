/** `networkIdle()`: which requests of a page are under way, and waiting until there are none. */

/** @import { BrowserContext, Page, Request } from 'playwright-core' */

import { setTimeout as delay } from 'node:timers/promises';

import { checkOptions } from './options.mjs';

const IDLE_MS = 500;
const DEFAULT_TIMEOUT_MS = 10_000;
const STEP_MS = 50;
const MAX_LISTED = 10;
/** They stay open by design, or nobody waits for them. */
const ENDLESS = new Set(['eventsource', 'websocket', 'media', 'ping']);

export class NetworkWatch {
  /** @type {Map<Request, Page>} */
  #pending = new Map();
  /** When the last request of a page began or ended. @type {WeakMap<Page, number>} */
  #lastChange = new WeakMap();

  /** Follows a connection, from its start. @param {BrowserContext} context */
  watch(context) {
    this.#pending.clear();
    context.on('request', (request) => this.#onRequest(request));
    context.on('requestfinished', (request) => this.#onEnd(request));
    context.on('requestfailed', (request) => this.#onEnd(request));
  }

  /** @param {Request} request */
  #onRequest(request) {
    const page = pageOf(request);
    if (!page || ENDLESS.has(request.resourceType())) {
      return;
    }
    const isNewDocument = request.isNavigationRequest() && !request.frame().parentFrame();
    if (isNewDocument) {
      // The end of a request of the last document is not always reported.
      this.#forget(page);
    }
    this.#pending.set(request, page);
    this.#lastChange.set(page, performance.now());
  }

  /** @param {Request} request */
  #onEnd(request) {
    const page = this.#pending.get(request);
    if (page && this.#pending.delete(request)) {
      this.#lastChange.set(page, performance.now());
    }
  }

  /** @param {Page} page */
  #forget(page) {
    this.#pendingOf(page).forEach((request) => this.#pending.delete(request));
  }

  /** @param {Page} page */
  #pendingOf(page) {
    return [...this.#pending].filter(([, of]) => of === page).map(([request]) => request);
  }

  /**
   * Waits until a page has not loaded anything for a while.
   * @param {Page} page
   * @param {{ idle?: number, timeout?: number }} options in milliseconds
   * @param {number} mostMs
   * @returns {Promise<string[]>} what is still loading after the timeout
   */
  async untilIdle(page, options, mostMs) {
    checkOptions('networkIdle', options, ['idle', 'timeout']);
    const { idle = IDLE_MS, timeout = DEFAULT_TIMEOUT_MS } = options;
    const start = performance.now();
    const deadline = start + Math.min(timeout, mostMs);
    while (performance.now() < deadline) {
      // Something that is about to begin counts, too, so the wait starts now at the earliest.
      const since = Math.max(this.#lastChange.get(page) ?? 0, start);
      if (page.isClosed() || (this.#isQuiet(page) && performance.now() - since >= idle)) {
        return [];
      }
      await delay(STEP_MS);
    }
    const pending = this.#pendingOf(page).slice(0, MAX_LISTED);
    return pending.map((request) => `${request.method()} ${request.url()}`);
  }

  /** @param {Page} page */
  #isQuiet(page) {
    return this.#pendingOf(page).length === 0;
  }
}

/** @param {Request} request */
function pageOf(request) {
  try {
    return request.frame().page();
  } catch {
    // It belongs to a service worker, or its page has no frame yet.
    return undefined;
  }
}
