/**
 * The functions that an agent's code has beside Playwright: reading a page, files in and out, requests. Each takes what code
 * may pass, and says what is wrong with it.
 */

/** @import { Locator, Page } from 'playwright-core' */
/** @import { BrowserLink } from './browser_link.mjs' */
/** @import { Downloads } from './downloads.mjs' */
/** @import { Files } from './files.mjs' */
/** @import { NetworkWatch } from './network_idle.mjs' */
/** @import { Output } from './output.mjs' */
/** @import { Secrets } from './secrets.mjs' */
/** @import { Snapshots } from './snapshot.mjs' */

import { writeFile } from 'node:fs/promises';

import { findIn } from './find.mjs';
import { help } from './help.mjs';
import { markdown } from './markdown.mjs';
import { checkOptions } from './options.mjs';
import { show, truncate } from './output.mjs';
import { fetchInPage } from './page_fetch.mjs';
import { subjectOf } from './snapshot.mjs';
import { within } from './timing.mjs';

/**
 * What the functions work with. `limits` are those of the current call; `ensurePage` opens a page unless the target is in one;
 * `secrets` are hidden in what is cut: the rest of one would be shown.
 * @typedef {{ link: BrowserLink, output: Output, secrets: Secrets, snapshots: Snapshots, downloads: Downloads, files: Files, network: NetworkWatch,
 *   limits: () => { timeoutMs: number, readMs: number, maxLength: number }, ensurePage: (target: any) => Promise<void> }} Tools
 */

const PDF_OPTIONS = [
  'format',
  'landscape',
  'pageRanges',
  'scale',
  'margin',
  'width',
  'height',
  'printBackground',
  'displayHeaderFooter',
  'headerTemplate',
  'footerTemplate',
  'preferCSSPageSize',
  'outline',
  'tagged',
];
/** A download may begin with a slow request. */
const DOWNLOAD_TIMEOUT_MS = 30_000;
/** Of a request that is still loading. */
const MAX_REQUEST = 200;

/** @param {Tools} tools @returns {Record<string, (...args: any[]) => any>} */
export function createToolbox(tools) {
  const { link, downloads, files, network, secrets, limits, ensurePage } = tools;
  const { mask } = secrets;
  const pageFor = async (/** @type {any} */ target) => {
    await ensurePage(target);
    return /** @type {Page} */ (link.page);
  };
  return {
    help,
    find: async (wanted, options = {}) => find(tools, await pageFor(undefined), wanted, options),
    markdown: async (target, options) => {
      await ensurePage(target);
      return markdown(subjectOf(link, target, options), { ...limits(), mask });
    },
    fetch: async (url, options = {}) =>
      fetchInPage(await pageFor(undefined), url, options, { ...limits(), files, secrets }),
    networkIdle: async (options = {}) =>
      (await network.untilIdle(await pageFor(undefined), options, limits().timeoutMs)).map(
        (request) => truncate(mask(request), MAX_REQUEST),
      ),
    download: async (action, options = {}) => {
      checkOptions('download', options, ['timeout']);
      if (action === undefined) {
        return downloads.last(limits().timeoutMs);
      }
      const { timeout = DOWNLOAD_TIMEOUT_MS } = options;
      const start = toAction(action, await pageFor(action));
      const { timeoutMs } = limits();
      return downloads.from(start, Math.min(timeout, timeoutMs), timeoutMs);
    },
    upload: async (target, given) => {
      const page = await pageFor(target);
      return upload(locatorOf('upload', target, page), await files.toUpload(given));
    },
    pdf: async (target, options) => {
      await ensurePage(target);
      return pdf(tools, subjectOf(link, target, options));
    },
  };
}

/**
 * @param {Tools} tools
 * @param {Page} page
 * @param {any} wanted
 * @param {any} options
 */
async function find({ output, snapshots, secrets, limits }, page, wanted, options) {
  const isPattern = typeof wanted?.source === 'string';
  if (!isPattern && (typeof wanted !== 'string' || !wanted.trim())) {
    const given = wanted === '' ? 'an empty one' : show(wanted);
    throw new TypeError(`find takes a text or a regular expression, not ${given}`);
  }
  const { readMs } = limits();
  const tree = await snapshots.readTree(page, readMs);
  const { found, count } = findIn(page, tree, wanted, options, secrets.mask);
  if (count > found.length) {
    output.line(
      `[${found.length} of ${count} elements. Search for more of the text, or pass { max }.]`,
    );
  }
  if (count === 0) {
    const hidden = (await within(readMs, page.getByText(wanted).count())) ?? 0;
    output.line(
      hidden > 0
        ? `[No visible element has it, but ${hidden} hidden ones do: in a closed menu or another tab of the page, perhaps.]`
        : '[It is not on this page.]',
    );
  }
  return found;
}

/** @param {string} name @param {any} target @param {Page} page @returns {Locator} */
function locatorOf(name, target, page) {
  if (typeof target === 'string') {
    return page.locator(target);
  }
  if (typeof target?.locator?.click === 'function') {
    // What `find` returned.
    return target.locator;
  }
  if (typeof target?.setInputFiles !== 'function' || typeof target.page !== 'function') {
    throw new TypeError(`${name} takes a locator or a selector, not ${show(target)}`);
  }
  return target;
}

/** @param {any} action @param {Page} page @returns {() => unknown} */
const toAction = (action, page) =>
  typeof action === 'function' ? () => action() : () => locatorOf('download', action, page).click();

/** @param {Locator} locator @param {any} files */
async function upload(locator, files) {
  const isInput = await locator.evaluate((element) => {
    const control = element instanceof HTMLLabelElement ? element.control : element;
    return control instanceof HTMLInputElement && control.type === 'file';
  });
  if (isInput) {
    await locator.setInputFiles(files);
    return;
  }
  const [chooser] = await Promise.all([
    locator.page().waitForEvent('filechooser'),
    locator.click(),
  ]);
  await chooser.setFiles(files);
}

/** @param {Tools} tools @param {{ page: Page, locator?: Locator, options: any }} subject */
async function pdf({ files, limits }, { page, locator, options }) {
  if (locator) {
    throw new TypeError('pdf prints whole pages: pass a page, or nothing for the current one');
  }
  checkOptions('pdf', options, PDF_OPTIONS);
  const { timeoutMs } = limits();
  const printed = await within(timeoutMs, page.pdf({ printBackground: true, ...options }));
  if (!printed) {
    throw new Error(`The page was not printed within ${timeoutMs / 1_000} s.`);
  }
  const name = (await page.title()) || new URL(page.url()).hostname || 'page';
  return files.save(`${name}.pdf`, (file) => writeFile(file, printed));
}
