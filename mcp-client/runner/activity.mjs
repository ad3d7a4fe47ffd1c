/**
 * What happens in the pages of the browser while an agent uses them: console messages, requests, dialogs, new tabs. Keeps
 * the latest of each, and sums up after a call what the agent would otherwise miss. Answers dialogs, because a page with
 * an open one does not respond; code that listens to dialogs answers them itself.
 */

/** @import { BrowserContext, ConsoleMessage, Dialog, Page, Request } from 'playwright-core' */
/** @import { BrowserLink } from './browser_link.mjs' */

import { checkNumbers, checkOptions, matcherOf } from './options.mjs';
import { show, truncate } from './output.mjs';

/** Of console messages, and of requests. */
const MAX_KEPT = 500;
/** Longer ones are cut. */
const MAX_LOG = 2_000;
const MAX_NOTICES = 10;
/** Long enough for the path of a file. */
const MAX_NOTICE = 400;
const MAX_URL = 200;

/** @typedef {{ time: number, level: string, text: string, url: string }} LogEntry */
/** `known`: the part of it that an agent may know already. @typedef {{ text: string, known?: string }} Notice */
/** @typedef {{ time: number, request: Request, status?: number, failure?: string }} RequestEntry */

const LEVELS = ['debug', 'log', 'info', 'warning', 'error'];

export class Activity {
  #link;
  #mask;
  /** @type {LogEntry[]} */
  #logs = [];
  /** @type {RequestEntry[]} */
  #requests = [];
  /** What to say after the current call. @type {Notice[]} */
  #notices = [];
  /** How many notices there was no room for. */
  #omitted = 0;
  /** What is new since the last call. */
  #errors = 0;
  /** @type {RequestEntry[]} */
  #failed = [];
  /** The page and its address when the call began. @type {{ page?: Page, url?: string }} */
  #before = {};
  /**
   * `dialogs` for the code: how the next dialog is answered.
   * @type {{ next?: any }} `'accept'`, `'dismiss'`, a text or `{ text }`
   */
  dialogs = new Proxy(
    {},
    {
      set(target, name, value) {
        checkOptions('dialogs', { [String(name)]: value }, ['next']);
        return Reflect.set(target, name, value);
      },
    },
  );

  /**
   * @param {BrowserLink} link
   * @param {(text: string) => string} mask hides secrets
   */
  constructor(link, mask) {
    this.#link = link;
    this.#mask = mask;
  }

  /** Hides secrets first: of one that is cut, the rest would be shown. @param {string} text @param {number} length */
  #cut(text, length) {
    return truncate(this.#mask(text), length);
  }

