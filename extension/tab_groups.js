/**
 * The tab groups of agents: a tab that an agent opens is put into a group that has the agent's name, one
 * for each window. This happens once, when the tab opens. Where the user moves tabs and groups
 * afterwards, and what they call them, is left alone. Chrome removes a group with its last tab.
 */

/** Chrome's id for "in no group". */
const NO_GROUP = -1;

/** Tabs are grouped one after the other, so that two of them do not both create a group. */
let last = Promise.resolve();

/**
 * Puts a new tab into the group of this name, without waiting for it. A tab that cannot be grouped, as
 * in a window without a tab strip, stays as it is.
 * @param {number} tabId
 * @param {string} name
 */
export function groupTab(tabId, name) {
  last = last.then(() => addToGroup(tabId, name)).catch(() => {});
}

/** @param {number} tabId @param {string} name */
async function addToGroup(tabId, name) {
  const { windowId, groupId = NO_GROUP } = await chrome.tabs.get(tabId);
  const { type } = await chrome.windows.get(windowId);
  if (groupId !== NO_GROUP || type !== 'normal') {
    return;
  }
  const groups = await readGroups();
  const key = `${windowId} ${name}`;
  const known = await findGroup(groups[key], windowId);
  if (known !== undefined) {
    await chrome.tabs.group({ tabIds: tabId, groupId: known });
    return;
  }
  const created = await chrome.tabs.group({ tabIds: tabId, createProperties: { windowId } });
  await chrome.tabGroups.update(created, { title: name });
  await chrome.storage.session.set({ tabGroups: { ...groups, [key]: created } });
}

/**
 * The group with this id, if it still exists and the user has not moved it to another window.
 * @param {number | undefined} groupId
 * @param {number} windowId
 */
async function findGroup(groupId, windowId) {
  if (groupId === undefined) {
    return undefined;
  }
  const group = await chrome.tabGroups.get(groupId).catch(() => undefined);
  return group?.windowId === windowId ? groupId : undefined;
}

/**
 * The groups that were created, by window and name. They outlive the service worker.
 * @returns {Promise<Record<string, number>>}
 */
async function readGroups() {
  const { tabGroups } = await chrome.storage.session.get(['tabGroups']);
  return /** @type {Record<string, number> | undefined} */ (tabGroups) ?? {};
}
