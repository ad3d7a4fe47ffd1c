/** What the state holds of a former connection is put in anew: browser, context, pages, frames and locators. */

import util from 'node:util';

import { frameOfLocator, locatorIn } from './internals.mjs';
import { isPlain } from './output.mjs';

const isPage = (value) => typeof value?.mainFrame === 'function';
const isFrame = (value) => typeof value?.childFrames === 'function';
const isLocator = (value) => isFrame(frameOfLocator(value));

/** Values that are looked at, those of the outermost objects first; more would keep the call waiting. */
const MOST_VALUES = 1_000_000;

/**
 * Puts them into `holder`, and whatever that holds.
 * @param {{ browser: object, context: object }} old of the former connection
 */
export async function renew(link, old, holder) {
  const isOld = (value) => {
    try {
      return (
        value === old.browser ||
        value === old.context ||
        isPage(value) ||
        isFrame(value) ||
        isLocator(value)
      );
    } catch {
      return false; // An object of the code's own may throw when it is asked.
    }
  };
  const { places, refill } = find(holder, isOld);
  for (const { holder: place, key, value } of places) {
    // What only looks like one of them stays as it is.
    const fresh = await anew(link, old, value).catch(() => {});
    if (fresh) {
      // What cannot be written stays as it is.
      Reflect.set(place, key, fresh);
    }
  }
  refill.forEach((fill) => fill());
}

/**
 * The places that hold such values, in arrays, plain objects, Maps and Sets. The last two are emptied and filled again.
 * Getters and proxies are passed over: they are code, which may throw, or give new objects for ever.
 */
function find(root, isWanted) {
  const [places, refill, seen] = [[], [], new Set([root])];
  let looked = 0;
  // What is added to a Set on the way is come to as well.
  for (const holder of seen) {
    if (util.types.isMap(holder) || util.types.isSet(holder)) {
      const items = [...holder];
      seen.add(items);
      refill.push(() => {
        holder.clear();
        items.forEach((item) =>
          util.types.isMap(holder) ? holder.set(...item) : holder.add(item),
        );
      });
    } else if (Array.isArray(holder) || isPlain(holder)) {
      for (const key of Object.keys(holder)) {
        looked += 1;
        if (looked > MOST_VALUES) {
          return { places, refill };
        }
        const { value } = Object.getOwnPropertyDescriptor(holder, key);
        if (typeof value !== 'object' || value === null || util.types.isProxy(value)) {
          continue;
        }
        if (isWanted(value)) {
          places.push({ holder, key, value });
        } else {
          seen.add(value);
        }
      }
    }
  }
  return { places, refill };
}

async function anew(link, old, value) {
  if (value === old.browser) {
    return link.browser;
  }
  if (value === old.context) {
    return link.context;
  }
  if (isPage(value)) {
    return link.pageOf(link.idOf(value));
  }
  if (isFrame(value)) {
    const page = link.pageOf(link.idOf(value.page()));
    return page && value.parentFrame() ? link.frameOf(page, link.idOf(value)) : page?.mainFrame();
  }
  const frame = await anew(link, old, frameOfLocator(value));
  return frame && locatorIn(frame, value);
}
