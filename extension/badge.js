/**
 * The toolbar button: its icon, badge and tooltip show whether a relay is connected, how many tabs
 * are in use, and whether something needs the user's attention.
 */

const GOOD = '#1a7f4b';
const IN_USE = '#b3540a';
const DANGER = '#b42318';
const OFF = '#6b7280';

/**
 * @typedef {object} Badge
 * @property {string} text
 * @property {string} color
 * @property {string} title
 * @property {boolean} isColored The icon is grey when no relay is connected.
 */

/** @param {Badge} badge */
export function showBadge({ text, color, title, isColored }) {
  chrome.action.setIcon({ path: iconPaths(isColored ? 'icon' : 'icon-grey') });
  chrome.action.setBadgeText({ text });
  chrome.action.setBadgeBackgroundColor({ color });
  chrome.action.setBadgeTextColor?.({ color: '#ffffff' });
  chrome.action.setTitle({ title });
}

/** @param {string} name */
const iconPaths = (name) => ({ 16: `/${name}-16.png`, 32: `/${name}-32.png` });

/**
 * @param {import('./relay_link.js').LinkState} state
 * @param {number} tabsInUse
 * @param {boolean} isPaused
 * @returns {Badge}
 */
export function describe(state, tabsInUse, isPaused) {
  if (state === 'connected' && isPaused) {
    return badge('II', IN_USE, 'paused. Agents are stopped until you choose Resume', true);
  }
  if (state === 'connected' && tabsInUse > 0) {
    const tabs = tabsInUse === 1 ? '1 tab' : `${tabsInUse} tabs`;
    return badge(String(tabsInUse), IN_USE, `${tabs} in use`, true);
  }
  switch (state) {
    case 'connected':
      return badge('on', GOOD, 'connected', true);
    case 'stopped':
      return badge('off', OFF, 'turned off');
    case 'impostor':
      return badge('!', DANGER, 'not connected. A program that is not your relay is listening');
    case 'notPaired':
      return badge('!', IN_USE, 'not paired with a relay');
    case 'rejected':
      return badge('!', IN_USE, 'pairing not accepted');
    case 'otherVersion':
      return badge('!', IN_USE, 'the relay has another version');
    case 'busy':
    case 'replaced':
      return badge('', OFF, 'another browser is connected');
    default:
      return badge('', OFF, 'not connected');
  }
}

/** @param {string} text @param {string} color @param {string} title @returns {Badge} */
const badge = (text, color, title, isColored = false) => ({
  text,
  color,
  title: `Tabwire: ${title}`,
  isColored,
});
