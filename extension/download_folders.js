/**
 * The folders that downloads of agents are saved in. Each download has one of its own, whose name
 * nobody else would choose, so the relay can tell that it may remove it. An extension cannot remove
 * folders. Those of downloads that ended without a relay are remembered for the next one.
 */

/** How long Chrome may take from choosing a file's name to moving there what it has of the file. */
const MOVE_TIMEOUT_MS = 3_000;

/** How many are remembered. */
const MAX_LEFT = 100;

/**
 * In the user's download folder. The relay expects this name.
 * @param {string} guid
 */
export const folderOf = (guid) => `Tabwire-${guid}`;

/** @typedef {{ guid: string, path: string }} Left A download that ended without a relay. */

/** @type {Promise<unknown>} The last change. Changes are made one at a time. */
let lastChange = Promise.resolve();

/** @param {(left: Left[]) => Left[] | Promise<Left[]>} change */
function changeLeft(change) {
  const changed = lastChange.then(async () => {
    /** @type {{ leftDownloads?: Left[] }} */
    const { leftDownloads = [] } = await chrome.storage.local.get('leftDownloads');
    const left = await change(leftDownloads);
    if (left !== leftDownloads) {
      await chrome.storage.local.set({ leftDownloads: left });
    }
    return leftDownloads;
  });
  lastChange = changed.catch(() => {});
  return changed;
}

/** @param {Promise<Left | undefined>} ending Undefined if it had no file yet. */
export async function rememberLeft(ending) {
  await changeLeft(async (left) => {
    const download = await ending;
    return download ? [...left, download].slice(-MAX_LEFT) : left;
  });
}

/**
 * Returns the downloads that ended without a relay, and forgets them. Waits for those that are ending,
 * because a relay may be back soon.
 */
export function takeLeft() {
  return changeLeft((left) => (left.length === 0 ? left : []));
}

/**
 * Chrome creates the folder of a download when it chooses the name, and again when it moves there what
 * it has of the file. If the download is cancelled and the folder removed in between, Chrome's second
 * folder stays. So this waits for the end of the move, at which Chrome announces the name.
 * @param {typeof chrome.downloads.onChanged} onChanged
 * @param {number} downloadId
 * @returns {Promise<void>}
 */
export function untilFileIsIn(onChanged, downloadId) {
  return new Promise((resolve) => {
    const done = () => {
      onChanged.removeListener(listener);
      clearTimeout(timer);
      resolve();
    };
    const timer = setTimeout(done, MOVE_TIMEOUT_MS);
    /** @param {chrome.downloads.DownloadDelta} delta */
    const listener = ({ id, filename, state }) => {
      if (id === downloadId && (filename || state)) {
        done();
      }
    };
    onChanged.addListener(listener);
  });
}
