/**
 * After a reconnect, replaces Playwright objects of the earlier connection that the code has kept (browser, context, pages,
 * frames and locators) by those of the new one. Never runs code that is kept with them, such as getters.
 */

/** @import { BrowserLink, Connection } from './browser_link.mjs' */

import util from 'node:util';

import { isFrame, isPage } from './browser_link.mjs';
import { frameOfLocator, locatorIn } from './internals.mjs';
import { isPlain } from './output.mjs';

/** How many values are visited, those of the outermost objects first. More would delay the call. */
const MAX_VALUES = 1_000_000;

/**
 * Replaces the objects in `root`, and in everything that it holds.
 * @param {BrowserLink} link
 * @param {Connection} previous
 * @param {object} root
 */
export async function rebind(link, previous, root) {
  const { places, refills } = find(root, (value) => isBound(previous, value));
  for (const { holder, key, value } of places) {
    // An object that only looks like one of Playwright's stays as it is.
    const replacement = await counterpartOf(link, previous, value).catch(() => undefined);
    if (replacement) {
      // `Reflect.set` does not throw if the place is read-only.
      Reflect.set(holder, key, replacement);
    }
  }
  refills.forEach((refill) => refill());
}

/**
 * @param {Connection} previous
 * @param {any} value
 */
function isBound({ browser, context }, value) {
  try {
    return (
      value === browser ||
      value === context ||
      isPage(value) ||
      isFrame(value) ||
      isFrame(frameOfLocator(value))
    );
  } catch {
    return false; // The properties of an object of the code may throw.
  }
}

/** @typedef {{ holder: object, key: string, value: any }} Place */

/**
 * Finds the places of matching values in arrays, plain objects, Maps and Sets. Maps and Sets are searched as arrays and
 * refilled from them afterwards. Getters and proxies are skipped: they run code, which may throw or never end.
 * @param {object} root
 * @param {(value: any) => boolean} matches
 */
function find(root, matches) {
  /** @type {Place[]} */
  const places = [];
  /** @type {(() => void)[]} */
  const refills = [];
  const queue = new Set([root]);
  let visited = 0;
  // Iterating over a Set includes what is added on the way.
  for (const holder of queue) {
    if (util.types.isMap(holder) || util.types.isSet(holder)) {
      const items = [...holder];
      queue.add(items);
      refills.push(() => refill(holder, items));
      continue;
    }
    for (const place of placesIn(holder)) {
      visited += 1;
      if (visited > MAX_VALUES) {
        return { places, refills };
      }
      if (isSearchable(place.value) && matches(place.value)) {
        places.push(place);
      } else if (isSearchable(place.value)) {
        queue.add(place.value);
      }
    }
  }
  return { places, refills };
}

/**
 * @param {object} holder
 * @returns {Iterable<Place>}
 */
function* placesIn(holder) {
  if (Array.isArray(holder) || isPlain(holder)) {
    for (const key of Object.keys(holder)) {
      // A getter has no value.
      yield { holder, key, value: Object.getOwnPropertyDescriptor(holder, key)?.value };
    }
  }
}

/** @param {any} value */
const isSearchable = (value) =>
  typeof value === 'object' && value !== null && !util.types.isProxy(value);

/**
 * @param {Map<any, any> | Set<any>} holder
 * @param {any[]} items
 */
function refill(holder, items) {
  holder.clear();
  for (const item of items) {
    if (util.types.isMap(holder)) {
      holder.set(item[0], item[1]);
    } else {
      /** @type {Set<any>} */ (holder).add(item);
    }
  }
}

/**
 * The object of the new connection that corresponds to one of the earlier connection, if there is one.
 * @param {BrowserLink} link
 * @param {Connection} previous
 * @param {any} value
 * @returns {Promise<any>}
 */
async function counterpartOf(link, previous, value) {
  if (value === previous.browser) {
    return link.browser;
  }
  if (value === previous.context) {
    return link.context;
  }
  if (isPage(value)) {
    return link.pageOf(link.idOf(value));
  }
  if (isFrame(value)) {
    const page = link.pageOf(link.idOf(value.page()));
    return page && value.parentFrame() ? link.frameOf(page, link.idOf(value)) : page?.mainFrame();
  }
  const frame = await counterpartOf(link, previous, frameOfLocator(value));
  return frame && locatorIn(frame, value);
}
