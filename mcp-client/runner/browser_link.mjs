/**
 * The connection to the browser, through the relay, and the page in use. The connection is opened when a call needs it
 * and closed when the server is idle. The page in use is remembered by its target id, which survives reconnects. Nothing
 * else connects to the browser, and an agent's code never runs here.
 */

/** @import { Browser, BrowserContext, Frame, Page } from 'playwright-core' */

import { setTimeout as delay } from 'node:timers/promises';

import { chromium } from 'playwright-core';

import { frameIdOf, targetIdOf, whenClosing, whenOpened } from './internals.mjs';
import { checkNotStopped, unlessStopped } from './stopped.mjs';

/** Connecting takes about 100 ms. Only a tab that does not respond makes it slow. */
const CONNECT_TIMEOUT_MS = 8_000;
const STATUS_TIMEOUT_MS = 2_000;
const WAKE_TIMEOUT_MS = 2_000;

/** @typedef {{ browser: Browser, context: BrowserContext }} Connection */
/** @typedef {{ event: 'page' | 'opened' | 'kept', target: string | undefined, explicit?: boolean }} PageEvent */
/** @typedef {{ index: number, target: string | undefined, title: string, url: string, inUse: boolean }} Tab */

/**
 * @param {any} value
 * @returns {value is Page}
 */
export const isPage = (value) => typeof value?.mainFrame === 'function';

/**
 * @param {any} value
 * @returns {value is Frame}
 */
export const isFrame = (value) => typeof value?.childFrames === 'function';

whenClosing(async (page, close) => {
  const browser = page.context().browser();
  // Playwright would wait for the tab to close even after the user has resumed.
  await checkNotStopped(browser);
  return unlessStopped(browser, close());
});

export class BrowserLink {
  /** @type {Connection | undefined} */
  #connection;
  #url = '';
  /** @type {Page | undefined} */
  #page;
  /**
   * The target id of the page in use. Kept while disconnected.
   * @type {string | undefined}
   */
  #target;
  /**
   * Ids of pages and frames, including those of earlier connections: `state` may still hold such objects.
   * @type {WeakMap<object, string | undefined>}
   */
  #ids = new WeakMap();
  /** @type {WeakSet<Page>} */
  #crashed = new WeakSet();
  /** The tabs that this session has opened, by target id. @type {Set<string | undefined>} */
  #opened = new Set();
  #isEnsuringPage = false;
  #notify;

