/**
 * What the user can ask for in the popup and on the welcome page. These send the messages; the
 * service worker acts on them here.
 */

import { parsePairingCode, savePairing } from './pairing.js';
import { checkAddress, saveAddress, saveEnabled } from './settings.js';

/**
 * @typedef {{ type: 'releaseTab', tabId: number }
 *   | { type: 'pause' }
 *   | { type: 'resume' }
 *   | { type: 'setAddress', address: string }
 *   | { type: 'setEnabled', enabled: boolean }
 *   | { type: 'setPairingCode', code: string }
 *   | { type: 'closePort' }
 *   | { type: 'takeOver' }} PopupMessage
 */

/** @param {import('./relay_session.js').RelaySession} session @param {PopupMessage} message */
export async function onPopupMessage(session, message) {
  switch (message.type) {
    case 'releaseTab':
      return session.releaseTab(message.tabId);
    case 'pause':
      return session.pause();
    case 'resume':
      return session.resume();
    case 'setAddress':
      return setAddress(session, message.address);
    case 'setEnabled':
      return setEnabled(session, message.enabled);
    case 'setPairingCode':
      return setPairingCode(session, message.code);
    case 'closePort':
      return session.closePort();
    case 'takeOver':
      return session.reconnect({ takeOver: true });
  }
}

/** @param {import('./relay_session.js').RelaySession} session @param {string} address */
async function setAddress(session, address) {
  const checked = checkAddress(address);
  if ('address' in checked) {
    await saveAddress(checked.address);
    await session.reconnect();
  }
}

/** @param {import('./relay_session.js').RelaySession} session @param {boolean} enabled */
async function setEnabled(session, enabled) {
  if (!enabled) {
    await session.turnOff();
  }
  await saveEnabled(enabled);
  await session.connect();
}

/** @param {import('./relay_session.js').RelaySession} session @param {string} code */
async function setPairingCode(session, code) {
  const pairing = parsePairingCode(code);
  if ('secret' in pairing) {
    await savePairing(pairing);
    await session.reconnect();
  }
}
