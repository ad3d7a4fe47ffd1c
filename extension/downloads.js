/**
 * Downloads that agents start: finds out which ones these are, reports them to the relay, and does
 * what the relay decides. The only module that uses `chrome.downloads`.
 *
 * 1. While an agent wants to know of downloads, Chrome's events are watched. Nothing is otherwise.
 * 2. A download belongs to a tab if the tab's debugger has announced it, or if a navigation of the
 *    tab has just ended in it. Every other download is the user's and is not touched.
 * 3. The relay is notified (`downloadCreated`) and replies with an action. Until then, Chrome waits
 *    for a file name.
 * 4. A download that was taken is saved in a folder of its own, because an extension can save
 *    files only below the user's download folder, and only before they are complete. Its progress
 *    is reported (`downloadChanged`). The relay moves the file.
 */

import { attachedTabs, isAttached } from './attachments.js';
import { allowAutomaticDownloads, restoreAutomaticDownloads } from './automatic_downloads.js';
import { folderOf, rememberLeft, takeLeft, untilFileIsIn } from './download_folders.js';
import { rememberAnnouncement, rememberNavigation, takeOrigin } from './download_owner.js';

/** How long Chrome waits for the relay's decision before it chooses a file name itself. */
const DECISION_TIMEOUT_MS = 3_000;

const PROGRESS_INTERVAL_MS = 500;

/**
 * @typedef {'take' | 'watch' | 'leave' | 'cancel' | 'finish'} Action
 *
 * @typedef {object} Download
 * @property {number} id Chrome's id of the download in `chrome.downloads`.
 * @property {string} guid Its id in CDP.
 * @property {import('./download_owner.js').Origin} origin
 * @property {number} totalBytes
 * @property {boolean} isReported
 * @property {Action} [action] The relay's decision.
 * @property {Promise<void>} [isInFolder] Resolves when Chrome is done with creating its own folder.
 * @property {() => void} [onDecided] Gives Chrome the file name that it waits for.
 * @property {number} [receivedBytes] As last reported.
 */

/** @type {(method: string, params: object) => void} */
let notify = () => {};

let isWatching = false;

/**
 * The downloads of agents. An entry is added when Chrome creates the download, and removed when it
 * has ended and the relay is done with it, or when the relay does not want it.
 * @type {Map<number, Download>}
 */
const downloads = new Map();

/** @type {ReturnType<typeof setTimeout> | undefined} */
let progressTimer;

/** @param {(method: string, params: object) => void} onNotify */
export function reportDownloadsTo(onNotify) {
  notify = onNotify;
}

/** @param {boolean} enabled Whether an agent wants to know of downloads. */
export async function watchDownloads(enabled) {
  const wasWatching = isWatching;
  isWatching = enabled;
  if (enabled) {
    // Adding a listener that is there already has no effect.
    chrome.downloads.onCreated.addListener(onCreated);
    chrome.downloads.onDeterminingFilename.addListener(onDeterminingFilename);
    chrome.downloads.onChanged.addListener(onChanged);
    await Promise.all(attachedTabs().map((tabId) => onTabUsed(tabId)));
  } else {
    stopListeningIfUnused();
    if (wasWatching) {
      await restoreAutomaticDownloads();
    }
  }
}

/**
 * An agent uses this tab, or it shows another page.
 * @param {number} tabId
 * @param {string} [url]
 */
export async function onTabUsed(tabId, url) {
  if (isWatching && isAttached(tabId)) {
    const tab = url === undefined ? await chrome.tabs.get(tabId).catch(() => undefined) : { url };
    await allowAutomaticDownloads(tab?.url, () => isWatching);
  }
}

function stopListeningIfUnused() {
  if (!isWatching && downloads.size === 0) {
    chrome.downloads.onCreated.removeListener(onCreated);
    chrome.downloads.onDeterminingFilename.removeListener(onDeterminingFilename);
    chrome.downloads.onChanged.removeListener(onChanged);
  }
}

// ---- which downloads are an agent's ----

