/**
 * The popup: shows the service worker's status and sends it the user's requests. It keeps no state
 * of its own except which elements show what.
 */

import { isRestricted } from './policy.js';
import { checkAddress, readSettings } from './settings.js';

/** @template {HTMLElement} [T=HTMLElement] @param {string} id @returns {T} */
const byId = (id) => /** @type {T} */ (document.getElementById(id));

/** @type {HTMLInputElement} */
const addressField = byId('address');
/** @type {HTMLInputElement} */
const enabledSwitch = byId('enabled');
/** @type {HTMLButtonElement} */
const saveButton = byId('save');

/** @typedef {import('./relay_session.js').Status} Status */

/** @type {Status} */
let current = { state: 'connecting', address: '', attached: [] };

// ---- service worker ----

/** @type {chrome.runtime.Port} */
let worker;

/** Chrome stops an idle worker even while the popup is open. Connecting starts it again. */
function connectToWorker() {
  worker = chrome.runtime.connect({ name: 'popup' });
  worker.onMessage.addListener(showStatus);
  worker.onDisconnect.addListener(connectToWorker);
}

/** @param {import('./popup_messages.js').PopupMessage} message */
function send(message) {
  worker.postMessage(message);
}

// ---- status ----

/** @param {Status} status @returns {[className: string, headline: string, explanation: string]} */
function describe({ state, address, attached }) {
  const relay = `the relay at ${address}`;
  switch (state) {
    case 'connected':
      return attached.length === 0
        ? ['connected', 'Connected', `Agents can use this browser through ${relay}.`]
        : ['busy', inUse(attached.length), `Agents are connected through ${relay}.`];
    case 'stopped':
      return ['', 'Turned off', 'Agents cannot see or use this browser.'];
    case 'connecting':
      return ['', 'Connecting…', address && `Looking for ${relay}.`];
    default:
      return [
        'offline',
        'Not connected',
        `No relay found at ${address}. Start one with “tabwire serve”. ` +
          'If a relay is running, another browser may already be connected to it.',
      ];
  }
}

/** @param {number} count */
const inUse = (count) => (count === 1 ? '1 tab in use' : `${count} tabs in use`);

/** @param {Status} status */
function showStatus(status) {
  // Retrying an address that did not answer makes no difference to the user, so keep showing "Not
  // connected".
  const isRetry =
    status.state === 'connecting' &&
    current.state === 'offline' &&
    status.address === current.address;
  current = isRetry ? { ...status, state: 'offline' } : status;
  const [className, headline, explanation] = describe(current);
  byId('status').className = className;
  setText('headline', headline);
  setText('explanation', explanation);
  showTabs();
}

/**
 * Leaves unchanged text alone, so that screen readers do not repeat it.
 * @param {string} id
 * @param {string} text
 */
function setText(id, text) {
  const element = byId(id);
  if (element.textContent !== text) {
    element.textContent = text;
  }
}

// ---- tabs ----

/**
 * The row of each tab. Rows are reused, so that an update does not move the focus or scroll the
 * list. An entry is added when the tab is first shown and removed when the tab has gone.
 * @type {Map<number, HTMLElement>}
 */
const rows = new Map();

async function showTabs() {
  const tabs = (await chrome.tabs.query({})).filter(
    (tab) => tab.id !== undefined && !isRestricted(tab.url || tab.pendingUrl),
  );
  const attached = new Set(current.attached);
  const used = tabs.filter((tab) => attached.has(tab.id ?? -1));
  const others = tabs.filter((tab) => !attached.has(tab.id ?? -1));
  const focused = document.activeElement;
  showList('in-use', used, true);
  showList('others', others, false);
  setText('other-count', String(others.length));
  byId('none-in-use').hidden = used.length > 0;
  byId('release-all').hidden = used.length === 0;
  keepFocus(focused);
  for (const tabId of rows.keys()) {
    if (!tabs.some(({ id }) => id === tabId)) {
      rows.delete(tabId);
    }
  }
}

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
    (next ?? enabledSwitch).focus();
  }
}

/** @param {chrome.tabs.Tab} tab @param {boolean} isInUse */
function updateRow(tab, isInUse) {
  const tabId = /** @type {number} */ (tab.id);
  const row = rows.get(tabId) ?? newRow(tabId);
  rows.set(tabId, row);
  const [title, site] = row.querySelectorAll('span');
  const button = row.querySelector('button');
  const url = tab.url || tab.pendingUrl || '';
  if (title && site && button) {
    title.textContent = tab.title || url || 'Untitled';
    title.title = url;
    site.textContent = (URL.canParse(url) && new URL(url).host) || url;
    button.hidden = !isInUse;
    button.setAttribute('aria-label', `Release ${title.textContent}`);
  }
  return row;
}

/** @param {number} tabId */
function newRow(tabId) {
  /** @type {HTMLTemplateElement} */
  const template = byId('tab-row');
  const row = /** @type {HTMLElement} */ (template.content.firstElementChild?.cloneNode(true));
  row.querySelector('button')?.addEventListener('click', () => send({ type: 'releaseTab', tabId }));
  return row;
}

// ---- settings ----

/** The address in the settings, which the form may differ from. */
let savedAddress = '';

function checkForm() {
  const checked = checkAddress(addressField.value);
  const error = 'error' in checked ? checked.error : '';
  setText('address-error', error);
  addressField.setAttribute('aria-invalid', String(error !== ''));
  saveButton.disabled = 'error' in checked || checked.address === savedAddress;
  return checked;
}

addressField.addEventListener('input', checkForm);
byId('relay').addEventListener('submit', (event) => {
  event.preventDefault();
  const checked = checkForm();
  if ('address' in checked) {
    savedAddress = checked.address;
    addressField.value = checked.address;
    saveButton.disabled = true;
    send({ type: 'setAddress', address: checked.address });
  }
});
enabledSwitch.addEventListener('change', () =>
  send({ type: 'setEnabled', enabled: enabledSwitch.checked }),
);
byId('release-all').addEventListener('click', () => send({ type: 'releaseAllTabs' }));
for (const event of [chrome.tabs.onCreated, chrome.tabs.onRemoved, chrome.tabs.onUpdated]) {
  event.addListener(() => {
    showTabs();
  });
}
connectToWorker();

const settings = await readSettings();
savedAddress = settings.address;
addressField.value = settings.address;
enabledSwitch.checked = settings.enabled;
