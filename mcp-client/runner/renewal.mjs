/** What the state holds of a former connection is put in anew: browser, context, pages, frames and locators. */

import util from 'node:util';

import { frameOfLocator, locatorIn } from './internals.mjs';
import { isPlain } from './output.mjs';

const isPage = (value) => typeof value?.mainFrame === 'function';
const isFrame = (value) => typeof value?.childFrames === 'function';
const isLocator = (value) => isFrame(frameOfLocator(value));

/**
 * Puts them into `holder`, and whatever that holds.
 * @param {{ browser: object, context: object }} old of the former connection
 */
export async function renew(link, old, holder) {
  const isOld = (value) => value === old.browser || value === old.context || isPage(value) || isFrame(value) || isLocator(value);
  const { places, refill } = find(holder, isOld);
  for (const { holder: place, key } of places) {
    const fresh = await anew(link, old, place[key]);
    if (fresh) {
      // What cannot be written stays as it is.
      Reflect.set(place, key, fresh);
    }
  }
  refill.forEach((fill) => fill());
}

/** The places that hold such values, in arrays, plain objects, Maps and Sets. The last two are emptied and filled again. */
function find(root, isWanted) {
  const [places, refill, seen, open] = [[], [], new Set(), [root]];
  while (open.length > 0) {
    const holder = open.pop();
    if (typeof holder !== 'object' || holder === null || seen.has(holder)) {
      continue;
    }
    seen.add(holder);
    if (util.types.isMap(holder) || util.types.isSet(holder)) {
      const items = [...holder];
      open.push(items);
      refill.push(() => {
        holder.clear();
        items.forEach((item) => (util.types.isMap(holder) ? holder.set(...item) : holder.add(item)));
      });
    } else if (Array.isArray(holder) || isPlain(holder)) {
      for (const key of Object.keys(holder)) {
        if (isWanted(holder[key])) {
          places.push({ holder, key });
        } else {
          open.push(holder[key]);
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