/**
 * While an agent wants to know of downloads, the debugger's events about them do not reach the relay:
 * it is notified of those that it decides about. Those of a download that it has decided about
 * never do.
 * @param {number} tabId
 * @param {string} method
 * @param {any} params
 * @returns {boolean} Whether the event ends here.
 */
export function onDebuggerEvent(tabId, method, params) {
  if (method === 'Page.downloadWillBegin' && isWatching) {
    rememberAnnouncement(tabId, params);
  }
  const isOfDownload = method === 'Page.downloadWillBegin' || method === 'Page.downloadProgress';
  return isOfDownload && (isWatching || findDownload(params.guid) !== undefined);
}

/**
 * A navigation has ended without a document, possibly because it became a download.
 * @param {number} tabId
 * @param {string} url
 */
export function onNavigationAborted(tabId, url) {
  if (isWatching) {
    rememberNavigation(tabId, url);
  }
}

/** @param {chrome.downloads.DownloadItem} item */
function onCreated(item) {
  const origin = takeOrigin(item);
  if (!origin || !isWatching) {
    return;
  }
  const { id, totalBytes } = item;
  const guid = origin.guid ?? crypto.randomUUID();
  downloads.set(id, { id, guid, origin, totalBytes: Math.max(totalBytes, 0), isReported: false });
  if (origin.suggestedFilename !== undefined) {
    report(id);
  }
}

/** @param {number} id */
function report(id) {
  const download = downloads.get(id);
  if (download && !download.isReported) {
    download.isReported = true;
    const { guid, totalBytes, origin } = download;
    const { tabId, openerTabId, frameId, url, suggestedFilename } = origin;
    const where = { tabId, openerTabId, frameId, url };
    notify('downloadCreated', { guid, ...where, suggestedFilename, totalBytes });
  }
}

/**
 * Chrome is about to choose a file name. Without a return value, it does so by itself. If a
 * download was interrupted and goes on, Chrome asks again.
 * @param {chrome.downloads.DownloadItem} item
 * @param {(suggestion?: chrome.downloads.FilenameSuggestion) => void} suggest
 */
function onDeterminingFilename({ id, filename }, suggest) {
  const download = downloads.get(id);
  if (!download) {
    return undefined;
  }
  const answer = () => {
    download.onDecided = undefined;
    if (download.action === 'take') {
      download.isInFolder = untilFileIsIn(chrome.downloads.onChanged, id);
      suggest({
        filename: `${folderOf(download.guid)}/${download.guid}`,
        conflictAction: 'uniquify',
      });
    } else {
      suggest();
    }
  };
  if (download.action) {
    answer();
    return true;
  }
  download.onDecided = answer;
  setTimeout(() => download.onDecided?.(), DECISION_TIMEOUT_MS);
  download.origin.suggestedFilename ??= filename;
  report(id);
  return true;
}

// ---- what the relay decides ----

/** @param {string} guid */
function findDownload(guid) {
  return [...downloads.values()].find((download) => download.guid === guid);
}

/** @param {string} guid @param {Action} action */
export async function controlDownload(guid, action) {
  const download = findDownload(guid);
  if (!download) {
    // It has ended, or this worker was restarted and has removed it.
    return;
  }
  download.action = action;
  download.onDecided?.();
  if (action === 'take' || action === 'watch') {
    save();
    progressTimer ??= setTimeout(reportProgress, PROGRESS_INTERVAL_MS);
  } else if (action === 'cancel') {
    await end(download);
  } else {
    forget(download);
    if (action === 'finish') {
      await chrome.downloads.erase({ id: download.id });
    }
  }
}

/**
 * Stops a download, and removes its file and its entry in the browser's list.
 * @param {Download} download
 */
async function end(download) {
  const { id } = download;
  forget(download);
  await download.isInFolder;
  const [item] = await chrome.downloads.search({ id });
  await discard(id);
  reportChange(download, { state: 'canceled', path: item?.filename || undefined });
}

/** @param {number} id */
async function discard(id) {
  // Each fails if the download is not in that state. The last one also removes a part of a file.
  await chrome.downloads.cancel(id).catch(() => {});
  await chrome.downloads.removeFile(id).catch(() => {});
  await chrome.downloads.erase({ id }).catch(() => {});
}

