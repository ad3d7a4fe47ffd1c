/**
 * Everything that the runner uses of Playwright beyond its public API; no other file may go beyond it. The API cannot
 * identify a page's tab without waking it, move a locator to a new connection, set or keep the refs of a snapshot, or see
 * that a ref is used or the mouse is pressed.
 * Playwright's version is pinned, and tests cover each function here.
 */

/** @import { Browser, Frame, FrameLocator, Locator, Page } from 'playwright-core' */

import util from 'node:util';

import { chromium } from 'playwright-core';

/**
 * The implementation of an API object, or nothing if it has been disposed.
 * @param {any} object
 */
function implementationOf(object) {
  try {
    return object._connection.toImpl(object);
  } catch {
    return undefined;
  }
}

/**
 * Read from the page and not from its main frame: if a page does not respond, its main frame is only a placeholder.
 * @param {Page} page
 * @returns {string | undefined}
 */
export const targetIdOf = (page) => implementationOf(page)?.delegate._targetId;

/**
 * @param {Frame} frame
 * @returns {string | undefined}
 */
export const frameIdOf = (frame) => implementationOf(frame)?._id;

/**
 * The frame in which a locator or frame locator starts, or nothing if `value` is neither.
 * @param {any} value
 * @returns {Frame | undefined}
 */
export const frameOfLocator = (value) =>
  typeof (value?._selector ?? value?._frameSelector) === 'string' ? value._frame : undefined;

/** The selector of a locator. @param {any} locator @returns {string} */
export const selectorOf = (locator) => locator._selector;

/**
 * The same locator in another frame.
 * @param {Frame} frame
 * @param {any} locator
 * @returns {Locator | FrameLocator}
 */
export const locatorIn = (frame, { _selector, _frameSelector }) =>
  _selector === undefined ? frame.frameLocator(_frameSelector) : frame.locator(_selector);

/**
 * The prefix of all refs in a frame.
 * @param {Frame} frame
 */
export function refPrefixOf(frame) {
  const { seq } = implementationOf(frame);
  return seq ? `f${seq}` : '';
}

/**
 * Changes the refs of elements in a frame.
 * @param {Frame} frame
 * @param {[current: string, wanted: string][]} pairs
 */
export async function renameRefs(frame, pairs) {
  await evaluateInPlaywright(frame, renameInPage, pairs);
}

/**
 * Leaves no ref of a frame valid, and uses only higher numbers from now on.
 * @param {Frame} frame
 * @param {number} highest
 */
export async function dropRefs(frame, highest) {
  await evaluateInPlaywright(frame, dropInPage, highest);
}

/**
 * Runs a function in the frame with Playwright's own script as first argument.
 * @param {Frame} frame
 * @param {(injected: any, argument: any) => void} run
 * @param {unknown} [argument]
 */
async function evaluateInPlaywright(frame, run, argument) {
  const utility = await implementationOf(frame)?.utilityContext();
  const injected = await utility?.injectedScript();
  await injected?.evaluate(run, argument);
}

/**
 * Runs in the page, so it may not use anything outside of this function.
 * @param {any} injected
 * @param {[current: string, wanted: string][]} pairs
 */
function renameInPage(injected, pairs) {
  /** @returns {Map<string, any>} */
  const infoByRef = () => injected._lastAriaSnapshotForQuery.info;
  const takeSnapshot = () =>
    injected.ariaSnapshotJSON(document.querySelector('body,frameset'), { mode: 'ai' });
  /** @type {(ref: string) => number} */
  const numberOf = (ref) => Number(/** @type {RegExpExecArray} */ (/\d+$/.exec(ref))[0]);
  const lowest = () =>
    [...infoByRef().keys()].reduce((least, ref) => Math.min(least, numberOf(ref)), Infinity);
  const highest = pairs.reduce((most, [, wanted]) => Math.max(most, numberOf(wanted)), 0);
  /** @type {[element: any, ref: string][]} */
  const renamed = pairs.map(([current, wanted]) => [infoByRef().get(current).element, wanted]);
  // Playwright only counts up. Let it renumber the page until all numbers are above those about to be restored, so that
  // it cannot hand out one of them again.
  for (let round = 0; lowest() <= highest; round += 1) {
    if (round === 100) {
      throw new Error('The text of the page contains something that looks like a ref.');
    }
    infoByRef().forEach(({ element }) => delete element._ariaRef);
    takeSnapshot();
  }
  renamed.forEach(([element, ref]) => (element._ariaRef.ref = ref));
  takeSnapshot();
}

