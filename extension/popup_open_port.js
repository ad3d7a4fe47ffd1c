/** The popup's box about a port through which programs use this browser without a token. */

import { byId, setText } from './elements.js';
import { describeOpenPort } from './status_text.js';

/**
 * @param {import('./worker_port.js').Send} send
 * @returns {(status: import('./relay_session.js').Status) => void} Shows a status.
 */
export function createOpenPortView(send) {
  byId('close-port').addEventListener('click', () => {
    send({ type: 'closePort' });
    // The box disappears, and with it the button.
    byId('enabled').focus();
  });
  return ({ openPort }) => {
    byId('open-port').hidden = !openPort;
    setText(byId('open-port-text'), openPort ? describeOpenPort(openPort) : '');
  };
}
