/**
 * The status box of the popup and the welcome page: what the status means, and what the user can do
 * about it right there.
 */

import { byId, setText } from './elements.js';
import { createPairingForm } from './pairing_form.js';
import { describeStatus } from './status_text.js';

/**
 * @param {import('./worker_port.js').Send} send
 * @param {HTMLElement} [quietPlace] Where the form for a pairing code is while it is not needed.
 * @returns {(status: import('./relay_session.js').Status) => void} Shows a status.
 */
export function createStatusView(send, quietPlace) {
  const pairingForm = createPairingForm((code) => send({ type: 'setPairingCode', code }));
  byId('take-over').addEventListener('click', () => send({ type: 'takeOver' }));
  return (status) => {
    const { tone, headline, explanation, advice = '' } = describeStatus(status);
    byId('status').className = tone;
    setText(byId('headline'), headline);
    setText(byId('explanation'), explanation);
    setText(byId('advice'), advice);
    byId('take-over').hidden = !(status.canTakeOver ?? status.state === 'replaced');
    const needsPairing = ['notPaired', 'rejected'].includes(status.state);
    byId('pairing-needed').hidden = !needsPairing;
    quietPlace?.closest('details')?.toggleAttribute('hidden', needsPairing);
    place(pairingForm, needsPairing ? byId('pairing-needed') : quietPlace);
  };
}

/**
 * Moves the form only if it has to, because that takes the focus away.
 * @param {HTMLElement} form
 * @param {HTMLElement | undefined} parent
 */
function place(form, parent) {
  if (parent && form.parentElement !== parent) {
    parent.append(form);
  }
}
