/**
 * Turns whatever the code threw into an error that helps its reader: what happened, where in the code, and what to do
 * next. It never throws itself, even if the value does when it is read.
 */

import util from 'node:util';

import { CodeError, FILE } from './compile.mjs';
import { truncate } from './output.mjs';

/** @typedef {{ kind: string, message: string, next?: string }} Failure */

/**
 * Who reads the error. An agent calls again, keeps its `page` and `state`, and asks the user for anything outside of the
 * browser. A shell user starts a new run.
 * @typedef {'agent' | 'shellUser'} Audience
 */

/**
 * What to do next: the same for everyone, or a text for each audience.
 * @typedef {string | Record<Audience, string>} Remedy
 */

/** @type {Remedy} */
export const CRASHED = {
  agent:
    'The page crashed. Continue in a new tab: `const url = page.url(); page = await context.newPage(); await page.goto(url)`.',
  shellUser: 'The page crashed. Reload it, or use another tab.',
};

/** How much of an error message is searched for a known cause. */
const MAX_SEARCHED = 100_000;

/**
 * What to do when part of the path to the browser is lost. This takes precedence over the error's own text.
 * @type {Record<'connection' | 'browser', Remedy>}
 */
const LOST = {
  connection: {
    agent:
      'The connection to the browser was lost, and what was in flight may have taken effect. Call again: `page` and `state` are kept.',
    shellUser:
      'The connection to the browser was lost, and what was in flight may have taken effect. Run `tabwire status` to check the connection, then try again.',
  },
  browser: {
    agent:
      'The browser disconnected, and what was in flight may have taken effect. Ask the user to open it, then call again.',
    shellUser:
      'The browser disconnected, and what was in flight may have taken effect. Open it, then try again.',
  },
};

/**
 * What to do, by the text of the error. The first match counts.
 * @type {[RegExp, Remedy][]}
 */
const REMEDIES = [
  [
    /The person stopped this/,
    {
      agent:
        'Stop here, and do not try again or another way. Tell the user what you were doing, and ask whether to go on. They allow it with Resume in the Tabwire popup; then call again: `page` and `state` are kept.',
      shellUser: 'To go on, choose Resume in the Tabwire popup.',
    },
  ],
  [
    /detached by the person/,
    {
      agent:
        'The user took this tab back. Ask them before you use it again; if they agree, they choose *Pause agents* and then *Resume* in the popup of the Tabwire extension. Other tabs are usable: `page = pages()[i]`, or a new one (`page = await context.newPage()`).',
      shellUser: 'You released this tab in the popup. Run the command again to use it.',
    },
  ],
  [
    /refs of the last snapshot|Ref \w+ (\(.*\) )?is (gone|in no)|Invalid frame in aria-ref/,
    {
      agent:
        'Refs are valid as long as their elements exist. Call `snapshot()` and use its refs, or one of those named here.',
      shellUser:
        'Refs are valid only after `snapshot()` in the same run. Call it first, or use another locator.',
    },
  ],
  [
    /did not respond for/,
    {
      agent: 'The page is busy or hung. Use another tab, or ask the user to check this one.',
      shellUser: 'The page is busy or hung. Check it, or use another tab.',
    },
  ],
  [
    /outcome (is )?unknown/i,
    {
      agent: 'It may or may not have taken effect. Call `snapshot()` to check before you retry.',
      shellUser: 'It may or may not have taken effect. Check the page before you try again.',
    },
  ],
  [
    /Another debugger/,
    {
      agent:
        'Use another tab, or ask the user to reload the Tabwire extension at chrome://extensions.',
      shellUser: 'Reload the Tabwire extension at chrome://extensions, or use another tab.',
    },
  ],
  [
    /Cannot attach to this target\.|restricted by policy/,
    {
      agent:
        'A policy of this browser may forbid it. Use another tab, or ask the user to run `tabwire doctor`.',
      shellUser: 'A policy of this browser may forbid it. Run `tabwire doctor` to find out.',
    },
  ],
  [/Target crashed|Page crashed|page has crashed/, CRASHED],
  [
    /has been closed|Target closed|Session closed/,
    {
      agent:
        'The tab was closed, or this object is from an earlier connection. Use an open tab (`page = pages()[i]`) or a new one (`page = await context.newPage()`), and locate elements again.',
      shellUser:
        'The tab was closed. Use an open tab (`page = pages()[i]`) or a new one (`page = await context.newPage()`).',
    },
  ],
  [
    /Execution context was destroyed/,
    {
      agent:
        'The page navigated while this ran, or did not respond for too long. Call `snapshot()` to see the page, then continue.',
      shellUser:
        'The page navigated while this ran, or did not respond for too long. Wait for the page first, for example with `page.waitForURL()`.',
    },
  ],
  [
    /strict mode violation/,
    'Several elements match. Make the locator more specific, or add `.first()`.',
  ],
  [
    /ERR_ABORTED at data:|open a data: address/,
    'Chrome does not let extensions open `data:` URLs. Use `page.setContent()`.',
  ],
  [/net::ERR_/, 'The URL could not be loaded. Check it.'],
  [
    /page\.goto: Timeout|page\.waitForLoadState: Timeout|page\.reload: Timeout/,
    {
      agent:
        "The page did not finish loading. It may be usable: call `snapshot()` to see it, or pass `{ waitUntil: 'commit' }`.",
      shellUser:
        "The page did not finish loading. If it is usable anyway, pass `{ waitUntil: 'commit' }`.",
    },
  ],
  [
    /page\.(ariaSnapshot|screenshot)\w*: Timeout/,
    {
      agent:
        'The page does not respond: it is busy or shows a dialog. Use another tab, or ask the user to check this one.',
      shellUser:
        'The page does not respond: it is busy or shows a dialog. Check it, or use another tab.',
    },
  ],
  [
    /intercepts pointer events/,
    'Another element covers this one. Call `screenshot()` to see it, and close it first.',
  ],
  [/element is not enabled/, 'The element is disabled. Do first what enables it.'],
  [
    /element is not editable/,
    'The element is read-only or disabled. Do first what makes it editable.',
  ],
  [
    /element is not visible/,
    'The element is on the page but hidden. Open what contains it first, or use another match.',
  ],
  [
    /Timeout [\d.]+ms exceeded/,
    {
      agent: 'Timed out. Call `snapshot()` to see the page.',
      shellUser: 'Timed out. Print `await snapshot()` before this step to see the page.',
    },
  ],
  [
    / is not defined$/m,
    {
      agent:
        'In scope: page, context, browser, state, pages(), snapshot(), screenshot() and more: help() lists all. Variables from earlier calls are gone; `state` is kept.',
      shellUser:
        'In scope: page, context, browser, pages(), snapshot(), screenshot() and more: help() lists all. Nothing is kept from earlier runs.',
    },
  ],
  [
    /wasn't found/,
    "Chrome does not offer this command to extensions. Use Playwright's own methods.",
  ],
];

