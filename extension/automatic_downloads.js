/**
 * Chrome asks the user before a page may download several files without a click in between. For an
 * agent's page nobody would answer, and its other downloads would be lost. So while an agent wants
 * downloads, the sites of its tabs may do so. The only module that changes this setting.
 */

/** @type {Set<string>} The sites that are allowed, as patterns. */
const allowed = new Set();

/** @param {string | undefined} url The address of a page that an agent uses. */
export async function allowAutomaticDownloads(url) {
  const site = url !== undefined && URL.canParse(url) ? new URL(url) : undefined;
  if (!site || !['http:', 'https:'].includes(site.protocol)) {
    return;
  }
  const primaryPattern = `${site.origin}/*`;
  if (!allowed.has(primaryPattern)) {
    allowed.add(primaryPattern);
    // If Chrome does not accept the pattern, it asks the user as usual.
    await chrome.contentSettings.automaticDownloads
      .set({ primaryPattern, setting: 'allow' })
      .catch(() => {});
  }
}

/**
 * Chrome keeps such a setting, even when the browser is restarted. The user's own setting was only
 * covered by it.
 */
export async function restoreAutomaticDownloads() {
  allowed.clear();
  await chrome.contentSettings.automaticDownloads.clear({}).catch(() => {});
}
