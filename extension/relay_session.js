/**
 * The conversation with the relay: sends `hello` first, then replies to the relay's calls and sends
 * events. Without a relay, it detaches the tabs.
 */

import * as attachments from './attachments.js';
import { runCommand } from './commands.js';
import { makeHello } from './hello.js';
import * as protocol from './protocol.js';
import { RelayLink } from './relay_link.js';
import { readSettings } from './settings.js';

/** Long enough for a relay to restart. */
const DETACH_AFTER_MS = 10_000;

/**
 * @typedef {{ state: import('./relay_link.js').LinkState, address: string, attached: number[] }}
 *   Status
 */

export class RelaySession {
  #adopted = attachments.adopt();
  #helloReady = makeHello();
  /** Set before connecting, because it has to be the first message on the connection. */
  #hello = '';
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #detachTimer;
  #link;
  #onChange;

  /** @param {() => void} onChange The status may have changed. */
  constructor(onChange) {
    this.#onChange = onChange;
    this.#link = new RelayLink({
      onOpen: () => this.#link.send(this.#hello),
      onCall: (call) => this.#answer(call),
      onChange: () => this.#onLinkChanged(),
    });
  }

  /** @returns {Status} */
  get status() {
    const { state, address } = this.#link;
    return { state, address, attached: attachments.attachedTabs() };
  }

  /**
   * Connects to the relay in the settings, or disconnects if the user has turned the extension off.
   */
  async connect() {
    await this.#adopted;
    this.#hello = await this.#helloReady;
    const { address, enabled } = await readSettings();
    if (enabled) {
      this.#link.start(address);
    } else {
      this.#link.stop();
    }
    this.#onChange();
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
    this.#link.send(protocol.event('cdpEvent', { tabId, method, params, childSessionId }));
  }

  /** Detaches a tab at the user's request. @param {number} tabId */
  async releaseTab(tabId) {
    if (await attachments.detach(tabId)) {
      this.notify('tabDetached', { tabId, reason: 'canceled_by_user' });
    }
  }

  async releaseAllTabs() {
    await Promise.all(attachments.attachedTabs().map((tabId) => this.releaseTab(tabId)));
  }

  #onLinkChanged() {
    this.#onChange();
    if (this.#link.state === 'connected') {
      clearTimeout(this.#detachTimer);
      this.#detachTimer = undefined;
    } else {
      this.#detachTimer ??= setTimeout(() => this.#detachUnused(), DETACH_AFTER_MS);
    }
  }

  /** Without a relay, no agent can use the tabs. */
  async #detachUnused() {
    await Promise.all(attachments.attachedTabs().map(attachments.detach));
    this.#onChange();
  }

  /** @param {protocol.Call} call */
  #answer({ id, method, params }) {
    if (method === 'ping') {
      this.#link.send(protocol.event('pong'));
    } else if (id !== undefined) {
      this.#run(id, method, params);
    }
  }

  /** @param {number} id @param {string} method @param {object} [params] */
  async #run(id, method, params) {
    const link = this.#link;
    await runCommand(method, params).then(
      (result) =>
        link.send(protocol.reply(id, result)) ||
        link.send(protocol.errorReply(id, 'The result is too large to send (over 255 MiB).')),
      (error) => link.send(protocol.errorReply(id, error)),
    );
    if (method !== 'cdpCommand') {
      // It may have attached or detached a tab.
      this.#onChange();
    }
  }
}
