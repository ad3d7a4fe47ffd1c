/**
 * The worker process of `tabwire mcp`, which runs an agent's code with Playwright. The server starts it, sends requests as
 * JSON lines on stdin, one at a time, and kills it if code does not end. Replies and events are JSON lines on stdout.
 *
 *   → {id, do: "connect", url, name, identity, target}   ← {id, ok} or {id, error: {kind, message, next}}
 *   → {id, do: "execute", code, audience, …}   ← {event: "output", text} as it is printed, then {id, ok: {text, images}, error?}
 *   → {id, do: "tabs" | "use" | "close" | "release", …}
 *   ← {event: "page", target}                the page in use has changed
 *   ← {event: "opened", target, explicit}    a tab was opened: by the code, or because it needed a page
 *   ← {event: "kept", target}                the code wants a tab to stay open
 *
 * The token of the relay and the user's secrets must never appear on stdout.
 */

/** @import { BrowserContext } from 'playwright-core' */
/** @import { Tab } from './browser_link.mjs' */
/** @import { Audience, Failure } from './explain.mjs' */
/** @import { Limits } from './scope.mjs' */

import fs from 'node:fs';
import readline from 'node:readline';
import { Worker } from 'node:worker_threads';

import { Activity } from './activity.mjs';
import { BrowserLink } from './browser_link.mjs';
import { Downloads } from './downloads.mjs';
import { CRASHED, explain, messageOf, textFor } from './explain.mjs';
import { Files } from './files.mjs';
import { NetworkWatch } from './network_idle.mjs';
import { Output, show, truncate } from './output.mjs';
import { Scope, describeTab } from './scope.mjs';
import { Secrets } from './secrets.mjs';

/** @typedef {{ ok?: object, error?: Failure }} Reply */

const MAX_LISTED_TABS = 20;

/**
 * The token of the last URL that was connected to.
 * @type {string | undefined}
 */
let token;

/** Fields of messages that never contain text of a page or of the code. */
const OWN_FIELDS = new Set(['event', 'kind', 'target', 'mimeType', 'data']);

/** Text that may leave this process. @param {string} text */
function presentable(text) {
  const masked = secrets.mask(token ? text.replaceAll(token, '…') : text);
  // The server cannot parse JSON with lone surrogates.
  return masked.toWellFormed();
}

/** @param {object} message */
function send(message) {
  const text = JSON.stringify(message, (key, value) =>
    typeof value === 'string' && !OWN_FIELDS.has(key) ? presentable(value) : value,
  );
  let rest = Buffer.from(`${text}\n`);
  // Written synchronously, so that output of code that then loops forever is not lost.
  while (rest.length > 0) {
    rest = rest.subarray(writeSome(rest));
  }
}

/** @param {Buffer} bytes */
function writeSome(bytes) {
  try {
    return fs.writeSync(1, bytes);
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'EAGAIN') {
      throw error;
    }
    // The pipe is full until the server reads from it.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
    return 0;
  }
}

const secrets = new Secrets();
const output = new Output((text) => send({ event: 'output', text }), secrets.mask);
const link = new BrowserLink(send);
const activity = new Activity(link, secrets.mask);
const files = new Files();
const downloads = new Downloads(files, activity.announce);
const network = new NetworkWatch();
const scope = new Scope(link, output, activity, secrets, { downloads, files, network });
/** Each watches a connection from its start. */
const watchers = [activity, downloads, network];

/** @param {unknown} error */
const briefly = (error) => truncate(secrets.mask(messageOf(error)), 500);

// Promises and timers that the code left behind must not end the worker.
process.on('unhandledRejection', (error) =>
  output.line(`[Unhandled rejection in the code: ${briefly(error)}]`),
);
process.on('uncaughtException', (error) =>
  output.line(`[Uncaught exception in the code: ${briefly(error)}]`),
);

/** The output of a shell command is for a program. @param {Audience} audience @param {string} code */
async function printNotices(audience, code) {
  await downloads.settle();
  const notices = activity.takeNotices(
    (text) => code.includes(text) || output.includes(secrets.mask(text)),
  );
  if (audience === 'agent') {
    notices.forEach((notice) => output.line(`[${notice}]`));
  }
}

/** @type {BrowserContext | undefined} */
let watched;

/** @param {BrowserContext} context */
function watch(context) {
  if (watched !== context) {
    watched = context;
    watchers.forEach((watcher) => watcher.watch(context));
  }
}

