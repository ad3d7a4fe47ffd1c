/**
 * The welcome page: what to do after installation, with the live status. It keeps no state.
 */

import { createStatusView } from './status_view.js';
import { connectToWorker } from './worker_port.js';

const COPIED_MS = 1_500;

const send = connectToWorker('welcome', (status) => showStatus(status));
const showStatus = createStatusView(send);

for (const button of document.querySelectorAll('.command button')) {
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(button.previousElementSibling?.textContent ?? '');
    button.textContent = 'Copied';
    setTimeout(() => (button.textContent = 'Copy'), COPIED_MS);
  });
}
