/**
 * What a status means to the user, in the popup and on the welcome page, and what to do about it.
 * Only text: it never touches the page or Chrome.
 */

import { DEFAULT_PORT } from './pairing.js';
import { PROTOCOL } from './protocol.js';

/**
 * @typedef {object} StatusText
 * @property {'off' | 'connected' | 'busy' | 'attention' | 'danger'} tone
 * @property {string} headline
 * @property {string} explanation
 * @property {string} [advice] What to do, or more about it.
 */

/** @typedef {import('./relay_session.js').Status} Status */

const PAIR = 'Run “tabwire pair” in a terminal and paste the code that it prints.';

/** @type {Record<import('./relay_link.js').LinkState, (status: Status) => StatusText>} */
const TEXTS = {
  connected,
  rejected,
  otherVersion,
  impostor,

  stopped: () => ({
    tone: 'off',
    headline: 'Turned off',
    explanation: 'Agents cannot see or use this browser.',
  }),

  connecting: ({ address }) => ({
    tone: 'off',
    headline: 'Connecting…',
    explanation: address && `Looking for the relay at ${address}.`,
  }),

  offline: ({ address }) => ({
    tone: 'off',
    headline: 'Not connected',
    explanation: `No relay found at ${address}. Start one with “${serveCommand(address)}”.`,
  }),

  notPaired: () => ({
    tone: 'attention',
    headline: 'Not paired',
    explanation: 'This browser is not paired with a relay yet.',
    advice: PAIR,
  }),

  busy: ({ address, holder, canTakeOver }) => ({
    tone: 'attention',
    headline: 'Another browser is connected',
    explanation:
      `The relay at ${address} is connected to ${named(holder)}. ` +
      (canTakeOver
        ? 'Agents can use one browser at a time.'
        : 'It was started for that browser only.'),
  }),

  replaced: ({ address, holder }) => ({
    tone: 'attention',
    headline: 'Replaced by another browser',
    explanation: `The relay at ${address} is now connected to ${named(holder)} instead of this one.`,
  }),
};

/** @param {Status} status @returns {StatusText} */
export function describeStatus(status) {
  const text = TEXTS[status.state](status);
  if (!status.isPaused || status.state === 'connected') {
    return text;
  }
  return { ...text, advice: [text.advice, STILL_PAUSED].filter(Boolean).join(' ') };
}

/** While no relay is connected. */
const STILL_PAUSED = 'You have paused agents. That lasts until you choose Resume in the popup.';

/** @param {Status} status @returns {StatusText} */
function connected({ address, attached, version, name, isPaused }) {
  const about = `Relay version ${version}.`;
  const advice = name ? `${about} Agents know this browser as “${name}”.` : about;
  const relay = `the relay at ${address}`;
  if (isPaused) {
    return {
      tone: 'attention',
      headline: 'Paused',
      explanation: 'You have stopped all agents. They can use this browser when you choose Resume.',
      advice,
    };
  }
  return attached.length === 0
    ? {
        tone: 'connected',
        headline: 'Connected',
        explanation: `Agents can use this browser through ${relay}.`,
        advice,
      }
    : {
        tone: 'busy',
        headline: attached.length === 1 ? '1 tab in use' : `${attached.length} tabs in use`,
        explanation: `Agents are connected through ${relay}.`,
        advice,
      };
}

/** @param {Status} status @returns {StatusText} */
function rejected({ address, wasAccepted }) {
  return {
    tone: wasAccepted ? 'danger' : 'attention',
    headline: 'Pairing not accepted',
    explanation: wasAccepted
      ? `The program at ${address} no longer accepts this browser’s pairing. It may not be your relay.`
      : `The program at ${address} does not accept this browser’s pairing.`,
    advice: PAIR,
  };
}

/** @param {Status} status @returns {StatusText} */
function otherVersion({ address, relayProtocol }) {
  const headline = 'Versions do not match';
  if (relayProtocol === undefined) {
    return {
      tone: 'attention',
      headline,
      explanation: `The program at ${address} and this extension cannot work together.`,
      advice:
        'Update Tabwire, run “tabwire install-extension”, and reload the extension at ' +
        'chrome://extensions.',
    };
  }
  return relayProtocol > PROTOCOL
    ? {
        tone: 'attention',
        headline,
        explanation: `The program at ${address} says that it is newer than this extension.`,
        advice:
          'Update the extension: run “tabwire install-extension”, then reload the extension at ' +
          'chrome://extensions.',
      }
    : {
        tone: 'attention',
        headline,
        explanation: `The program at ${address} says that it is older than this extension.`,
        advice: 'Update Tabwire, then stop the relay and start it again.',
      };
}

/** @param {Status} status @returns {StatusText} */
function impostor({ address, timedOut }) {
  return {
    tone: 'danger',
    headline: timedOut ? 'No answer from the relay' : 'Not your relay',
    explanation: timedOut
      ? `A program is listening on ${address}, but has not proven that it is your relay.`
      : `A program that is not your relay is listening on ${address}.`,
    advice:
      'It has no access to this browser. Run “tabwire serve” to see which program it is, then stop ' +
      'that program or use another port.',
  };
}

/** @param {import('./protocol.js').OpenPort} openPort */
export function describeOpenPort({ port, until }) {
  const time = new Date(until).toLocaleTimeString([], { hour: 'numeric', minute: '2-digit' });
  return `Until ${time}, any program that you run can use this browser through port ${port}.`;
}

/** The command that starts a relay at this address. @param {string} address */
function serveCommand(address) {
  const port = address.split(':')[1];
  return port === String(DEFAULT_PORT) ? 'tabwire serve' : `tabwire serve --port ${port}`;
}

/** @param {string | undefined} browser */
const named = (browser) => (browser ? `“${browser}”` : 'another browser');
