/**
 * The form for a pairing code. The popup and the welcome page both have one.
 */

import { setText } from './elements.js';
import { parsePairingCode } from './pairing.js';

/** @param {(code: string) => void} onCode Called with a well-formed code. */
export function createPairingForm(onCode) {
  const form = document.createElement('form');
  form.className = 'pairing';
  form.noValidate = true;
  form.innerHTML = `
    <label for="code">Pairing code</label>
    <input id="code" spellcheck="false" autocomplete="off" placeholder="tabwire:19222:…"
      aria-describedby="code-error" />
    <button>Pair</button>
    <p id="code-error" class="error" role="alert"></p>`;
  const field = /** @type {HTMLInputElement} */ (form.querySelector('input'));
  const error = /** @type {HTMLElement} */ (form.querySelector('.error'));

  /** @param {string} message */
  const showError = (message) => {
    setText(error, message);
    field.setAttribute('aria-invalid', String(message !== ''));
  };
  field.addEventListener('input', () => showError(''));
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    const parsed = parsePairingCode(field.value);
    if ('error' in parsed) {
      showError(parsed.error);
      field.focus();
    } else {
      onCode(field.value);
      field.value = '';
    }
  });
  return form;
}
