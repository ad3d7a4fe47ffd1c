/**
 * The scope of an agent's code, and running it there. The names in scope are the contract of the `execute` tool, so they
 * must not change without its description.
 */

/** @import { Page } from 'playwright-core' */
/** @import { BrowserLink, Connection, Tab } from './browser_link.mjs' */
/** @import { Activity } from './activity.mjs' */
/** @import { Output } from './output.mjs' */
/** @import { Secrets } from './secrets.mjs' */
/** @import { Tools } from './toolbox.mjs' */

import { isPage } from './browser_link.mjs';
import { compile } from './compile.mjs';
import { messageOf } from './explain.mjs';
import { isImage } from './image.mjs';
import { beforeUseOfRef, notFoundBy, rememberNotFound, whenSent } from './internals.mjs';
import { hasOnly, show, truncate } from './output.mjs';
import { createRealm } from './realm.mjs';
import { rebind } from './rebind.mjs';
import { Recorder } from './recorder.mjs';
import { screenshot } from './screenshot.mjs';
import { toScript } from './script.mjs';
import { withSecrets } from './secret_requests.mjs';
import { Snapshots, subjectOf } from './snapshot.mjs';
import { fitLegibly } from './tiles.mjs';
import { createToolbox } from './toolbox.mjs';
import { Transcript } from './transcript.mjs';

