/**
 * The popup's lists: tabs in use and by which agent, agents that use no tab, and other tabs.
 */

import { byId, setText } from './elements.js';
import { isRestricted } from './policy.js';

/**
 * The row of each tab. Rows are reused, so that an update does not move the focus or scroll the
 * list. An entry is added when the tab is first shown and removed when the tab has gone.
 * @type {Map<number, HTMLElement>}
 */
const rows = new Map();

/** @typedef {Pick<import('./relay_session.js').Status, 'state' | 'attached' | 'agents'>} Usage */

/** @type {Usage} */
let usage = { state: 'connecting', attached: [], agents: [] };
/** @type {(tabId: number) => void} */
let release = () => {};

/** @param {(tabId: number) => void} onRelease */
export function watchTabs(onRelease) {
  release = onRelease;
  for (const event of [chrome.tabs.onCreated, chrome.tabs.onRemoved, chrome.tabs.onUpdated]) {
    event.addListener(() => {
      showTabs();
    });
  }
}

/** @param {Usage} current */
export function showUsage(current) {
  usage = current;
  showIdleAgents();
  showTabs();
}

function showIdleAgents() {
  const idle = usage.agents.filter(({ tabs }) => tabs.length === 0);
  byId('idle-agents-section').hidden = idle.length === 0;
  byId('idle-agents').replaceChildren(
    ...idle.map(({ name }) => {
      const row = document.createElement('li');
      row.className = 'agent';
      row.textContent = name;
      return row;
    }),
  );
}

async function showTabs() {
  const tabs = (await chrome.tabs.query({})).filter(
    (tab) => tab.id !== undefined && !isRestricted(tab.url || tab.pendingUrl),
  );
  const attached = new Set(usage.attached);
  const used = tabs.filter((tab) => attached.has(tab.id ?? -1));
  const others = tabs.filter((tab) => !attached.has(tab.id ?? -1));
  const focused = document.activeElement;
  showList('in-use', used, true);
  showList('others', others, false);
  setText(byId('other-count'), String(others.length));
  setText(byId('others-hint'), othersHint());
  byId('none-in-use').hidden = used.length > 0;
  byId('release-all').hidden = used.length === 0;
  keepFocus(focused);
  for (const tabId of rows.keys()) {
    if (!tabs.some(({ id }) => id === tabId)) {
      rows.delete(tabId);
    }
  }
}

const othersHint = () =>
  usage.state === 'connected'
    ? 'Agents can see these tabs but are not using them.'
    : 'Agents cannot see these tabs now.';

/** @param {string} id @param {chrome.tabs.Tab[]} tabs @param {boolean} areInUse */
function showList(id, tabs, areInUse) {
  const list = byId(id);
  const items = tabs.map((tab) => updateRow(tab, areInUse));
  const isUnchanged =
    items.length === list.children.length && items.every((item, i) => item === list.children[i]);
  if (!isUnchanged) {
    list.replaceChildren(...items);
  }
}

/** If the focused button has gone, focuses the next one. @param {Element | null} focused */
function keepFocus(focused) {
  if (focused instanceof HTMLElement && focused !== document.activeElement) {
    const next = focused.checkVisibility() ? focused : byId('in-use').querySelector('button');
    (next ?? byId('enabled')).focus();
  }
}

/** @param {chrome.tabs.Tab} tab @param {boolean} isInUse */
function updateRow(tab, isInUse) {
  const tabId = /** @type {number} */ (tab.id);
  const row = rows.get(tabId) ?? newRow(tabId);
  rows.set(tabId, row);
  const [title, site, agent] = row.querySelectorAll('span');
  const button = row.querySelector('button');
  const url = tab.url || tab.pendingUrl || '';
  if (title && site && agent && button) {
    title.textContent = tab.title || url || 'Untitled';
    title.title = url;
    site.textContent = (URL.canParse(url) && new URL(url).host) || url;
    agent.textContent = isInUse ? usedBy(tabId) : '';
    agent.title = agent.textContent;
    button.hidden = !isInUse;
    button.setAttribute('aria-label', `Release ${title.textContent}`);
  }
  return row;
}

/** @param {number} tabId */
function usedBy(tabId) {
  const names = usage.agents.filter(({ tabs }) => tabs.includes(tabId)).map(({ name }) => name);
  return names.length === 0 ? '' : `Used by ${names.join(', ')}`;
}

/** @param {number} tabId */
function newRow(tabId) {
  /** @type {HTMLTemplateElement} */
  const template = byId('tab-row');
  const row = /** @type {HTMLElement} */ (template.content.firstElementChild?.cloneNode(true));
  row.querySelector('button')?.addEventListener('click', () => release(tabId));
  return row;
}
