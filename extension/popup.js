/**
 * The popup: shows what the service worker tells, and passes the person's wishes on. It keeps no state of its own.
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

const worker = chrome.runtime.connect({ name: 'popup' });

/** @typedef {{ state: import('./relay_link.js').LinkState, address: string, attached: number[] }} State */

/** @type {State} */
let latest = { state: 'connecting', address: '', attached: [] };

/** @param {State} state @returns {[light: string, headline: string, explanation: string]} */
function describe({ state, address, attached }) {
  if (state === 'connected' && attached.length > 0) {
    return ['busy', 'In use', `Connected to the relay at ${address}.`];
  }
  switch (state) {
    case 'connected':
      return ['connected', 'Connected', `To the relay at ${address}. No tab is attached.`];
    case 'stopped':
      return ['', 'Switched off', 'No client can see this browser.'];
    case 'connecting':
      return ['', 'Connecting …', `To the relay at ${address}.`];
    default:
      return ['offline', 'Not connected', `No relay answers at ${address}. Start it with “tabwire serve”. It may also have another browser already.`];
  }
}

/** @param {State} state */
function showState(state) {
  latest = state;
  const [light, headline, explanation] = describe(state);
  byId('light').className = `light ${light}`;
  byId('headline').textContent = headline;
  byId('explanation').textContent = explanation;
  showTabs();
}

async function showTabs() {
  const tabs = (await chrome.tabs.query({})).filter((tab) => !isRestricted(tab.url || tab.pendingUrl));
  const attached = new Set(latest.attached);
  const inUse = tabs.filter((tab) => attached.has(tab.id ?? -1));
  const others = tabs.filter((tab) => !attached.has(tab.id ?? -1));
  byId('in-use').replaceChildren(...inUse.map((tab) => row(tab, true)));
  byId('others').replaceChildren(...others.map((tab) => row(tab, false)));
  byId('other-count').textContent = String(others.length);
  byId('none-in-use').hidden = inUse.length > 0;
  byId('detach-all').hidden = inUse.length === 0;
}

/** @param {chrome.tabs.Tab} tab @param {boolean} isAttached */
function row(tab, isAttached) {
  /** @type {HTMLTemplateElement} */
  const template = byId('tab-row');
  const copy = /** @type {HTMLElement} */ (template.content.firstElementChild?.cloneNode(true));
  const [title, site] = copy.querySelectorAll('span');
  const button = copy.querySelector('button');
  const url = tab.url || tab.pendingUrl || '';
  if (title && site && button) {
    title.textContent = tab.title || url || 'Untitled';
    title.title = url;
    site.textContent = URL.canParse(url) ? new URL(url).host || url : url;
    button.hidden = !isAttached;
    button.setAttribute('aria-label', `Detach ${title.textContent}`);
    button.addEventListener('click', () => worker.postMessage({ wish: 'detach', tabId: tab.id }));
  }
  return copy;
}

function checkTyped() {
  const checked = checkAddress(address.value);
  const error = 'error' in checked ? checked.error : '';
  byId('address-error').textContent = error;
  address.setAttribute('aria-invalid', String(error !== ''));
  save.disabled = error !== '';
  return checked;
}

address.addEventListener('input', checkTyped);
byId('relay').addEventListener('submit', (submitted) => {
  submitted.preventDefault();
  const checked = checkTyped();
  if ('address' in checked) {
    address.value = checked.address;
    save.disabled = true;
    worker.postMessage({ wish: 'setAddress', address: checked.address });
  }
});
enabled.addEventListener('change', () => worker.postMessage({ wish: 'setEnabled', enabled: enabled.checked }));
byId('detach-all').addEventListener('click', () => worker.postMessage({ wish: 'detachAll' }));
worker.onMessage.addListener(showState);
for (const changed of [chrome.tabs.onCreated, chrome.tabs.onRemoved, chrome.tabs.onUpdated]) {
  changed.addListener(() => {
    showTabs();
  });
}

const settings = await readSettings();
address.value = settings.address;
enabled.checked = settings.enabled;