  /** @param {(event: PageEvent) => void} notify */
  constructor(notify) {
    this.#notify = (/** @type {PageEvent} */ event) => {
      // A popup that turned into a download may be gone before its id could be read.
      if (event.target !== undefined) {
        notify(event);
      }
    };
  }

  get browser() {
    return this.#connected.browser;
  }

  /** The user's profile. Through the relay there is only this one. */
  get context() {
    return this.#connected.context;
  }

  /** The browser, if it was chosen by name. */
  get browserName() {
    return new URL(this.#url).searchParams.get('browser');
  }

  get #connected() {
    if (!this.#connection) {
      throw new Error('Not connected to the browser.');
    }
    return this.#connection;
  }

  get #isConnected() {
    return this.#connection?.browser.isConnected() ?? false;
  }

  /**
   * Connects, unless already connected.
   * @param {{ url: string, name: string, identity: string, target?: string | null }} options `name`: what the relay calls this client.
   *   `identity`: the same in each connection of a session. `target`: the page in use, in case this process is new
   * @returns {Promise<Connection | undefined>} the earlier connection, if this call replaced one
   */
  async connect({ url, name, identity, target }) {
    if (this.#isConnected) {
      return undefined;
    }
    const previous = this.#connection;
    this.#url = url;
    this.#target ??= target ?? undefined;
    const browser = await chromium.connectOverCDP(url, {
      timeout: CONNECT_TIMEOUT_MS,
      headers: {
        // A header cannot contain other characters.
        'X-Tabwire-Client': name.replace(/[^\x20-\x7e]/g, '?'),
        'X-Tabwire-Identity': identity,
      },
    });
    const [context] = browser.contexts();
    if (!context) {
      throw new Error('The browser has no context.');
    }
    this.#connection = { browser, context };
    context.pages().forEach((page) => this.#track(page));
    context.on('page', (page) => {
      this.#track(page);
      this.#reportPopup(page);
    });
    whenOpened(browser, (opened) => this.#reportOpened(opened, !this.#isEnsuringPage));
    const open = context.newPage.bind(context);
    context.newPage = () => unlessStopped(browser, open());
    context.on('frameattached', (frame) => this.#ids.set(frame, frameIdOf(frame)));
    this.#page = this.pageOf(this.#target);
    return previous;
  }

  async release() {
    await this.#connection?.browser.close();
  }

  /** @param {string | undefined} target @param {boolean} explicit whether the code asked for it */
  #reportOpened(target, explicit) {
    this.#opened.add(target);
    this.#notify({ event: 'opened', target, explicit });
  }

  /** What a tab of the agent opens is the agent's, too. @param {Page} page */
  async #reportPopup(page) {
    const opener = await page.opener().catch(() => null);
    if (opener && this.#opened.has(this.idOf(opener))) {
      this.#reportOpened(this.idOf(page), true);
    }
  }

  /** Leaves a tab open when the session ends. @param {Page} page */
  keep(page) {
    this.#notify({ event: 'kept', target: this.idOf(page) });
  }

  /** @param {Page} page */
  #track(page) {
    this.#ids.set(page, targetIdOf(page));
    page.frames().forEach((frame) => this.#ids.set(frame, frameIdOf(frame)));
    page.on('crash', () => this.#crashed.add(page));
  }

  /**
   * The target id of a page, or the id of a frame.
   * @param {Page | Frame | undefined} object
   */
  idOf(object) {
    return object && this.#ids.get(object);
  }

  /** @param {string | undefined} target */
  pageOf(target) {
    return target === undefined
      ? undefined
      : this.context.pages().find((page) => this.#ids.get(page) === target);
  }

  /**
   * The frame with this id in a page of the current connection. A dormant page has only its main frame, so it may have
   * to be woken first.
   * @param {Page} page
   * @param {string | undefined} id
   */
  async frameOf(page, id) {
    const find = () => page.frames().find((frame) => this.#ids.get(frame) === id);
    if (!find()) {
      await Promise.race([
        page.evaluate('0').catch(() => {}),
        delay(WAKE_TIMEOUT_MS, undefined, { ref: false }),
      ]);
    }
    return find();
  }

  /**
   * The page in use, unless it was closed. While disconnected, every page counts as closed, so it is returned anyway:
   * Playwright's own error then names the cause.
   */
  get page() {
    return this.#page?.isClosed() && this.#isConnected ? undefined : this.#page;
  }

  set page(page) {
    this.#page = page;
    this.#target = this.idOf(page);
    this.#notify({ event: 'page', target: this.#target });
  }

  get hasCrashed() {
    return this.#page !== undefined && this.#crashed.has(this.#page);
  }

  /**
   * Returns the page in use, and opens a background tab if there is none.
   * @returns {Promise<{ page: Page, isNew: boolean, note?: string }>} `note`: for the agent, if an earlier page was closed
   */
  async ensurePage() {
    if (this.page) {
      return { page: this.page, isNew: false };
    }
    const wasClosed = this.#target !== undefined;
    this.#isEnsuringPage = true;
    const page = await this.context.newPage().finally(() => (this.#isEnsuringPage = false));
    this.page = page;
    const note = wasClosed
      ? 'The tab in use was closed or is in another browser. `page` is a new, empty tab.'
      : undefined;
    return { page, isNew: true, note };
  }

  /**
   * Lists all tabs. Titles come from the relay, so no tab is woken for them.
   * @returns {Promise<Tab[]>}
   */
  async tabs() {
    const session = await this.browser.newBrowserCDPSession();
    const { targetInfos } = await session.send('Target.getTargets');
    await session.detach();
    const infos = new Map(targetInfos.map((info) => [info.targetId, info]));
    return this.context.pages().map((page, index) => {
      const target = this.idOf(page);
      const { title = '', url = '' } = infos.get(target ?? '') ?? {};
      return { index, target, title, url: page.url() || url, inUse: page === this.page };
    });
  }

  /**
   * Which part of the path to the browser is lost, if any. The relay stays connected when the browser quits.
   * @returns {Promise<'connection' | 'browser' | undefined>}
   */
  async lost() {
    if (!this.#isConnected) {
      return 'connection';
    }
    return (await hasExtension(this.#url)) ? undefined : 'browser';
  }
}

/**
 * Asks the relay whether an extension is connected. A relay that does not respond counts as one without.
 * @param {string} url
 */
async function hasExtension(url) {
  try {
    const response = await fetch(`http://127.0.0.1:${new URL(url).port}/`, {
      signal: AbortSignal.timeout(STATUS_TIMEOUT_MS),
    });
    return Boolean(/** @type {{ extension?: boolean }} */ (await response.json()).extension);
  } catch {
    return false;
  }
}