/**
 * Runs in the page, so it may not use anything outside of this function.
 * @param {any} injected
 * @param {number} highest
 */
function dropInPage(injected, highest) {
  const info = () => /** @type {Map<string, any>} */ (injected._lastAriaSnapshotForQuery.info);
  const lowest = () =>
    [...info().keys()].reduce((least, ref) => Math.min(least, Number(/\d+$/.exec(ref))), Infinity);
  // Playwright only counts up. Let it number the page again and again until it has passed all numbers in use.
  do {
    injected.ariaSnapshotJSON(document.querySelector('body,frameset'), { mode: 'ai' });
    info().forEach(({ element }) => delete element._ariaRef);
  } while (lowest() <= highest);
  info().clear();
}

/**
 * Keeps refs valid for as long as their elements exist. Playwright knows only those of the latest snapshot, and gives an
 * element a new ref when its name changes.
 * @param {Frame} frame
 */
export async function keepRefs(frame) {
  await evaluateInPlaywright(frame, keepInPage);
}

/**
 * Runs in the page, so it may not use anything outside of this function.
 * @param {any} injected
 */
function keepInPage(injected) {
  if (injected.keptRefs) {
    return;
  }
  /** @type {Map<string, WeakRef<Element>>} */
  const kept = new Map();
  const keep = () =>
    injected._lastAriaSnapshotForQuery?.info.forEach(
      (/** @type {{ element: Element }} */ { element }, /** @type {string} */ ref) =>
        kept.set(ref, new WeakRef(element)),
    );
  const takeSnapshot = injected.ariaSnapshotJSON.bind(injected);
  injected.ariaSnapshotJSON = (/** @type {any[]} */ ...args) => {
    const taken = takeSnapshot(...args);
    keep();
    return taken;
  };
  injected._engines.set('aria-ref', {
    queryAll: (/** @type {unknown} */ _root, /** @type {string} */ ref) => {
      const element = kept.get(ref)?.deref();
      return element?.isConnected ? [element] : [];
    },
  });
  injected.keptRefs = kept;
  keep();
}

/** Methods that do not wait for an element. */
const DO_NOT_WAIT = new Set([
  'resolveSelector',
  'queryCount',
  'isVisible',
  'isHidden',
  'querySelector',
  'querySelectorAll',
]);

