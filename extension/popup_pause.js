/** The popup's buttons that stop all agents and let them go on. */

import { byId } from './elements.js';

/**
 * @param {import('./worker_port.js').Send} send
 * @returns {(status: import('./relay_session.js').Status) => void} Shows a status.
 */
export function createPauseView(send) {
  const pauseButton = byId('pause');
  const resumeButton = byId('resume');
  for (const button of [pauseButton, byId('release-all')]) {
    button.addEventListener('click', () => send({ type: 'pause' }));
  }
  resumeButton.addEventListener('click', () => send({ type: 'resume' }));
  return ({ state, isPaused }) => {
    const hadFocus = document.activeElement;
    pauseButton.hidden = isPaused || state !== 'connected';
    resumeButton.hidden = !isPaused;
    // Each takes the place of the other.
    if (hadFocus === pauseButton && isPaused) {
      resumeButton.focus();
    } else if (hadFocus === resumeButton && !pauseButton.hidden) {
      pauseButton.focus();
    }
  };
}
