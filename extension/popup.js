/**
 * The popup: shows what the service worker tells, and passes the person's wishes on. What it shows is the worker's state;
 * its own is only which elements show it.
 */

import { isRestricted } from './policy.js';
import { checkAddress, readSettings } from './settings.js';

/** @template {HTMLElement} [T=HTMLElement] @param {string} id @returns {T} */
const byId = (id) => /** @type {T} */ (document.getElementById(id));

/** @type {HTMLInputElement} */
const address = byId('address');
/** @type {HTMLInputElement} */
const enabled = byId('enabled');
/** @type {HTMLButtonElement} */
const save = byId('save');

/** @typedef {{ state: import('./relay_link.js').LinkState, address: string, attached: number[] }} State */

/** @type {State} */
let latest = { state: 'connecting', address: '', attached: [] };

// ---- the worker ----

/** @type {chrome.runtime.Port} */
let worker;

/** Chrome ends an idle worker though the popup is open; to connect again starts it again. */
function connectToWorker() {
  worker = chrome.runtime.connect({ name: 'popup' });
  worker.onMessage.addListener(showState);
  worker.onDisconnect.addListener(connectToWorker);
}

/** @param {{ wish: string, tabId?: number, address?: string, enabled?: boolean }} message */
function wishFor(message) {
  worker.postMessage(message);
}

// ---- the state ----

/** @param {State} state @returns {[kind: string, headline: string, explanation: string]} */
function describe({ state, address, attached }) {
  switch (state) {
    case 'connected':
      return attached.length === 0
        ? ['connected', 'Connected', `To the relay at ${address}.`]
        : [
            'busy',
            attached.length === 1 ? '1 tab in use' : `${attached.length} tabs in use`,
            `Through the relay at ${address}.`,
          ];
    case 'stopped':
      return ['', 'Switched off', 'No client can see or use this browser.'];
    case 'connecting':
      return ['', 'Connecting …', address && `To the relay at ${address}.`];
    default:
      return [
        'offline',
        'Not connected',
        `No relay answers at ${address}. Start one with “tabwire serve”. One that runs may have another browser already.`,
      ];
  }
}

/** @param {State} state */
function showState(state) {
  // A new attempt on a relay that did not answer changes nothing for the person until it does.
  const isRetry =
    state.state === 'connecting' && latest.state === 'offline' && state.address === latest.address;
  latest = isRetry ? { ...state, state: 'offline' } : state;
  const [kind, headline, explanation] = describe(latest);
  byId('status').className = kind;
  setText('headline', headline);
  setText('explanation', explanation);
  showTabs();
}

/** A text that stays is left alone, so that it is not read aloud again. @param {string} id @param {string} text */
function setText(id, text) {
  const element = byId(id);
  if (element.textContent !== text) {
    element.textContent = text;
  }
}

// ---- tabs ----

/** @type {Map<number, HTMLElement>} Each tab keeps its row, so that an update takes neither focus nor place in the list. */
const rows = new Map();

async function showTabs() {
  const tabs = (await chrome.tabs.query({})).filter(
    (tab) => tab.id !== undefined && !isRestricted(tab.url || tab.pendingUrl),
  );
  const attached = new Set(latest.attached);
  const inUse = tabs.filter((tab) => attached.has(tab.id ?? -1));
  const others = tabs.filter((tab) => !attached.has(tab.id ?? -1));
  const focused = document.activeElement;
  showList(
    'in-use',
    inUse.map((tab) => row(tab, true)),
  );
  showList(
    'others',
    others.map((tab) => row(tab, false)),
  );
  setText('other-count', String(others.length));
  byId('none-in-use').hidden = inUse.length > 0;
  byId('detach-all').hidden = inUse.length === 0;
  keepFocus(focused);
  for (const tabId of rows.keys()) {
    if (!tabs.some(({ id }) => id === tabId)) {
      rows.delete(tabId);
    }
  }
}

/** @param {string} id @param {HTMLElement[]} wanted */
function showList(id, wanted) {
  const list = byId(id);
  if (
    wanted.length !== list.children.length ||
    wanted.some((row, at) => row !== list.children[at])
  ) {
    list.replaceChildren(...wanted);
  }
}

/** A button that went with its tab hands the focus to the next one. @param {Element | null} focused */
function keepFocus(focused) {
  if (focused instanceof HTMLElement && focused !== document.activeElement) {
    const next = focused.checkVisibility() ? focused : byId('in-use').querySelector('button');
    (next ?? enabled).focus();
  }
}

/** @param {chrome.tabs.Tab} tab @param {boolean} isAttached */
function row(tab, isAttached) {
  const tabId = /** @type {number} */ (tab.id);
  const shown = rows.get(tabId) ?? newRow(tabId);
  rows.set(tabId, shown);
  const [title, site] = shown.querySelectorAll('span');
  const button = shown.querySelector('button');
  const url = tab.url || tab.pendingUrl || '';
  if (title && site && button) {
    title.textContent = tab.title || url || 'Untitled';
    title.title = url;
    site.textContent = (URL.canParse(url) && new URL(url).host) || url;
    button.hidden = !isAttached;
    button.setAttribute('aria-label', `Detach ${title.textContent}`);
  }
  return shown;
}

/** @param {number} tabId */
function newRow(tabId) {
  /** @type {HTMLTemplateElement} */
  const template = byId('tab-row');
  const shown = /** @type {HTMLElement} */ (template.content.firstElementChild?.cloneNode(true));
  shown
    .querySelector('button')
    ?.addEventListener('click', () => wishFor({ wish: 'detach', tabId }));
  return shown;
}

// ---- what the person sets ----

/** Where the extension points now. */
let savedAddress = '';

function checkTyped() {
  const checked = checkAddress(address.value);
  const error = 'error' in checked ? checked.error : '';
  setText('address-error', error);
  address.setAttribute('aria-invalid', String(error !== ''));
  save.disabled = 'error' in checked || checked.address === savedAddress;
  return checked;
}

address.addEventListener('input', checkTyped);
byId('relay').addEventListener('submit', (submitted) => {
  submitted.preventDefault();
  const checked = checkTyped();
  if ('address' in checked) {
    savedAddress = checked.address;
    address.value = checked.address;
    save.disabled = true;
    wishFor({ wish: 'setAddress', address: checked.address });
  }
});
enabled.addEventListener('change', () => wishFor({ wish: 'setEnabled', enabled: enabled.checked }));
byId('detach-all').addEventListener('click', () => wishFor({ wish: 'detachAll' }));
for (const changed of [chrome.tabs.onCreated, chrome.tabs.onRemoved, chrome.tabs.onUpdated]) {
  changed.addListener(() => {
    showTabs();
  });
}
connectToWorker();

const settings = await readSettings();
savedAddress = settings.address;
address.value = settings.address;
enabled.checked = settings.enabled;
