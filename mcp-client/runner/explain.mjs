/** Makes of an error what an agent can use: what happened, where in its code, and the next step. */

import util from 'node:util';

import { CodeError, FILE } from './compile.mjs';

/** What to do next, by what the error says. The first that fits. */
const NEXT = [
  [/waiting for locator\('aria-ref=|waiting for getByRef|Ref .* not found/, 'Refs are of the latest snapshot only: take a new `snapshot()`, and use its refs.'],
  [/No browser is connected|extension is not there/, 'The browser or its extension has gone. Ask the person to open it, then call again.'],
  [/outcome unknown/i, 'The browser went away while this ran, so it may or may not have happened: look with `snapshot()` before you do it again.'],
  [/Another debugger/, 'DevTools or another tool is open on that tab: ask the person to close it, or use another tab.'],
  [/Target (page|crashed)|has been closed|Target closed|Session closed/, 'That tab is gone. `pages()` lists the open ones: `page = pages()[i]`, or `page = await context.newPage()`.'],
  [/Execution context was destroyed/, 'The page went elsewhere while this ran: look with `snapshot()`, then go on.'],
  [/strict mode violation/, 'Several elements match: narrow the locator, or take `.first()`.'],
  [/ERR_ABORTED at data:/, 'Chrome lets no extension open a `data:` address: use `page.setContent()`.'],
  [/net::ERR_/, 'The address could not be loaded: check it.'],
  [/page\.goto: Timeout|page\.waitForLoadState: Timeout|page\.reload: Timeout/, "The page does not finish loading. It may be usable: look with `snapshot()`; or wait for less: `{ waitUntil: 'commit' }`."],
  [/intercepts pointer events/, 'Something covers the element: `screenshot()` shows it. Close it first.'],
  [/Timeout \d+ms exceeded/, 'It was not there in time: `snapshot()` shows what is.'],
  [/is not defined$/m, 'In scope: page, context, browser, state, pages(), snapshot(), screenshot(), console. Variables of earlier calls are gone; `state` is kept.'],
];

/**
 * @param {any} error whatever was thrown
 * @param {string} code
 * @returns {{ kind: string, message: string, next?: string }}
 */
export function explain(error, code) {
  if (error instanceof CodeError) {
    return { kind: 'syntax', message: `SyntaxError: ${error.message}`, next: 'Nothing was run.' };
  }
  const isError = typeof error === 'object' && error !== null && 'message' in error;
  const text = util.stripVTControlCharacters(isError ? `${error.name ?? 'Error'}: ${error.message}` : `thrown: ${util.inspect(error)}`);
  const message = text.replace(/^Error: (\w+(\.\w+)*: )/, '$1').trimEnd() + where(error, code);
  const next = NEXT.find(([pattern]) => pattern.test(text))?.[1];
  return { kind: /Timeout/.test(error?.name ?? '') ? 'playwright-timeout' : 'code', message, next };
}

/** The line of the code that the error came from. */
function where(error, code) {
  const place = new RegExp(`${FILE.replace('.', '\\.')}:(\\d+)`).exec(error?.stack ?? '');
  const line = place ? code.split('\n')[Number(place[1]) - 1] : undefined;
  return line ?  `\nat line ${place[1]}: ${line.trim().slice(0, 200)}` : '';
}
