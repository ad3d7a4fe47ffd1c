/**
 * The one connection to the browser, through the relay. It is taken when a call needs it and given back when the server
 * is idle; the page in use is known by its target id, which outlives both.
 */

import { setTimeout as after } from 'node:timers/promises';

import { chromium } from 'playwright-core';

import { idOfFrame, targetOfPage } from './internals.mjs';

/** It takes a tenth of a second; only a tab that does not answer can hold it up. */
const CONNECT_WITHIN_MS = 8_000;
const STATUS_WITHIN_MS = 2_000;
const WAKE_WITHIN_MS = 2_000;

export class BrowserLink {
  browser;
  /** The person's profile: there is only this one. */
  context;
  #url;
  #page;
  /** The target id of the page in use; also while nothing is connected. */
  #target;
  /** Target ids of pages and ids of frames, also of former connections: state may still hold those. */
  #ids = new WeakMap();
  #crashed = new WeakSet();
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
    this.#url = url;
    this.#target ??= target ?? undefined;
    this.browser = await chromium.connectOverCDP(url, { timeout: CONNECT_WITHIN_MS });
    [this.context] = this.browser.contexts();
    this.context.pages().forEach((page) => this.#learn(page));
    this.context.on('page', (page) => this.#learn(page));
    this.context.on('frameattached', (frame) => this.#ids.set(frame, idOfFrame(frame)));
    this.#page = this.#target && this.pageOf(this.#target);
    return true;
  }

  async release() {
    await this.browser?.close();
  }

  #learn(page) {
    this.#ids.set(page, targetOfPage(page));
    page.frames().forEach((frame) => this.#ids.set(frame, idOfFrame(frame)));
    page.on('crash', () => this.#crashed.add(page));
  }

  /** The target id of a page, or the id of a frame. */
  idOf(object) {
    return this.#ids.get(object);
  }

  pageOf(target) {
    return this.context.pages().find((page) => this.#ids.get(page) === target);
  }

  /** The frame with this id in a page of this connection; only a page that is awake has any but its main one. */
  async frameOf(page, id) {
    const find = () => page.frames().find((frame) => this.#ids.get(frame) === id);
    if (!find()) {
      await Promise.race([
        page.evaluate('0').catch(() => {}),
        after(WAKE_WITHIN_MS, undefined, { ref: false }),
      ]);
    }
    return find();
  }

  /** The page in use, if it is still open. Without a connection nobody knows: Playwright says so itself. */
  get page() {
    return this.#page?.isClosed() && this.browser.isConnected() ? undefined : this.#page;
  }

  set page(page) {
    this.#page = page;
    this.#target = this.#ids.get(page);
    this.#tell({ event: 'page', target: this.#target });
  }

  get hasCrashed() {
    return this.#crashed.has(this.#page);
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
    const known = new Map(targetInfos.map((info) => [info.targetId, info]));
    return this.context.pages().map((page, index) => {
      const target = this.idOf(page);
      const { title = '', url = '' } = known.get(target) ?? {};
      return { index, target, title, url: page.url() || url, inUse: page === this.page };
    });
  }

  /** What of the way to the browser is lost, if something is; the relay stays connected when the browser goes. */
  async lost() {
    if (!this.browser?.isConnected()) {
      return 'connection';
    }
    const { extension } = await status(this.#url);
    return extension ? undefined : 'browser';
  }
}

/** `GET /` of the relay. One that does not answer has no browser either, for all that one can do with it. */
async function status(url) {
  try {
    const response = await fetch(`http://127.0.0.1:${new URL(url).port}/`, {
      signal: AbortSignal.timeout(STATUS_WITHIN_MS),
    });
    return await response.json();
  } catch {
    return {};
  }
}
