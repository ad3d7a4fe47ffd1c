/**
 * The folders that downloads of agents are saved in. Each download has one of its own, whose name
 * nobody else would choose, so the relay can tell that it may remove it. An extension cannot remove
 * folders. Those of downloads that ended without a relay are remembered for the next one.
 */

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
