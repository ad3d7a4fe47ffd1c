/**
 * The popup: shows the service worker's status and sends it the user's requests. It keeps no state
 * of its own except what its forms need.
 */

import { byId, setText } from './elements.js';
import { createOpenPortView } from './popup_open_port.js';
import { createPauseView } from './popup_pause.js';
import { showUsage, watchTabs } from './popup_tabs.js';
import { checkAddress, readSettings } from './settings.js';
import { createStatusView } from './status_view.js';
import { connectToWorker } from './worker_port.js';

/** @type {HTMLInputElement} */
const addressField = byId('address');
/** @type {HTMLInputElement} */
const enabledSwitch = byId('enabled');
/** @type {HTMLButtonElement} */
const saveButton = byId('save');

/** The address in the settings, which the form may differ from. */
let savedAddress = '';

/** Shows the address in use, unless the user is typing another. @param {string} address */
function showAddress(address) {
  const isTyping = addressField.value !== savedAddress;
  savedAddress = address;
  if (isTyping) {
    checkForm();
  } else {
    addressField.value = address;
  }
}

function checkForm() {
  const checked = checkAddress(addressField.value);
  const error = 'error' in checked ? checked.error : '';
  setText(byId('address-error'), error);
  addressField.setAttribute('aria-invalid', String(error !== ''));
  saveButton.disabled = 'error' in checked || checked.address === savedAddress;
  return checked;
}

const settings = await readSettings();
showAddress(settings.address);
enabledSwitch.checked = settings.enabled;

const send = connectToWorker('popup', (status) => {
  showStatus(status);
  showPause(status);
  showOpenPort(status);
  showUsage(status);
  if (status.address) {
    showAddress(status.address);
  }
});
const showStatus = createStatusView(send, byId('pairing'));
const showPause = createPauseView(send);
const showOpenPort = createOpenPortView(send);
watchTabs((tabId) => send({ type: 'releaseTab', tabId }));

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