/** @type {Remedy} */
const NOTHING_WAS_RUN = {
  agent: 'Nothing was run. Fix the code and call again.',
  shellUser: 'Nothing was run. Fix the code and try again.',
};

/** @type {Remedy} */
const FIX_THE_CODE = {
  agent: 'Fix the code and call again. What it did before the error is not undone.',
  shellUser: 'Fix the code and try again. What it did before the error is not undone.',
};

/**
 * @param {any} error whatever was thrown
 * @param {string} code
 * @param {Audience} audience
 * @param {{ lost?: 'connection' | 'browser', hasCrashed: boolean, closest?: string[] }} condition of the browser and of the page in use; `closest`: what is most like an element that was not found
 * @returns {Failure}
 */
export function explain(error, code, audience, { lost, hasCrashed, closest = [] }) {
  if (attempt(() => error instanceof CodeError)) {
    return {
      kind: 'syntax',
      message: `SyntaxError: ${error.message}`,
      next: textFor(audience, NOTHING_WAS_RUN),
    };
  }
  const message = messageOf(error);
  const remedy = lost ? LOST[lost] : hasCrashed ? CRASHED : remedyFor(message);
  const closestLine = closest.length > 0 ? `\nClosest on the page: ${closest.join(', ')}` : '';
  return {
    kind: attempt(() => /Timeout/.test(error.name)) ? 'playwright-timeout' : 'code',
    message: message + location(error, code) + closestLine,
    next: textFor(audience, remedy),
  };
}

/**
 * @param {Audience} audience
 * @param {Remedy} remedy
 */
export const textFor = (audience, remedy) =>
  typeof remedy === 'string' ? remedy : remedy[audience];

/** @param {string} message */
function remedyFor(message) {
  const searched = truncate(message, MAX_SEARCHED);
  return REMEDIES.find(([pattern]) => pattern.test(searched))?.[1] ?? FIX_THE_CODE;
}

/**
 * Returns the result of `read`, or nothing if it throws, as getters and proxies of the code may.
 * @template T
 * @param {() => T} read
 */
function attempt(read) {
  try {
    return read();
  } catch {
    return undefined;
  }
}

/**
 * A message for any thrown value, even one that resists being read.
 * @param {any} error
 */
export function messageOf(error) {
  const isError = attempt(() => typeof error === 'object' && error !== null && 'message' in error);
  const message = isError
    ? attempt(() => `${String(error.name ?? 'Error')}: ${String(error.message)}`)
    : undefined;
  const text =
    message ??
    attempt(() => `thrown: ${util.inspect(error)}`) ??
    'thrown: a value that cannot be shown';
  return util
    .stripVTControlCharacters(text)
    .replace(/^Error: (\w+(\.\w+)*: )/, '$1')
    .trimEnd();
}

/**
 * The line of the code that threw the error.
 * @param {any} error
 * @param {string} code
 */
function location(error, code) {
  const frame = new RegExp(`${FILE.replace('.', '\\.')}:(\\d+)`);
  const [, number] = attempt(() => frame.exec(error.stack)) ?? [];
  const line = number ? code.split('\n')[Number(number) - 1] : undefined;
  return line ? `\nat line ${number}: ${truncate(line.trim(), 200)}` : '';
}
