/**
 * The conversation with a relay that has proven itself: describes this browser, then replies to the
 * relay's calls and sends events. Without a relay, it detaches the tabs.
 */

import * as attachments from './attachments.js';
import { resumeEpisodes } from './back_pressure.js';
import { makeBrowserMessage } from './browser_info.js';
import { runCommand } from './commands.js';
import { cancelDownloads, discardLeftovers, reportLeft } from './downloads.js';
import { rememberAccepted, rememberRejected } from './pairing.js';
import { isPaused, readPaused, setPaused } from './pause.js';
import { clearLeftPermissions, clearPermissions } from './permissions.js';
import * as protocol from './protocol.js';
import { RelayLink } from './relay_link.js';
import { readSettings } from './settings.js';

/** Long enough for a relay to restart. */
const DETACH_AFTER_MS = 10_000;

/**
 * @typedef {object} SessionStatus
 * @property {number[]} attached The tabs in use.
 * @property {protocol.Agent[]} agents The connected agents. Empty without a relay.
 * @property {protocol.OpenPort} [openPort] A port through which programs use this browser without a
 *   token.
 * @property {boolean} isPaused The user has stopped all agents.
 * @property {boolean} [wasAccepted] A pairing that is rejected now was accepted before.
 *
 * @typedef {import('./relay_link.js').LinkStatus & SessionStatus} Status
 */

export class RelaySession {
  /** Set before connecting, because it has to be the first message after the handshake. */
  #browserMessage = '';
  #prepared = this.#prepare();
  /** @type {protocol.RelayStatus} The relay's last `status`. */
  #relayStatus = { agents: [] };
  /** The secret of the last attempt, and whether a relay had accepted it before. */
  #pairing = { secret: '', wasAccepted: false };
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #detachTimer;
  #link;
  #onChange;

  /** @param {() => void} onChange The status may have changed. */
  constructor(onChange) {
    this.#onChange = onChange;
    this.#link = new RelayLink({
      readCredentials: async () => this.#credentialsOf(await readSettings()),
      firstMessage: () => this.#browserMessage,
      onCall: (call, reply) => this.#answer(call, reply),
      onChange: () => this.#onLinkChanged(),
    });
  }

  /** @returns {Status} */
  get status() {
    const link = this.#link.status;
    const wasAccepted = link.state === 'rejected' && this.#pairing.wasAccepted;
    return {
      ...link,
      ...this.#relayStatus,
      ...(wasAccepted ? { wasAccepted } : {}),
      attached: attachments.attachedTabs(),
      isPaused: isPaused(),
    };
  }

  /** While the user is watching, a lost relay is looked for more often. @param {boolean} isWatched */
  setWatched(isWatched) {
    this.#link.isWatched = isWatched;
  }

  /**
   * Connects to the relay in the settings, at once if it is waiting to retry, or disconnects if the
   * user has turned the extension off.
   */
  async connect() {
    const settings = await this.#readSettings();
    if (settings.enabled) {
      this.#link.start(this.#credentialsOf(settings));
    } else {
      this.#link.stop();
    }
    this.#onChange();
  }

  /**
   * Connects again, because the settings have changed or the user wants to take over from another
   * browser.
   * @param {{ takeOver?: boolean }} [options]
   */
  async reconnect(options) {
    const settings = await this.#readSettings();
    if (settings.enabled) {
      this.#link.restart(this.#credentialsOf(settings), options);
    }
    this.#onChange();
  }

  /** What has to be done once before connecting. */
  async #prepare() {
    [this.#browserMessage] = await Promise.all([
      makeBrowserMessage(),
      attachments.adopt().then(resumeEpisodes),
      readPaused(),
      discardLeftovers(),
      clearLeftPermissions(),
    ]);
  }

  async #readSettings() {
    const [settings] = await Promise.all([readSettings(), this.#prepared]);
    return settings;
  }

  /** @param {import('./settings.js').Settings} settings */
  #credentialsOf({ address, installId, secret, wasAccepted, isLaunched }) {
    this.#pairing = { secret, wasAccepted };
    return { address, installId, secret, isLaunched };
  }

  /** @param {string} method @param {object} params */
  notify(method, params) {
    this.#link.send(protocol.event(method, params));
    this.#onChange();
  }

  /**
   * Forwards a debugger event. These are frequent and do not change the status.
   * @param {number} tabId
   * @param {string} method
   * @param {object} params
   * @param {string} [childSessionId]
   */
  forwardEvent(tabId, method, params, childSessionId) {
    this.#link.sendEvent(protocol.event('cdpEvent', { tabId, method, params, childSessionId }));
  }

  /** Detaches a tab at the user's request. @param {number} tabId */
  async releaseTab(tabId) {
    if (await attachments.detach(tabId)) {
      this.notify('tabDetached', { tabId, reason: 'canceled_by_user' });
    }
  }

  /** Stops all agents until the user resumes. The relay is notified first: agents stop at once. */
  async pause() {
    if (setPaused(true)) {
      this.#link.send(protocol.event('pause'));
    }
    this.#onChange();
    await this.#detachAll();
    this.#onChange();
  }

  resume() {
    if (setPaused(false)) {
      this.#link.send(protocol.event('resume'));
    }
    this.#onChange();
  }

  /** Detaches all tabs because the user turns the extension off. */
  async turnOff() {
    const tabIds = attachments.attachedTabs();
    await this.#detachAll();
    for (const tabId of tabIds) {
      this.notify('tabDetached', { tabId, reason: 'the person has turned Tabwire off' });
    }
  }

  async #detachAll() {
    await Promise.all(attachments.attachedTabs().map(attachments.detach));
  }

  /** Asks the relay to close the port that needs no token. */
  closePort() {
    this.#link.send(protocol.event('closePort'));
  }

  #onLinkChanged() {
    this.#relayStatus = { agents: [] };
    this.#onChange();
    if (this.#link.status.state === 'connected') {
      clearTimeout(this.#detachTimer);
      this.#detachTimer = undefined;
      rememberAccepted(this.#pairing.secret);
      reportLeft();
    } else {
      if (this.#link.status.state === 'rejected') {
        rememberRejected(this.#pairing.secret);
      }
      cancelDownloads();
      this.#detachTimer ??= setTimeout(() => this.#detachUnused(), DETACH_AFTER_MS);
    }
  }

  /** Without a relay, no agent can use the tabs. */
  async #detachUnused() {
    await Promise.all([this.#detachAll(), clearPermissions()]);
    this.#onChange();
  }

  /** @param {protocol.Call} call @param {import('./relay_link.js').Reply} reply */
  #answer({ id, method, params }, reply) {
    if (method === 'ping') {
      this.#link.send(protocol.event('pong'));
    } else if (method === 'status') {
      this.#relayStatus = protocol.parseStatus(params);
      this.#onChange();
    } else if (id !== undefined) {
      this.#run(id, reply, method, params);
    }
  }

  /**
   * @param {number} id
   * @param {import('./relay_link.js').Reply} reply
   * @param {string} method
   * @param {object} [params]
   */
  async #run(id, reply, method, params) {
    await runCommand(method, params).then(
      (result) =>
        reply(protocol.reply(id, result)) ||
        reply(protocol.errorReply(id, 'The result is too large to send (over 255 MiB).')),
      (error) => reply(protocol.errorReply(id, error)),
    );
    if (method !== 'cdpCommand') {
      // It may have attached or detached a tab.
      this.#onChange();
    }
  }
}