/** Code that sets something that ends with the connection: listeners, routes, emulation. */
const BOUND_TO_CONNECTION =
  /\.(on|once|route|routeFromHAR|routeWebSocket|expose\w+|addInitScript|addLocatorHandler|emulateMedia|set(ViewportSize|Offline|Geolocation|ExtraHTTPHeaders)|newCDPSession)\(/;

const MIN_ACTION_TIMEOUT_MS = 500;
/** What is left of the text of a response for notes and console output beside a snapshot. */
const SNAPSHOT_MARGIN = 1_000;

/**
 * What a call may take. The timeouts of actions and navigations are defaults that the code can change.
 * @typedef {{ timeoutMs: number, actionTimeoutMs: number, navigationTimeoutMs: number, outputLimit: number, imageLimit: number | null }} Limits
 */

export class Scope {
  #link;
  #output;
  #snapshots;
  #activity;
  #secrets;
  #recorder;
  #transcript = new Transcript();
  #globals;
  /** The names that every call starts with. `state` and what the code adds are its own. */
  #builtIns;
  /** @type {number | null} */
  #imageLimit = 0;
  /** `readMs`: how long a page may take to respond before it counts as hung. */
  #readLimits = { timeoutMs: 0, readMs: 0, maxLength: 0 };
  #hasBoundToConnection = false;

  /**
   * @param {BrowserLink} link
   * @param {Output} output
   * @param {Activity} activity
   * @param {Secrets} secrets
   * @param {Pick<Tools, 'downloads' | 'files' | 'network'>} services
   */
  constructor(link, output, activity, secrets, services) {
    this.#link = link;
    this.#output = output;
    this.#activity = activity;
    this.#secrets = secrets;
    this.#recorder = new Recorder(link, services.files);
    rememberNotFound();
    whenSent((call) => withSecrets(secrets, call));
    this.#snapshots = new Snapshots(link);
    beforeUseOfRef((frame, refs) => {
      const { ref } = refs;
      if (ref !== undefined) {
        this.#transcript.onRef(frame, ref, this.#snapshots.uniqueElement(frame.page(), ref));
      }
      return this.#snapshots.checkRef(frame, refs);
    });
    const toolbox = createToolbox({
      ...services,
      link,
      output,
      secrets,
      snapshots: this.#snapshots,
      limits: () => this.#readLimits,
      ensurePage: (target) => this.#ensurePageFor(target),
    });
    const names = { ...this.#functions(), ...toolbox, state: {} };
    Object.defineProperties(names, this.#accessors());
    const { state: _, ...builtIns } = Object.getOwnPropertyDescriptors(names);
    this.#builtIns = builtIns;
    this.#globals = createRealm(names);
  }

  #functions() {
    return {
      console: this.#output.console(),
      output: this.#output.slice,
      pages: () => this.#link.context.pages(),
      keep: (/** @type {any} */ page = this.#link.page) => {
        if (!isPage(page)) {
          throw new TypeError(`keep takes a page of this browser, not ${show(page)}`);
        }
        this.#link.keep(page);
      },
      logs: this.#activity.logs,
      requests: this.#activity.requests,
      dialogs: this.#activity.dialogs,
      secret: this.#secrets.placeholder,
      record: { start: this.#recorder.start, stop: this.#recorder.stop },
      script: async () => {
        const names = [...Object.keys(this.#builtIns), 'state'];
        const script = await toScript(this.#transcript, { names, browser: this.#link.browserName });
        return this.#secrets.mask(script);
      },
      /** @type {(target?: any, options?: any) => Promise<string>} */
      snapshot: async (target, options) => {
        await this.#ensurePageFor(target);
        return this.#snapshots.take(target, options, this.#readLimits);
      },
      /** @type {(target?: any, options?: any) => Promise<void>} */
      screenshot: async (target, options) => {
        await this.#ensurePageFor(target);
        const subject = subjectOf(this.#link, target, options);
        const images = await screenshot(subject, this.#imageLimit, this.#readLimits);
        images.forEach((image) => this.#output.image(image));
        if (subject.options.labels) {
          await this.#snapshots.rememberRefs(subject.page);
        }
      },
    };
  }

  /** @returns {PropertyDescriptorMap} */
  #accessors() {
    const link = this.#link;
    return {
      page: {
        enumerable: true,
        get: () => {
          if (!link.page) {
            throw new Error(
              'No page is in use. Set one with `page = pages()[i]`, or open one with `page = await context.newPage()`.',
            );
          }
          return link.page;
        },
        set: (page) => {
          if (!isPage(page)) {
            const what = isPromise(page) ? 'a promise: await it' : show(page);
            throw new TypeError(`\`page\` must be a page of this browser, not ${what}`);
          }
          link.page = page;
        },
      },
      context: { enumerable: true, get: () => link.context },
      browser: { enumerable: true, get: () => link.browser },
    };
  }

  /**
   * Runs code and prints its value.
   * @param {string} code
   * @param {Limits} limits
   */
  async run(code, limits) {
    this.#transcript.begin();
    let hasSucceeded = false;
    try {
      await this.#run(code, limits);
      hasSucceeded = true;
    } finally {
      this.#transcript.end(code, hasSucceeded);
    }
  }

  /**
   * @param {string} code
   * @param {Limits} limits
   */
  async #run(code, { timeoutMs, actionTimeoutMs, navigationTimeoutMs, outputLimit, imageLimit }) {
    const { script, needsPage } = compile(code);
    this.#imageLimit = imageLimit;
    this.#hasBoundToConnection ||= BOUND_TO_CONNECTION.test(code);
    // Actions time out before the call does: a call that times out costs the agent its state.
    const most = Math.max(MIN_ACTION_TIMEOUT_MS, timeoutMs * 0.8);
    const readMs = Math.min(actionTimeoutMs || most, most);
    this.#link.context.setDefaultTimeout(readMs);
    this.#link.context.setDefaultNavigationTimeout(Math.min(navigationTimeoutMs || most, most));
    const maxLength = Math.max(SNAPSHOT_MARGIN, outputLimit - SNAPSHOT_MARGIN);
    this.#readLimits = { timeoutMs: most, readMs, maxLength };
    await this.#restoreRefsFor(code);
    const opened = needsPage ? await this.#ensurePage() : undefined;
    // Earlier code may have overwritten them, as in `pages = pages()`.
    Object.entries(this.#builtIns).forEach(([name, builtIn]) =>
      Reflect.defineProperty(this.#globals, name, builtIn),
    );
    try {
      await this.#print(await script.runInContext(this.#globals));
    } finally {
      await this.#closeUnused(opened);
    }
  }

  /**
   * Rejects stale refs before the code runs. Otherwise it would wait for them until the call times out.
   * @param {string} code
   */
  async #restoreRefsFor(code) {
    if (!/aria-ref|state|diff/.test(code)) {
      return;
    }
    const isValid = await this.#snapshots.restoreRefs(this.#readLimits.readMs / 2);
    if (!isValid && code.includes('aria-ref') && !/snapshot\(/i.test(code)) {
      throw new Error(
        'The refs of the last snapshot are stale: Tabwire reconnected to the browser, and the page has changed. Nothing was run.',
      );
    }
  }

  /**
   * A page, frame or locator works without a page in use.
   * @param {any} target
   */
  async #ensurePageFor(target) {
    if (!isPage(target) && typeof target?.page !== 'function') {
      await this.#ensurePage();
    }
  }

  /** @returns {Promise<Page | undefined>} the page, if it had to be opened */
  async #ensurePage() {
    const { page, isNew, note } = await this.#link.ensurePage();
    if (note) {
      this.#output.line(`[${note}]`);
    }
    return isNew ? page : undefined;
  }

  /**
   * Code may seem to need a page and then use another. In that case the page opened for it is closed.
   * @param {Page | undefined} opened
   */
  async #closeUnused(opened) {
    if (opened && opened !== this.#link.page && opened.url() === 'about:blank') {
      await opened.close().catch(() => {});
    }
  }

  /** @param {any} value */
  async #print(value) {
    const pages = this.#link.context.pages();
    if (isImage(value)) {
      fitLegibly(value, this.#imageLimit).forEach((image) => this.#output.image(image));
    } else if (Array.isArray(value) && value.length > 0 && hasOnly(value, pages)) {
      const tabs = await this.#link.tabs();
      const isListed = (/** @type {Page | undefined} */ page) =>
        Array.prototype.includes.call(value, page);
      const listed = tabs.filter(({ index }) => isListed(pages[index]));
      this.#output.line(listed.map((tab) => describeTab(tab, this.#secrets.mask)).join('\n'));
    } else if (value !== undefined) {
      this.#output.line(show(value));
      this.#output.hasValue = true;
    }
  }

  /**
   * The elements that are most like what a locator did not find, if that is why the code failed.
   * @param {unknown} error
   * @returns {Promise<string[]>}
   */
  async closestMatches(error) {
    const missing = notFoundBy(error);
    return missing ? this.#snapshots.closestTo(missing.frame.page(), missing.selector) : [];
  }

  /**
   * After a reconnect, makes what the code has kept usable again.
   * @param {Connection} previous
   */
  async rebind(previous) {
    if (this.#hasBoundToConnection) {
      this.#hasBoundToConnection = false;
      this.#output.line(
        '[Reconnected to the browser: listeners, routes and emulation set by earlier code are gone.]',
      );
    }
    /** @type {Record<string, unknown>} */
    const kept = {};
    const descriptors = Object.getOwnPropertyDescriptors(this.#globals);
    for (const [name, { value }] of Object.entries(descriptors)) {
      if (value !== undefined && !Object.hasOwn(this.#builtIns, name)) {
        kept[name] = value;
      }
    }
    await this.#recorder.resume().catch((error) => {
      this.#output.line(`[The recording does not go on: ${messageOf(error)}]`);
    });
    await rebind(this.#link, previous, kept);
    Object.entries(kept).forEach(([name, value]) => Reflect.set(this.#globals, name, value));
  }
}

/** @param {any} value */
const isPromise = (value) => typeof value?.then === 'function';

/** The same as `is_unsafe` in relay/home/src/printable.rs, apart from what ends lines or controls a terminal. */
const INVISIBLE =
  /[\u061c\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu;

/**
 * A tab in one line. Control characters in its title become spaces: they could end the line or control a terminal.
 * Those that change the direction of text, or that nobody sees, are left out.
 * @param {Tab} tab
 * @param {(text: string) => string} mask hides secrets
 */
export function describeTab({ index, title, url, inUse }, mask) {
  const prefix = title ? `${truncate(mask(title), 80)} | ` : '';
  const line = `[${index}] ${prefix}${truncate(mask(url), 200)}${inUse ? '  <- page' : ''}`;
  return line.replace(/[\p{Cc}\u2028\u2029]/gu, ' ').replace(INVISIBLE, '');
}
