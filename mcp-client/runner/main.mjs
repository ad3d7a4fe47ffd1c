/**
 * The worker of `tabwire mcp`: runs an agent's code with Playwright. The server starts it, gives it requests as JSON lines
 * on stdin, one at a time, and ends it when code does not end. Answers and events are JSON lines on stdout.
 *
 *   → {id, do: "connect", url, target}     ← {id, ok} or {id, error: {kind, message, next}}
 *   → {id, do: "execute", code, …}         ← {event: "output", text} as it comes, then {id, ok: {text, images}, error?}
 *   → {id, do: "tabs" | "use" | "close" | "release", …}
 *   ← {event: "page", target}              whenever another page is in use
 *   ← {event: "opened", target}            a tab that the code did not ask for by name
 */

import fs from 'node:fs';
import readline from 'node:readline';
import { Worker } from 'node:worker_threads';

import { BrowserLink } from './browser_link.mjs';
import { AFTER_CRASH, describe, explain } from './explain.mjs';
import { Output, beginning, show } from './output.mjs';
import { Scope, describeTab } from './scope.mjs';

/** The secret of the address that was connected to last; nothing that leaves here may hold it. */
let secret;

function send(message) {
  // Half a character is no text to the server, which would understand nothing of it.
  const text = JSON.stringify(message, (_, value) =>
    typeof value === 'string' ? value.toWellFormed() : value,
  );
  let rest = Buffer.from(`${secret ? text.replaceAll(secret, '…') : text}\n`);
  // Written at once, whatever the code does next: a loop that never ends must not keep its last words.
  while (rest.length > 0) {
    rest = rest.subarray(writeSome(rest));
  }
}

function writeSome(bytes) {
  try {
    return fs.writeSync(1, bytes);
  } catch (error) {
    if (error.code !== 'EAGAIN') {
      throw error;
    }
    // The server has not read yet what is in the pipe.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
    return 0;
  }
}

const output = new Output((text) => send({ event: 'output', text }));
const link = new BrowserLink(send);
const scope = new Scope(link, output);

/** What the code left behind and nobody waits for; it is told of and ends nothing. */
const leftBehind = (what) => (error) =>
  output.line(`[${what}, left behind by the code: ${beginning(describe(error, ''), 500)}]`);
process.on('unhandledRejection', leftBehind('a promise was rejected'));
process.on('uncaughtException', leftBehind('an error was thrown'));

const requests = {
  async connect({ url, target }) {
    secret = new URL(url).searchParams.get('token') ?? undefined;
    const old = { browser: link.browser, context: link.context };
    try {
      if (!(await link.connect({ url, target })) || !old.browser) {
        return { ok: {} };
      }
    } catch (error) {
      return {
        error: { kind: connectFault(error.message), message: error.message.split('\nCall log')[0] },
      };
    }
    // The browser is there, whatever the state holds.
    await scope
      .renew(old)
      .catch((error) =>
        output.line(
          `[What the state holds of the former connection is not good any more: ${beginning(describe(error, ''), 500)}]`,
        ),
      );
    return { ok: {} };
  },

  async execute({ code, timeoutMs, outputLimit, imageLimit }) {
    output.begin(outputLimit, imageLimit);
    try {
      await scope.run(code, { timeoutMs, imageLimit });
      if (link.hasCrashed) {
        output.line(`[The page has crashed. ${AFTER_CRASH}]`);
      }
      output.check();
      return { ok: output.end() };
    } catch (error) {
      const failure = explain(error, code, {
        lost: await link.lost(),
        hasCrashed: link.hasCrashed,
      });
      return { ok: output.end(), error: { ...failure, message: output.cut(failure.message) } };
    }
  },

  async tabs() {
    const tabs = await link.tabs();
    return { ok: { tabs: tabs.map((tab) => ({ ...tab, line: describeTab(tab) })) } };
  },

  /** Takes a tab into use, named as a person would: its number, its target id, or a part of its address or title; nothing, if it is the only one. */
  async use({ tab }) {
    const tabs = await link.tabs();
    const fits = (known) => String(known.index) === tab || known.target === tab;
    const contains = (known) =>
      `${known.url}\n${known.title}`.toLowerCase().includes(tab.toLowerCase());
    const exact = tabs.filter(fits);
    const found = exact.length > 0 ? exact : tabs.filter(contains);
    if (found.length !== 1) {
      const what =
        found.length === 0
          ? `no tab is '${tab}'`
          : `${tab ? `'${tab}' fits` : 'there are'} ${found.length} tabs`;
      return {
        error: {
          kind: 'no-such-tab',
          message: `${what}:\n${(found.length ? found : tabs).slice(0, 20).map(describeTab).join('\n')}`,
        },
      };
    }
    link.page = link.pageOf(found[0].target);
    return { ok: {} };
  },

  async release() {
    await link.release();
    return { ok: {} };
  },

  async close({ targets }) {
    await Promise.allSettled(targets.map((target) => link.pageOf(target)?.close()));
    return { ok: {} };
  },
};

function connectFault(message) {
  if (/ 409 /.test(message)) {
    return 'busy';
  }
  if (/ 401 /.test(message)) {
    return 'unauthorized';
  }
  return /No browser connected/.test(message) ? 'no-extension' : 'connect';
}

// A loop in the code keeps this thread from seeing that the server is gone; another thread sees it.
new Worker(new URL('./orphan.mjs', import.meta.url), {
  workerData: { parent: process.ppid },
}).unref();

for await (const line of readline.createInterface({ input: process.stdin })) {
  const request = JSON.parse(line);
  const reply = await requests[request.do](request).catch((error) => ({
    error: { kind: 'runner', message: beginning(show(error), 2_000) },
  }));
  send({ id: request.id, ...reply });
}
process.exit();
