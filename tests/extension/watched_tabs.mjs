/** A fake browser whose tabs the extension watches, and the tabs and reports that its tests use. */

import { FakeBrowser } from './fake_chrome.mjs';
import { newWorker } from './worker.mjs';

/** Starts watching these tabs. `sent` is what the relay would receive, as `[method, params]`. */
export async function watch(...tabs) {
  const browser = new FakeBrowser(...tabs);
  const load = newWorker(browser);
  const sent = [];
  const { watchTabs } = await load('tab_events.js');
  watchTabs((method, params) => sent.push([method, JSON.parse(JSON.stringify(params))]));
  return {
    browser,
    sent,
    load,
    attachments: await load('attachments.js'),
    ...(await load('tab_reports.js')),
    ...(await load('tabs.js')),
  };
}

/** A tab as Chrome describes it. */
export const page = (id, more = {}) => ({
  id,
  url: `https://example.org/${id}`,
  title: `Page ${id}`,
  windowId: 7,
  ...more,
});

/** The same tab as the relay receives it. */
export const report = (id, more = {}) => ({
  tabId: id,
  url: `https://example.org/${id}`,
  title: `Page ${id}`,
  targetId: `TARGET-${id}`,
  status: 'complete',
  windowId: 7,
  attached: false,
  ...more,
});

/** Makes the first result of this call stale: `change` happens while Chrome is answering. */
export function answerStale(browser, call, read, change) {
  let isFirst = true;
  browser.stub(call, async (...args) => {
    const stale = JSON.parse(JSON.stringify(read(...args)));
    if (isFirst) {
      isFirst = false;
      change();
    }
    return stale;
  });
}
