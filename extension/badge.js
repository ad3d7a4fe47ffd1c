/**
 * The badge and tooltip of the toolbar button: whether a relay is connected, and how many tabs are
 * in use.
 */

/**
 * @param {import('./relay_link.js').LinkState} state
 * @param {number} attachedCount
 */
export function showBadge(state, attachedCount) {
  const [text, color, title] = describe(state, attachedCount);
  chrome.action.setBadgeText({ text });
  chrome.action.setBadgeBackgroundColor({ color });
  chrome.action.setBadgeTextColor?.({ color: '#ffffff' });
  chrome.action.setTitle({ title });
}

/**
 * @param {import('./relay_link.js').LinkState} state
 * @param {number} attachedCount
 * @returns {[text: string, color: string, title: string]}
 */
export function describe(state, attachedCount) {
  if (state === 'connected' && attachedCount > 0) {
    const tabs = attachedCount === 1 ? '1 tab' : `${attachedCount} tabs`;
    return [String(attachedCount), '#b3540a', `Tabwire: ${tabs} in use`];
  }
  switch (state) {
    case 'connected':
      return ['on', '#1a7f4b', 'Tabwire: connected'];
    case 'stopped':
      return ['off', '#6b7280', 'Tabwire: turned off'];
    default:
      return ['', '#6b7280', 'Tabwire: not connected'];
  }
}
