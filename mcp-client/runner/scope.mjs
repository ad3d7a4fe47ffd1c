/** What an agent's code sees, and running it. The names in here are the contract of the `execute` tool. */

import vm from 'node:vm';

import { compile } from './compile.mjs';
import { isPlain, show } from './output.mjs';
import { fit, isImage, screenshot } from './screenshot.mjs';
import { Snapshots, subject } from './snapshot.mjs';

export class Scope {
  #link;
  #output;
  #globals;
  #imageLimit = 0;

  constructor(link, output) {
    this.#link = link;
    this.#output = output;
    const snapshots = new Snapshots(link);
    const names = {
      state: {},
      console: output.console(),
      output: output.rest,
      pages: () => link.context.pages(),
      snapshot: async (target, options) => {
        await this.#ensurePageFor(target);
        return snapshots.take(target, options);
      },
      screenshot: async (target, options) => {
        await this.#ensurePageFor(target);
        const { image, note } = await screenshot(subject(link, target, options), this.#imageLimit);
        output.images.push(image);
        if (note) {
          output.line(note);
        }
      },
      // What Node and browsers have in common. Nothing of Node's own: an agent that wants the machine has its shell.
      ...pick(globalThis, ['setTimeout', 'setInterval', 'setImmediate', 'clearTimeout', 'clearInterval', 'clearImmediate', 'queueMicrotask',
        'URL', 'URLSearchParams', 'TextEncoder', 'TextDecoder', 'AbortController', 'AbortSignal', 'Buffer', 'Blob', 'FormData', 'Headers',
        'fetch', 'structuredClone', 'atob', 'btoa', 'crypto', 'performance']),
    };
    Object.defineProperties(names, {
      page: {
        enumerable: true,
        get: () => {
          if (!link.page) {
            throw new Error('no page is in use: set one with `page = pages()[i]`, or open one with `page = await context.newPage()`');
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
    this.#globals = vm.createContext(names);
  }

  /** Runs code; its value goes to the output. */
  async run(code, { timeoutMs, imageLimit }) {
    const { script, needsPage } = compile(code);
    this.#imageLimit = imageLimit;
    // What waits in the page gives up before the whole call is ended, which would cost the agent its state.
    this.#link.context.setDefaultTimeout(Math.max(500, timeoutMs * 0.8));
    if (needsPage) {
      await this.#ensurePage();
    }
    await this.#show(await script.runInContext(this.#globals));
  }

  /** A page or a locator that is given needs no page in use. */
  async #ensurePageFor(target) {
    if (!target?.screenshot) {
      await this.#ensurePage();
    }
  }

  async #ensurePage() {
    const note = await this.#link.ensurePage();
    if (note) {
      this.#output.line(`[${note}]`);
    }
  }

  async #show(value) {
    const { context } = this.#link;
    if (isImage(value)) {
      const { image, note } = fit(value, this.#imageLimit);
      this.#output.images.push(image);
      if (note) {
        this.#output.line(note);
      }
    } else if (Array.isArray(value) && value.length > 0 && value.every((item) => context.pages().includes(item))) {
      const tabs = await this.#link.tabs();
      this.#output.line(tabs.filter((_, index) => value.includes(context.pages()[index])).map(describeTab).join('\n'));
    } else if (value !== undefined) {
      this.#output.line(show(value));
    }
  }

  /** After a new connection: pages, context and browser that the state holds are put in anew. */
  renew(old) {
    const renewed = (value) => {
      if (value === old.browser) {
        return this.#link.browser;
      }
      if (value === old.context) {
        return this.#link.context;
      }
      const target = typeof value?.mainFrame === 'function' ? this.#link.targetOf(value) : undefined;
      return target && this.#link.pageOf(target);
    };
    const seen = new Set();
    const visit = (holder) => {
      if (typeof holder !== 'object' || holder === null || seen.has(holder)) {
        return;
      }
      seen.add(holder);
      for (const key of Array.isArray(holder) || isPlain(holder) ? Object.keys(holder) : []) {
        const fresh = renewed(holder[key]);
        if (fresh) {
          holder[key] = fresh;
        } else {
          visit(holder[key]);
        }
      }
    };
    visit(this.#globals.state);
  }
}

export function describeTab({ index, title, url, inUse }) {
  return `[${index}] ${title ? `${title.slice(0, 80)} | ` : ''}${url.slice(0, 200)}${inUse ? '  <- page' : ''}`;
}

const pick = (from, names) => Object.fromEntries(names.filter((name) => name in from).map((name) => [name, from[name]]));
