/**
 * Chrome asks the user before a page may download several files without a click in between. For an
 * agent's page nobody would answer, and its other downloads would be lost. So while an agent wants
 * downloads, the sites of its tabs may do so. The only module that changes this setting.
 */

/** @type {Set<string>} The sites that are allowed, as patterns. */
const allowed = new Set();

/** @type {Promise<unknown>} The last change. Changes are made one at a time. */
let lastChange = Promise.resolve();

/** @param {() => Promise<unknown>} change */
function enqueue(change) {
  // If Chrome does not accept a pattern, it asks the user as usual.
  lastChange = lastChange.then(change).catch(() => {});
  return lastChange;
}

/**
 * @param {string | undefined} url The address of a page that an agent uses.
 * @param {() => boolean} isWanted Whether an agent wants downloads. It may have left meanwhile.
 */
export async function allowAutomaticDownloads(url, isWanted) {
  const site = url !== undefined && URL.canParse(url) ? new URL(url) : undefined;
  if (!site || !['http:', 'https:'].includes(site.protocol)) {
    return;
  }
  const primaryPattern = `${site.origin}/*`;
  await enqueue(async () => {
    if (isWanted() && !allowed.has(primaryPattern)) {
      allowed.add(primaryPattern);
      await chrome.contentSettings.automaticDownloads.set({ primaryPattern, setting: 'allow' });
    }
  });
}

/**
 * Chrome keeps such a setting, even when the browser is restarted. The user's own setting was only
 * covered by it.
 */
export async function restoreAutomaticDownloads() {
  await enqueue(async () => {
    allowed.clear();
    await chrome.contentSettings.automaticDownloads.clear({});
  });
}
