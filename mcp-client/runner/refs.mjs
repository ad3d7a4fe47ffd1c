/**
 * Refs outlive a connection. Playwright numbers elements as it first sees them, anew with each connection; so after one the
 * numbers of a page that has not changed are put back as the agent knows them. In a page that is another by now no ref
 * holds: a number that means something else would be clicked.
 */

import { refPrefixOf, renameRefs } from './internals.mjs';

/**
 * @param {{ url: string, whole: string }} given the page as it was when its refs were given out
 * @returns {Promise<boolean>} whether they hold again
 */
export async function revive(page, { url, whole }, withinMs) {
  const take = async () => withoutFocus(await page.ariaSnapshot({ mode: 'ai', timeout: withinMs }));
  const before = withoutFocus(whole);
  try {
    if (page.url() === url) {
      const now = await take();
      if (now === before) {
        return true;
      }
      if (withoutRefs(now) === withoutRefs(before)) {
        await renumber(page, refsOf(now), refsOf(before));
        if ((await take()) === before) {
          return true;
        }
      }
    }
  } catch {
    // It does not answer, or is on its way elsewhere.
  }
  await forget(page, withinMs);
  return false;
}

const withoutFocus = (text) => text.replaceAll(' [active]', '');
const withoutRefs = (text) => text.replace(/\[ref=\w+\]/g, '[ref]');
const refsOf = (text) => [...text.matchAll(/\[ref=(\w+)\]/g)].map(([, ref]) => ref);

/** The n-th ref of the page as it is now is to be the n-th of what it was. */
async function renumber(page, now, before) {
  const pairs = now.map((ref, index) => [ref, before[index]]);
  for (const frame of page.frames()) {
    const prefix = refPrefixOf(frame);
    const inFrame = pairs.filter(([ref]) => ref.replace(/e\d+$/, '') === prefix);
    if (inFrame.length > 0) {
      await renameRefs(frame, inFrame);
    }
  }
}

/** A snapshot of nothing, in every frame, leaves no ref. */
async function forget(page, withinMs) {
  const none = page
    .frames()
    .map((frame) => frame.locator('head').first().ariaSnapshot({ mode: 'ai', timeout: withinMs }));
  await Promise.allSettled(none);
}