/** @type {Record<string, (request: any) => Promise<Reply>>} */
const handlers = {
  /** @param {{ url: string, name: string, identity: string, target: string | null, secrets: Record<string, string>, files: string }} request */
  async connect({ url, name, identity, target, secrets: values, files: folder }) {
    secrets.set(values);
    files.folder = folder;
    token = new URL(url).searchParams.get('token') ?? undefined;
    let previous;
    try {
      previous = await link.connect({ url, name, identity, target });
      watch(link.context);
    } catch (error) {
      const { message } = /** @type {Error} */ (error);
      const [cause = ''] = message.split('\nCall log');
      return { error: { kind: connectErrorKind(message), message: cause } };
    }
    try {
      if (previous) {
        await scope.rebind(previous);
      }
    } catch (error) {
      // Connected anyway, whatever `state` contains.
      output.line(`[Objects of the earlier connection in \`state\` are stale: ${briefly(error)}]`);
    }
    return { ok: {} };
  },

  /** @param {{ code: string, audience: Audience } & Limits} request */
  async execute({ code, audience, ...limits }) {
    output.begin(limits.outputLimit, limits.imageLimit);
    activity.begin();
    try {
      await scope.run(code, limits);
      if (link.hasCrashed) {
        output.line(`[${textFor(audience, CRASHED)}]`);
      }
      await printNotices(audience, code);
      output.assertComplete();
      return { ok: output.end() };
    } catch (error) {
      const condition = { lost: await link.lost(), hasCrashed: link.hasCrashed };
      const closest = condition.lost ? [] : await scope.closestMatches(error);
      const failure = explain(error, code, audience, { ...condition, closest });
      const message = output.truncateError(failure.message);
      await printNotices(audience, code);
      return { ok: output.end(), error: { ...failure, message } };
    }
  },

  async tabs() {
    const tabs = await link.tabs();
    return { ok: { tabs: tabs.map((tab) => ({ ...tab, line: describeTab(tab, secrets.mask) })) } };
  },

  /** @param {{ tab: string }} request */
  async use({ tab: name }) {
    const tabs = await link.tabs();
    const matches = findTabs(tabs, name);
    const [match] = matches;
    if (!match || matches.length > 1) {
      return { error: { kind: 'no-such-tab', message: describeMatches(tabs, matches, name) } };
    }
    link.page = link.pageOf(match.target);
    return { ok: {} };
  },

  async release() {
    await link.release();
    return { ok: {} };
  },

  /** @param {{ targets: string[] }} request */
  async close({ targets }) {
    await Promise.allSettled(targets.map((target) => link.pageOf(target)?.close()));
    return { ok: {} };
  },
};

/** @param {string} message */
function connectErrorKind(message) {
  if (/ 409 /.test(message)) {
    return 'busy';
  }
  if (/ 401 /.test(message)) {
    return 'unauthorized';
  }
  return /No browser connected/.test(message) ? 'no-extension' : 'connect';
}

/**
 * Finds tabs by what a shell user calls them: an index, a target id, or a part of the URL or title. An empty name matches
 * all tabs.
 * @param {Tab[]} tabs
 * @param {string} name
 */
function findTabs(tabs, name) {
  const exact = tabs.filter(({ index, target }) => String(index) === name || target === name);
  const contains = (/** @type {Tab} */ { url, title }) =>
    `${url}\n${title}`.toLowerCase().includes(name.toLowerCase());
  return exact.length > 0 ? exact : tabs.filter(contains);
}

/**
 * @param {Tab[]} tabs
 * @param {Tab[]} matches
 * @param {string} name
 */
function describeMatches(tabs, matches, name) {
  const list = (/** @type {Tab[]} */ listed) =>
    listed
      .slice(0, MAX_LISTED_TABS)
      .map((tab) => describeTab(tab, secrets.mask))
      .join('\n');
  if (matches.length === 0) {
    return `No tab matches '${name}'. Open tabs:\n${list(tabs)}`;
  }
  const count = `${matches.length} tabs`;
  return `${name ? `'${name}' matches ${count}` : `There are ${count}`}:\n${list(matches)}`;
}

// While the code loops, this thread cannot notice that the server is gone. Another thread can.
new Worker(new URL('./orphan.mjs', import.meta.url), {
  workerData: { parent: process.ppid },
}).unref();

const lines = readline.createInterface({ input: process.stdin });
// The server waits for each reply before it ends the worker. If it has gone without that, nobody wants one.
lines.once('close', () => process.exit());

for await (const line of lines) {
  const request = JSON.parse(line);
  /** @type {Reply} */
  let reply;
  try {
    reply = (await handlers[request.do]?.(request)) ?? {
      error: { kind: 'runner', message: `unknown request '${request.do}'` },
    };
  } catch (error) {
    reply = { error: { kind: 'runner', message: truncate(secrets.mask(show(error)), 2_000) } };
  }
  send({ id: request.id, ...reply });
}