/**
 * The next relay removes its folder.
 * @param {{ id: number, guid: string, isInFolder?: Promise<void> }} download
 */
async function discardWithoutRelay({ id, guid, isInFolder }) {
  const discarded = async () => {
    await isInFolder;
    const [item] = await chrome.downloads.search({ id });
    await discard(id);
    return item?.filename ? { guid, path: item.filename } : undefined;
  };
  await rememberLeft(discarded());
}

/** A relay is connected. */
export async function reportLeft() {
  const ended = { state: 'canceled', receivedBytes: 0, totalBytes: 0 };
  (await takeLeft()).forEach((left) => notify('downloadChanged', { ...left, ...ended }));
}

/** @param {Download} download */
function forget({ id }) {
  downloads.delete(id);
  save();
  stopListeningIfUnused();
}

/** The relay is gone, and with it whoever wanted these downloads. */
export async function cancelDownloads() {
  const taken = [...downloads.values()].filter(({ action }) => action === 'take');
  downloads.clear();
  const restored = watchDownloads(false);
  if (taken.length > 0) {
    save();
    await Promise.all(taken.map(discardWithoutRelay));
  }
  await restored;
}

// ---- progress ----

/** @param {chrome.downloads.DownloadDelta} delta */
async function onChanged({ id, state }) {
  const download = downloads.get(id);
  if (!download || !state) {
    return;
  }
  const [item] = await chrome.downloads.search({ id });
  if (state.current === 'interrupted' || !item) {
    // Chrome has tried again by itself. The user's own list is for the user's downloads.
    await (download.action === 'take' ? end(download) : abandon(download));
  } else if (state.current === 'complete') {
    if (download.action !== 'take') {
      forget(download);
    }
    const { bytesReceived, totalBytes, filename } = item;
    reportChange(download, { state: 'completed', bytesReceived, totalBytes, path: filename });
  }
}

/** @param {Download} download */
function abandon(download) {
  forget(download);
  reportChange(download, { state: 'canceled' });
}

async function reportProgress() {
  progressTimer = undefined;
  if (downloads.size === 0) {
    return;
  }
  progressTimer = setTimeout(reportProgress, PROGRESS_INTERVAL_MS);
  for (const item of await chrome.downloads.search({ state: 'in_progress' })) {
    const download = downloads.get(item.id);
    if (download && item.bytesReceived !== download.receivedBytes) {
      const { bytesReceived, totalBytes } = item;
      reportChange(download, { state: 'inProgress', bytesReceived, totalBytes });
    }
  }
}

/**
 * @param {Download} download
 * @param {{ state: string, bytesReceived?: number, totalBytes?: number, path?: string }} change
 *   Without a number of bytes, it is the last one. Chrome reports -1 if the size is unknown.
 */
function reportChange(download, { state, bytesReceived, totalBytes, path }) {
  download.receivedBytes = bytesReceived ?? download.receivedBytes ?? 0;
  download.totalBytes = Math.max(totalBytes ?? download.totalBytes, 0);
  const { guid, receivedBytes } = download;
  notify('downloadChanged', { guid, state, receivedBytes, totalBytes: download.totalBytes, path });
}

// ---- worker restarts ----

/** Saves which downloads were taken, for `discardLeftovers`. */
function save() {
  const taken = [...downloads.values()].filter(({ action }) => action === 'take');
  chrome.storage.session.set({ downloads: taken.map(({ id, guid }) => ({ id, guid })) });
}

/**
 * Removes the downloads that a worker was handling when Chrome stopped it. The relay has reported
 * them as cancelled.
 */
export async function discardLeftovers() {
  await restoreAutomaticDownloads();
  /** @type {{ downloads?: { id: number, guid: string }[] }} */
  const saved = await chrome.storage.session.get('downloads');
  if (saved.downloads?.length) {
    chrome.storage.session.set({ downloads: [] });
    await Promise.all(saved.downloads.map(discardWithoutRelay));
  }
}