  /** Follows a connection, from its start. @param {BrowserContext} context */
  watch(context) {
    context.on('console', (message) => this.#onConsole(message));
    context.on('weberror', (error) =>
      this.#log('error', `Uncaught ${error.error()}`, error.page()?.url()),
    );
    context.on('request', (request) => keep(this.#requests, { time: Date.now(), request }));
    context.on('response', (response) => this.#onDone(response.request(), response.status()));
    context.on('requestfailed', (request) => this.#onDone(request, undefined));
    context.on('dialog', (dialog) => this.#onDialog(dialog, context));
    context.on('page', (page) => this.#onPage(page));
  }

  /** A call begins. */
  begin() {
    const { page } = this.#link;
    this.#before = { page, url: page?.url() };
  }

  /**
   * What has happened since the last call, a line each.
   * @param {(text: string) => boolean} isKnown whether the agent has this text already
   */
  takeNotices(isKnown) {
    const isNew = (/** @type {Notice} */ { known }) => known === undefined || !isKnown(known);
    const notices = [
      ...this.#notices.filter(isNew).map(({ text }) => text),
      ...(this.#omitted > 0 ? [`${this.#omitted} more events`] : []),
      ...this.#describeNavigation(isKnown),
      ...this.#describeErrors(),
      ...this.#describeFailures(),
    ];
    this.#notices = [];
    this.#omitted = 0;
    this.#errors = 0;
    this.#failed = [];
    return notices.map((notice) => this.#cut(notice.replace(/\s+/g, ' '), MAX_NOTICE));
  }

  /** Says something after the current call. @param {string} text @param {string} [known] part of it; nothing is said if the agent has it already */
  announce = (text, known) => {
    if (this.#notices.length < MAX_NOTICES) {
      this.#notices.push({ text, known });
    } else {
      this.#omitted += 1;
    }
  };

  /** @param {(text: string) => boolean} isKnown */
  #describeNavigation(isKnown) {
    const { page, url } = this.#before;
    const isSame = !page || page !== this.#link.page || page.url() === url;
    return isSame || isKnown(page.url()) ? [] : [`Navigated to ${this.#cut(page.url(), MAX_URL)}`];
  }

  #describeErrors() {
    if (this.#errors === 0) {
      return [];
    }
    const last = this.#logs.findLast((entry) => isError(entry))?.text ?? '';
    const count = this.#errors === 1 ? 'Console error' : `${this.#errors} console errors, the last`;
    return [`${count}: ${this.#cut(last, 120)} (logs({ level: 'error' }))`];
  }

  #describeFailures() {
    const [first] = this.#failed;
    if (!first) {
      return [];
    }
    const { method, url, status, failure } = describe(first);
    const more = this.#failed.length > 1 ? ` and ${this.#failed.length - 1} more` : '';
    return [`Failed request: ${method} ${this.#cut(url, 100)} ${status ?? failure}${more}`];
  }

  /** Whether the agent should hear about it unasked. @param {Page | null | undefined} page */
  #isInUse(page) {
    return page !== null && page !== undefined && page === this.#link.page;
  }

  /** @param {ConsoleMessage} message */
  #onConsole(message) {
    const page = message.page();
    const level = message.type() === 'assert' ? 'error' : message.type();
    this.#log(LEVELS.includes(level) ? level : 'log', message.text(), page?.url(), page);
  }

  /**
   * @param {string} level
   * @param {string} text
   * @param {string} [url]
   * @param {Page | null} [page]
   */
  #log(level, text, url = '', page = this.#link.page) {
    keep(this.#logs, { time: Date.now(), level, text: this.#cut(text, MAX_LOG), url });
    if (isError({ level, text }) && this.#isInUse(page)) {
      this.#errors += 1;
    }
  }

  /** @param {Request} request @param {number | undefined} status */
  #onDone(request, status) {
    const entry = this.#requests.findLast((kept) => kept.request === request);
    if (!entry) {
      return;
    }
    entry.status = status;
    entry.failure = status === undefined ? request.failure()?.errorText : undefined;
    const isFailure = status === undefined ? entry.failure !== 'net::ERR_ABORTED' : status >= 400;
    const isExpected = new URL(request.url()).pathname === '/favicon.ico';
    if (isFailure && !isExpected && this.#isInUse(pageOf(request))) {
      keep(this.#failed, entry);
    }
  }

  /** @param {Dialog} dialog @param {BrowserContext} context */
  async #onDialog(dialog, context) {
    const listeners = countListeners(dialog.page()) + countListeners(context);
    const shown = `Dialog (${dialog.type()}): ${JSON.stringify(this.#cut(dialog.message(), 100))}`;
    if (listeners > 1) {
      this.announce(`${shown}, answered by the code`);
      return;
    }
    const { next } = this.dialogs;
    delete this.dialogs.next;
    // As Playwright does by itself.
    const standard = dialog.type() === 'beforeunload' ? 'accept' : 'dismiss';
    const { answer, text } = answerOf(next ?? standard);
    const isText = text !== undefined;
    const how = isText ? `answered ${JSON.stringify(text)}` : `${answer}ed`;
    const other = standard === 'accept' ? `'dismiss'` : `'accept' or a text`;
    const hint = next === undefined ? `. Before the next one, set dialogs.next = ${other}` : '';
    // The code may end with the answer, and its result has to tell.
    this.announce(`${shown}, ${how}${hint}`);
    try {
      await (answer === 'dismiss' ? dialog.dismiss() : dialog.accept(text));
    } catch {
      // The page or the connection is gone, and the dialog with it.
    }
  }

  /** @param {Page} page */
  async #onPage(page) {
    const opener = await page.opener().catch(() => null);
    if (this.#isInUse(opener)) {
      const index = this.#link.context.pages().indexOf(page);
      this.announce(`New tab: pages()[${index}] ${this.#cut(page.url(), MAX_URL)}`);
    }
  }

  /**
   * `logs(options?)` for the code.
   * @param {{ level?: string, since?: number, search?: any }} [options] `since` is in seconds before now
   */
  logs = (options = {}) => {
    checkOptions('logs', options, ['level', 'since', 'search']);
    checkNumbers('logs', options, ['since']);
    const { level, since = Infinity, search } = options;
    const lowest = level === undefined ? 0 : LEVELS.indexOf(level === 'warn' ? 'warning' : level);
    if (lowest < 0) {
      throw new TypeError(`logs has no level '${level}'. Levels: ${LEVELS.join(', ')}.`);
    }
    const matches = search === undefined ? () => true : matcherOf(search);
    const from = Date.now() - since * 1_000;
    return this.#logs
      .filter((entry) => LEVELS.indexOf(entry.level) >= lowest && entry.time >= from)
      .filter(({ text }) => matches(text))
      .map(({ level: kind, text, url }) => `[${kind}] ${text}${url ? ` (${url})` : ''}`);
  };

  /**
   * `requests(options?)` for the code. Bodies are read when they are asked for.
   * @param {{ url?: any, type?: string, status?: number | string }} [options] `status` is a number, `4xx` or `failed`
   */
  requests = (options = {}) => {
    checkOptions('requests', options, ['url', 'type', 'status']);
    const { url, type, status } = options;
    const matches = url === undefined ? () => true : matcherOf(url);
    return this.#requests
      .filter(({ request }) => matches(request.url()))
      .filter(({ request }) => type === undefined || request.resourceType() === type)
      .filter((entry) => status === undefined || hasStatus(entry, String(status)))
      .map(describe);
  };
}

/** A request that failed is listed by itself. @param {{ level: string, text: string }} entry */
const isError = ({ level, text }) =>
  level === 'error' && !text.startsWith('Failed to load resource');

/**
 * What the code has set, which may be anything. Playwright would refuse what is not a text, and leave the dialog open.
 * @param {any} next
 * @returns {{ answer: 'accept' | 'dismiss', text?: string }}
 */
function answerOf(next) {
  if (typeof next === 'boolean') {
    return { answer: next ? 'accept' : 'dismiss' };
  }
  if (next === 'accept' || next === 'dismiss') {
    return { answer: next };
  }
  return { answer: 'accept', text: typeof next === 'object' ? String(next.text) : show(next) };
}

/** Playwright's types do not have the method. @param {any} emitter @returns {number} */
const countListeners = (emitter) => emitter?.listenerCount('dialog') ?? 0;

/** @template T @param {T[]} list @param {T} item */
function keep(list, item) {
  list.push(item);
  if (list.length > MAX_KEPT) {
    list.shift();
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

/** @param {RequestEntry} entry @param {string} wanted */
const hasStatus = ({ status, failure }, wanted) =>
  wanted === 'failed'
    ? failure !== undefined
    : /^\dxx$/i.test(wanted)
      ? String(status)[0] === wanted[0]
      : String(status) === wanted;

/** @param {RequestEntry} entry */
function describe({ request, status, failure }) {
  const entry = {
    method: request.method(),
    url: request.url(),
    type: request.resourceType(),
    ...(status === undefined ? {} : { status }),
    ...(failure === undefined ? {} : { failure }),
  };
  // Not enumerable, so that a list of requests prints as data.
  return Object.defineProperties(entry, {
    postData: { value: () => request.postData() },
    headers: { value: () => request.allHeaders() },
    body: { value: async () => (await request.response())?.text() },
    json: { value: async () => (await request.response())?.json() },
  });
}
