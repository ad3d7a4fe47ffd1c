/** A worker that watches downloads for an agent, and the messages that it sends. */

import { page, watch } from './watched_tabs.mjs';

export const GUID = '790c48b4-cee2-4755-b32f-b33ff8ccd4ee';
export const URL = 'https://example.org/file';
export const OWN = `/home/user/Downloads/Tabwire-${GUID}/${GUID}`;

/** A browser with tab 1, which is attached, and tab 2, which is not. */
export async function startWatching({ isWatching = true } = {}) {
  const { browser, attachments, load, listTabs } = await watch(page(1), page(2));
  await listTabs();
  const module = await load('downloads.js');
  const sent = [];
  module.reportDownloadsTo((method, params) =>
    sent.push([method, JSON.parse(JSON.stringify(params))]),
  );
  await attachments.attach(1);
  await module.watchDownloads(isWatching);
  /** The debugger announces a download. */
  const announce = (guid = GUID, url = URL, tabId = 1) => {
    const params = { guid, url, frameId: 'F', suggestedFilename: 'report.txt' };
    module.onDebuggerEvent(tabId, 'Page.downloadWillBegin', params);
  };
  /** It does, and Chrome creates the download in the same moment. */
  const begin = (guid = GUID, url = URL, more = {}) => {
    announce(guid, url);
    return browser.downloads.start(url, more);
  };
  return { ...module, browser, attachments, sent, announce, begin, downloads: browser.downloads };
}

export const created = (guid = GUID, more = {}) => [
  'downloadCreated',
  {
    guid,
    tabId: 1,
    frameId: 'F',
    url: URL,
    suggestedFilename: 'report.txt',
    totalBytes: 38,
    ...more,
  },
];
export const changed = (state, receivedBytes, more = {}) => [
  'downloadChanged',
  { guid: GUID, state, receivedBytes, totalBytes: 38, ...more },
];
