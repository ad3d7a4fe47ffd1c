/**
 * `markdown()`: what a page, a frame or an element says, as Markdown. The main content of a page comes without what is around
 * it, and a long one in parts. Frames are read where they stand.
 */

/** @import { ElementHandle, Frame, JSHandle, Locator } from 'playwright-core' */
/** @import { PageText, ReadOptions } from './page_text.mjs' */

import { checkNumbers, checkOptions } from './options.mjs';
import { READ_PAGE } from './page_text.mjs';
import { within } from './timing.mjs';

const OPTIONS = ['all', 'offset', 'max'];
/** Pages with more are galleries of advertisements. */
const MAX_FRAMES = 10;
const MAX_DEPTH = 3;

/** @typedef {{ all?: boolean, offset?: number, max?: number }} MarkdownOptions */

/**
 * @param {{ page: import('playwright-core').Page, locator?: Locator, options: MarkdownOptions }} subject
 * @param {{ readMs: number, maxLength: number, mask: (text: string) => string }} limits `mask` hides secrets, before the text is cut
 * @returns {Promise<string>}
 */
export async function markdown({ page, locator, options }, { readMs, maxLength, mask }) {
  checkOptions('markdown', options, OPTIONS);
  checkNumbers('markdown', options, ['offset']);
  checkNumbers('markdown', options, ['max'], 1);
  const { all = false, offset = 0, max = maxLength } = options;
  const root = locator ?? page.locator(':root');
  const read = async () =>
    readText(await root.evaluateHandle(READ_PAGE, { isPage: !locator, all }), 0);
  const content = await within(readMs, read());
  if (!content) {
    throw new Error(`The page did not respond for ${readMs / 1_000} s.`);
  }
  const { text, title, leftOut, parts } = content;
  const whole = mask(locator ? text : [`${title} (${page.url()})`, text].join('\n\n'));
  const around = leftOut > 0 ? [describeLeftOut(leftOut, parts)] : [];
  if (offset === 0 && whole.length <= max) {
    return [whole, ...around].join('\n\n');
  }
  const end = endOfPart(whole, offset, max);
  const rest =
    end < whole.length
      ? ` For the rest, add { offset: ${end} }; or pass a locator for a part.`
      : '';
  const place = `[Characters ${offset} to ${end} of ${whole.length}.${rest}]`;
  return [whole.slice(offset, end), place, ...(rest ? [] : around)].join('\n\n');
}

/** @param {number} length @param {string[]} parts */
function describeLeftOut(length, parts) {
  const what = parts.length > 0 ? ` (${parts.join(', ')})` : '';
  return `[Left out: ${length} characters around the main content${what}. markdown({ all: true }) has them.]`;
}

/**
 * The text of what was read, with that of its frames.
 * @param {JSHandle<PageText>} handle
 * @param {number} depth
 * @returns {Promise<Omit<PageText, 'frames'>>}
 */
async function readText(handle, depth) {
  const { count, ...read } = await handle.evaluate(({ frames, ...rest }) => ({
    ...rest,
    count: frames.length,
  }));
  let { text } = read;
  if (count > 0) {
    const list = await handle.getProperty('frames');
    for (let index = 0; index < count; index += 1) {
      const element = (await list.getProperty(String(index))).asElement();
      const content = element && index < MAX_FRAMES ? await readFrame(element, depth) : '';
      text = text.replace(`\0frame ${index}\0`, () => content);
    }
  }
  await handle.dispose();
  return { ...read, text: text.replace(/\n{3,}/g, '\n\n').trim() };
}

/** @param {ElementHandle} element @param {number} depth */
async function readFrame(element, depth) {
  const frame = await element.contentFrame();
  const content = frame && depth < MAX_DEPTH ? await contentOf(frame, depth + 1) : '';
  return content && frame ? `[Frame ${frame.url()}]\n\n${content}\n\n[End of frame]` : '';
}

/** One that does not load has nothing to say. @param {Frame} frame @param {number} depth */
async function contentOf(frame, depth) {
  try {
    const root = frame.locator(':root');
    /** @type {ReadOptions} */
    const options = { isPage: false, all: true };
    const handle = await root.evaluateHandle(READ_PAGE, options, { timeout: 1_000 });
    return (await readText(handle, depth)).text;
  } catch {
    return '';
  }
}

/**
 * Ends a part between two blocks or lines, if there is an end of one in its second half.
 * @param {string} text
 * @param {number} offset
 * @param {number} max
 */
function endOfPart(text, offset, max) {
  const most = offset + max;
  if (most >= text.length) {
    return text.length;
  }
  const ends = ['\n\n', '\n', ' '].map((mark) => text.lastIndexOf(mark, most));
  return ends.find((end) => end > offset + max / 2) ?? most;
}
