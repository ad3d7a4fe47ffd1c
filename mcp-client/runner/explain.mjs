/** Makes of an error what an agent can use: what happened, where in its code, and the next step. */

import util from 'node:util';

import { CodeError, FILE } from './compile.mjs';
import { beginning } from './output.mjs';

export const AFTER_CRASH =
  'Go on in a new one: `const url = page.url(); page = await context.newPage(); await page.goto(url)`.';

/** How much of an error's words is looked through for what to do next. */
const MATCHED = 100_000;

/** What to do next when something of the way to the browser has gone, whatever the error says of it. */
const LOST = {
  connection:
    'The connection to the browser was lost, and what was under way may have happened. Call again: `page` and `state` are kept.',
  browser:
    'The browser has gone, and what was under way may have happened. Ask the person to open it, then call again.',
};

/** What to do next, by what the error says. The first that fits. */
const NEXT = [
  [
    /refs of the last snapshot|waiting for locator\('aria-ref=|waiting for getByRef|Ref .* not found|Invalid frame in aria-ref/,
    'Refs are of the latest snapshot only: take a new `snapshot()`, and use its refs.',
  ],
  [
    /did not respond for/,
    'The page is busy or hung: use another tab, or ask the person to look at it.',
  ],
  [
    /outcome (is )?unknown/i,
    'It may or may not have happened: look with `snapshot()` before you do it again.',
  ],
  [
    /Another debugger/,
    'DevTools or another tool is open on that tab: ask the person to close it, or use another tab.',
  ],
  [/Target crashed|Page crashed|page has crashed/, `The page has crashed. ${AFTER_CRASH}`],
  [
    /has been closed|Target closed|Session closed/,
    'That tab is gone, or the object is of an earlier connection: `page = pages()[i]` takes an open one, `page = await context.newPage()` a new one; find elements anew.',
  ],
  [
    /Execution context was destroyed/,
    'The page went elsewhere while this ran, or has not answered for long: look with `snapshot()`, then go on.',
  ],
  [/strict mode violation/, 'Several elements match: narrow the locator, or take `.first()`.'],
  [
    /ERR_ABORTED at data:/,
    'Chrome lets no extension open a `data:` address: use `page.setContent()`.',
  ],
  [/net::ERR_/, 'The address could not be loaded: check it.'],
  [
    /page\.goto: Timeout|page\.waitForLoadState: Timeout|page\.reload: Timeout/,
    "The page does not finish loading. It may be usable: look with `snapshot()`; or wait for less: `{ waitUntil: 'commit' }`.",
  ],
  [
    /page\.(ariaSnapshot|screenshot)\w*: Timeout/,
    'The page does not answer: it is busy, or shows a dialog. Use another tab, or ask the person to look at it.',
  ],
  [
    /intercepts pointer events/,
    'Something covers the element: `screenshot()` shows it. Close it first.',
  ],
  [/Timeout [\d.]+ms exceeded/, 'It was not there in time: `snapshot()` shows what is.'],
  [
    / is not defined$/m,
    'In scope: page, context, browser, state, pages(), snapshot(), screenshot(), console. Variables of earlier calls are gone; `state` is kept.',
  ],
  [/wasn't found/, "Chrome gives extensions no such command: use Playwright's own methods."],
  [/^/, 'Correct the code and call again. What it did before this is done.'],
];

/**
 * @param {any} error whatever was thrown
 * @param {string} code
 * @param {{ lost?: 'connection' | 'browser', hasCrashed: boolean }} now how the browser and the page in use are
 * @returns {{ kind: string, message: string, next: string }}
 */
export function explain(error, code, { lost, hasCrashed }) {
  if (attempt(() => error instanceof CodeError)) {
    return {
      kind: 'syntax',
      message: `SyntaxError: ${error.message}`,
      next: 'Nothing was run: correct it and call again.',
    };
  }
  const words = wordsOf(error);
  const matched = beginning(words, MATCHED);
  const said = NEXT.find(([pattern]) => pattern.test(matched))[1];
  const next = LOST[lost] ?? (hasCrashed ? `The page has crashed. ${AFTER_CRASH}` : said);
  return {
    kind: attempt(() => /Timeout/.test(error.name)) ? 'playwright-timeout' : 'code',
    message: words + where(error, code),
    next,
  };
}

/** What happened, and where in the code. */
export const describe = (error, code) => wordsOf(error) + where(error, code);

/** Reads something of what was thrown; nothing, if that throws in turn, as getters and proxies of the code's may. */
function attempt(read) {
  try {
    return read();
  } catch {
    return undefined;
  }
}

function wordsOf(error) {
  const isError = attempt(() => typeof error === 'object' && error !== null && 'message' in error);
  const said = isError
    ? attempt(() => `${String(error.name ?? 'Error')}: ${String(error.message)}`)
    : undefined;
  const text =
    said ?? attempt(() => `thrown: ${util.inspect(error)}`) ?? 'thrown: what cannot be described';
  return util
    .stripVTControlCharacters(text)
    .replace(/^Error: (\w+(\.\w+)*: )/, '$1')
    .trimEnd();
}

/** The line of the code that the error came from. */
function where(error, code) {
  const place = attempt(() => new RegExp(`${FILE.replace('.', '\\.')}:(\\d+)`).exec(error.stack));
  const line = place ? code.split('\n')[Number(place[1]) - 1] : undefined;
  return line ? `\nat line ${place[1]}: ${beginning(line.trim(), 200)}` : '';
}