/** A selector that starts with a ref, or one that agents take for a ref, such as `e5` or `[ref=e5]`. */
const REF =
  /^(?:aria-ref=(?<ref>\w+)|(?:@|ref=|\[(?:aria-)?ref=["']?)?(?<meant>(?:f\d+)?e\d+)(?:["']?\])?$)/;

/**
 * Calls `check` before every use of a selector that starts with a ref, or is meant to. If it throws, nothing is sent.
 * @param {(frame: Frame, refs: { ref?: string, meant?: string }) => Promise<void>} check
 */
export function beforeUseOfRef(check) {
  interceptCalls(async (object, method, params) => {
    const refs = REF.exec(params?.selector ?? '')?.groups;
    const isForPresent = !DO_NOT_WAIT.has(method) && !waitsForEnd(params);
    if (refs && object._type === 'Frame' && isForPresent) {
      await check(object, refs);
    }
    return params;
  });
}

/**
 * What a call of Playwright that timed out was looking for, if no element was found.
 * @type {WeakMap<object, { frame: Frame, selector: string }>}
 */
const notFound = new WeakMap();

/** @param {any} error @returns {{ frame: Frame, selector: string } | undefined} */
export const notFoundBy = (error) => (typeof error === 'object' ? notFound.get(error) : undefined);

/** From now on, remembers what was not found. */
export function rememberNotFound() {
  interceptSending(async (send, object, method, params, options) => {
    try {
      return await send(object, method, params, options);
    } catch (error) {
      const { name, message } = /** @type {Error} */ (error);
      const isMissing = name === 'TimeoutError' && !message.includes('resolved to');
      if (isMissing && object._type === 'Frame' && params?.selector && !waitsForEnd(params)) {
        notFound.set(/** @type {Error} */ (error), { frame: object, selector: params.selector });
      }
      throw error;
    }
  });
}

/** @param {any} params */
const waitsForEnd = (params) => params?.state === 'hidden' || params?.state === 'detached';

/**
 * Changes the parameters of calls on their way to the browser. If `change` throws, nothing is sent.
 * @param {(call: { type: string, method: string, params: any }) => any} change
 */
export function whenSent(change) {
  interceptCalls(async ({ _type: type }, method, params) => change({ type, method, params }));
}

/**
 * Calls a function with the point in the viewport whenever the mouse is pressed, or the screen touched, in a page.
 * @param {Page} page
 * @param {(point: { x: number, y: number }) => void} listener
 * @returns {() => void} ends that
 */
export function whenPressed(page, listener) {
  const { rawMouse, rawTouchscreen } = implementationOf(page)?.delegate ?? {};
  const ends = [
    [rawMouse, 'down'],
    [rawTouchscreen, 'tap'],
  ].map(([device, method]) => {
    const press = device?.[method];
    if (!press) {
      return () => {};
    }
    device[method] = (/** @type {any} */ progress, /** @type {any[]} */ ...[x, y, ...rest]) => {
      listener({ x, y });
      return press.call(device, progress, x, y, ...rest);
    };
    return () => delete device[method];
  });
  return () => ends.forEach((end) => end());
}

/**
 * Calls a function with the target id of each tab that is opened with `newPage`, also if the page cannot be used then and
 * `newPage` fails.
 * @param {Browser} browser
 * @param {(target: string) => void} listener
 */
export function whenOpened(browser, listener) {
  const session = implementationOf(browser)._session;
  const send = session.send.bind(session);
  session.send = async (/** @type {string} */ method, /** @type {any} */ params) => {
    const result = await send(method, params);
    if (method === 'Target.createTarget') {
      listener(result.targetId);
    }
    return result;
  };
}

/**
 * Lets a function decide about every call that closes a page.
 * @param {(page: Page, close: () => Promise<any>) => Promise<any>} around
 */
export function whenClosing(around) {
  interceptSending((send, object, method, ...rest) => {
    const isClose = object._type === 'Page' && method === 'close';
    const go = () => send(object, method, ...rest);
    return isClose ? around(object, go) : go();
  });
}

/** @param {(object: any, method: string, params: any) => Promise<any>} intercept returns the parameters to use */
function interceptCalls(intercept) {
  interceptSending(async (send, object, method, params, options) =>
    send(object, method, await intercept(object, method, params), options),
  );
}

/** @typedef {(object: any, method: string, params: any, options: any) => Promise<any>} Send */

/**
 * Every call of Playwright's API passes through one function of its connection.
 * @param {(send: Send, ...call: Parameters<Send>) => Promise<any>} around
 */
function interceptSending(around) {
  const connection = /** @type {any} */ (chromium)._connection;
  /** @type {Send} */
  const send = connection.sendMessageToServer.bind(connection);
  connection.sendMessageToServer = (/** @type {Parameters<Send>} */ ...call) =>
    around(send, ...call);
}

/**
 * Makes `util.inspect` print Playwright's objects as class name and URL, because their fields are many and private. All
 * of them extend one class, which is reached through an object of the API.
 */
export function shortenInspection() {
  const base = Object.getPrototypeOf(Object.getPrototypeOf(chromium));
  base[util.inspect.custom] = function describe() {
    const name = this.constructor.name.replace(/^_|\d+$/g, '');
    return typeof this.url === 'function' ? `${name} ${this.url()}` : name;
  };
}
