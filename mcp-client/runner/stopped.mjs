/**
 * Playwright waits for a tab to close even if the browser refuses to close it, as it does while the user has stopped all
 * agents. The same happens when a new tab cannot be used: Playwright closes it first. Here such calls end with the reason.
 */

/** @import { Browser, CDPSession } from 'playwright-core' */

import { setTimeout as delay } from 'node:timers/promises';

import { targetIdOf } from './internals.mjs';

/** Both take less than this in a browser that is not busy. */
const PATIENCE_MS = 500;
const STOPPED = /The person stopped this\.[^\n]*/;

/** @type {WeakMap<Browser, Promise<CDPSession>>} */
const sessions = new WeakMap();

/** Throws if the user has stopped all agents. @param {Browser | null} browser */
export async function checkNotStopped(browser) {
  const page = browser?.contexts()[0]?.pages().at(-1);
  const targetId = page && targetIdOf(page);
  if (!browser?.isConnected() || targetId === undefined) {
    return;
  }
  const session = sessions.get(browser) ?? browser.newBrowserCDPSession();
  sessions.set(browser, session);
  try {
    // Changes nothing in the browser, and is refused like everything else.
    await (await session).send('Browser.getWindowForTarget', { targetId });
  } catch (error) {
    const [reason] = STOPPED.exec(String(error)) ?? [];
    if (reason) {
      throw new Error(reason);
    }
  }
}

/**
 * Waits for a call, but not longer than the user allows.
 * @template T
 * @param {Browser | null} browser
 * @param {Promise<T>} call
 * @returns {Promise<T>}
 */
export async function unlessStopped(browser, call) {
  const ended = call.then((value) => ({ value }));
  // Nobody waits for it any more if the user stops it.
  ended.catch(() => {});
  for (;;) {
    const result = await Promise.race([ended, delay(PATIENCE_MS)]);
    if (result) {
      return result.value;
    }
    await checkNotStopped(browser);
  }
}
