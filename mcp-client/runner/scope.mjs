/** What an agent's code sees, and running it. The names in here are the contract of the `execute` tool. */

import { compile } from './compile.mjs';
import { beginning, show } from './output.mjs';
import { createRealm } from './realm.mjs';
import { renew } from './renewal.mjs';
import { fit, isImage, screenshot } from './screenshot.mjs';
import { Snapshots, subject } from './snapshot.mjs';

/** What a new connection does not bring back: listeners, routes, emulation. */
const LOST_WITH_CONNECTION =
  /\.(on|once|route|routeFromHAR|routeWebSocket|expose\w+|addInitScript|addLocatorHandler|emulateMedia|set(ViewportSize|Offline|Geolocation|ExtraHTTPHeaders)|newCDPSession)\(/;

export class Scope {
  #link;
  #output;
  #snapshots;
  #globals;
  /** The names that are there in every call, as they are meant; `state`, and what the code adds, is its own. */
  #given;
  #imageLimit = 0;
  /** Whether code has set what ends with the connection. */
  #hasSet = false;

  constructor(link, output) {
    this.#link = link;
    this.#output = output;
    this.#snapshots = new Snapshots(link);
    const names = {
      state: {},
      console: output.console(),
      output: output.rest,
      pages: () => link.context.pages(),
      snapshot: async (target, options) => {
        await this.#ensurePageFor(target);
        return this.#snapshots.take(target, options);
      },
      screenshot: async (target, options) => {
        await this.#ensurePageFor(target);
        const { page, locator, rest } = subject(link, target, options);
        output.picture(await screenshot({ page, locator, rest }, this.#imageLimit));
        if (rest.labels) {
          await this.#snapshots.keepRefs(page);
        }
      },
    };
    Object.defineProperties(names, {
      page: {
        enumerable: true,
        get: () => {
          if (!link.page) {
            throw new Error(
              'no page is in use: set one with `page = pages()[i]`, or open one with `page = await context.newPage()`',
            );
          }
          return link.page;
        },
        set: (page) => {
          if (typeof page?.mainFrame !== 'function') {
            const what = typeof page?.then === 'function' ? 'a promise: await it' : show(page);
            throw new TypeError(`\`page\` takes a page of this browser, not ${what}`);
          }
          link.page = page;
        },
      },
      context: { enumerable: true, get: () => link.context },
      browser: { enumerable: true, get: () => link.browser },
    });
    const { state: _, ...given } = Object.getOwnPropertyDescriptors(names);
    this.#given = given;
    this.#globals = createRealm(names);
  }

  /** Runs code; its value goes to the output. */
  async run(code, { timeoutMs, imageLimit }) {
    const { script, needsPage } = compile(code);
    this.#imageLimit = imageLimit;
    this.#hasSet ||= LOST_WITH_CONNECTION.test(code);
    // What waits in the page gives up before the whole call is ended, which would cost the agent its state.
    this.#link.context.setDefaultTimeout(Math.max(500, timeoutMs * 0.8));
    await this.#reviveRefsFor(code, timeoutMs);
    const opened = needsPage ? await this.#ensurePage() : undefined;
    // Earlier code may have made something else of them: `pages = pages()`.
    Object.entries(this.#given).forEach(([name, meant]) =>
      Reflect.defineProperty(this.#globals, name, meant),
    );
    try {
      await this.#show(await script.runInContext(this.#globals));
    } finally {
      await this.#closeUnused(opened);
    }
  }

  /** Refs that do not hold any more are told of at once: waiting for them would take all of the call's time. */
  async #reviveRefsFor(code, timeoutMs) {
    if (!/aria-ref|state|diff/.test(code)) {
      return;
    }
    const isRevived = await this.#snapshots.reviveRefs(timeoutMs / 5);
    if (!isRevived && code.includes('aria-ref') && !/snapshot\(/i.test(code)) {
      throw new Error(
        'the refs of the last snapshot do not hold any more: the connection to the browser is a new one, and the page is not as it was. Nothing was run',
      );
    }
  }

  /** A page, frame or locator that is given needs no page in use. */
  async #ensurePageFor(target) {
    if (typeof target?.mainFrame !== 'function' && typeof target?.page !== 'function') {
      await this.#ensurePage();
    }
  }

  /** The page that had to be opened, if one had. */
  async #ensurePage() {
    const before = this.#link.page;
    const note = await this.#link.ensurePage();
    if (note) {
      this.#output.line(`[${note}]`);
    }
    return before ? undefined : this.#link.page;
  }

  /** By its text alone code may seem to need a page, and then take another: what was opened for it is not left behind. */
  async #closeUnused(opened) {
    if (opened && opened !== this.#link.page && opened.url() === 'about:blank') {
      await opened.close().catch(() => {});
    }
  }

  async #show(value) {
    const { context } = this.#link;
    if (isImage(value)) {
      this.#output.picture(fit(value, this.#imageLimit));
    } else if (
      Array.isArray(value) &&
      value.length > 0 &&
      value.every((item) => context.pages().includes(item))
    ) {
      const tabs = await this.#link.tabs();
      this.#output.line(
        tabs
          .filter((_, index) => value.includes(context.pages()[index]))
          .map(describeTab)
          .join('\n'),
      );
    } else if (value !== undefined) {
      this.#output.line(show(value));
    }
  }

  /** After a new connection: what the code has kept of the old one is put in anew. */
  async renew(old) {
    if (this.#hasSet) {
      this.#hasSet = false;
      this.#output.line(
        '[The connection to the browser is a new one: listeners, routes and emulation that the code had set are gone.]',
      );
    }
    const kept = {};
    for (const [name, { value }] of Object.entries(
      Object.getOwnPropertyDescriptors(this.#globals),
    )) {
      if (value !== undefined && !Object.hasOwn(this.#given, name)) {
        kept[name] = value;
      }
    }
    await renew(this.#link, old, kept);
    Object.entries(kept).forEach(([name, value]) => Reflect.set(this.#globals, name, value));
  }
}

/** One line, whatever the page calls itself: what would steer a terminal or end a line becomes a space. */
export function describeTab({ index, title, url, inUse }) {
  const line = `[${index}] ${title ? `${beginning(title, 80)} | ` : ''}${beginning(url, 200)}${inUse ? '  <- page' : ''}`;
  return line.replace(/[\p{Cc}\u2028\u2029]/gu, ' ');
}
