/**
 * The service worker: registers listeners and joins the parts. Chrome ends it at will and starts it again for an event,
 * so every listener is registered before anything is awaited.
 */

import * as attachments from './attachments.js';
import { showBadge } from './badge.js';
import { runCommand } from './commands.js';
import * as protocol from './protocol.js';
import { RelayLink } from './relay_link.js';
import { checkAddress, readSettings, saveAddress, saveEnabled } from './settings.js';
import { watchTabs } from './tabs.js';

const RECONNECT_ALARM = 'reconnect';
const GIVE_BACK_AFTER_MS = 10_000;

/** @type {Set<chrome.runtime.Port>} Popups that are open. */
const popups = new Set();

/** What the button shows, so that it is set only when it changes. */
let shownFace = '';

const link = new RelayLink({ open: () => link.send(hello), call: answer, change: onLinkChanged });
const adopted = attachments.adopt();

/** Ready before there is a connection, because nothing else may come first on it. */
let hello = '';
const greeting = makeHello();

// ---- the relay ----

async function makeHello() {
  const { installId } = await readSettings();
  const version = chrome.runtime.getManifest().version;
  const browser = await browserProduct();
  return protocol.event('hello', {
    protocol: protocol.PROTOCOL,
    version,
    browser,
    userAgent: navigator.userAgent,
    installId,
  });
}

/** Product and full version, as Chrome's own `Browser.getVersion` says it. */
async function browserProduct() {
  const high = await navigator.userAgentData?.getHighEntropyValues(['fullVersionList']);
  const chromium = high?.fullVersionList?.find(({ brand }) => brand === 'Chromium');
  const product = navigator.userAgent.includes('HeadlessChrome/') ? 'HeadlessChrome' : 'Chrome';
  const reduced = /Chrome\/([\d.]+)/.exec(navigator.userAgent)?.[1] ?? '';
  return `${product}/${chromium?.version ?? reduced}`;
}

/** @type {ReturnType<typeof setTimeout> | undefined} */
let givingBack;

/** Without a relay nobody uses the tabs: after a moment, in which it may come back, the person has them again. */
function onLinkChanged() {
  refresh();
  if (link.state === 'connected') {
    clearTimeout(givingBack);
    givingBack = undefined;
  } else {
    givingBack ??= setTimeout(async () => {
      await Promise.all(attachments.attachedTabs().map(attachments.detach));
      refresh();
    }, GIVE_BACK_AFTER_MS);
  }
}

/** @param {protocol.Call} call */
function answer({ id, method, params }) {
  if (method === 'ping') {
    link.send(protocol.event('pong'));
    return;
  }
  if (id === undefined) {
    return;
  }
  const replied = runCommand(method, params).then(
    (result) =>
      link.send(protocol.reply(id, result)) ||
      link.send(protocol.errorReply(id, 'The answer is too large: more than 255 MiB')),
    (error) => link.send(protocol.errorReply(id, error)),
  );
  if (method !== 'cdpCommand') {
    // Which tabs have the debugger may be another matter now.
    replied.then(refresh);
  }
}

/** @param {string} method @param {object} params */
function tell(method, params) {
  link.send(protocol.event(method, params));
  refresh();
}

async function connect() {
  await adopted;
  hello = await greeting;
  const { address, enabled } = await readSettings();
  if (enabled) {
    link.start(address);
  } else {
    link.stop();
  }
  refresh();
}

// ---- the debugger ----

chrome.debugger.onEvent.addListener(({ tabId, sessionId }, method, params) => {
  if (tabId !== undefined) {
    link.send(
      protocol.event('cdpEvent', {
        tabId,
        method,
        params: params ?? {},
        childSessionId: sessionId,
      }),
    );
  }
});

chrome.debugger.onDetach.addListener(({ tabId }, reason) => {
  // The infobar's Cancel takes the debugger off every tab, whichever of them Chrome names.
  const lost =
    reason === 'canceled_by_user' ? attachments.attachedTabs() : tabId === undefined ? [] : [tabId];
  for (const lostTab of lost) {
    attachments.forget(lostTab);
    tell('tabDetached', { tabId: lostTab, reason });
  }
});

/** The person takes a tab back. @param {number} tabId */
async function detachByPerson(tabId) {
  if (await attachments.detach(tabId)) {
    tell('tabDetached', { tabId, reason: 'canceled_by_user' });
  }
}

watchTabs(tell);

// ---- the popup ----

chrome.runtime.onConnect.addListener((popup) => {
  popups.add(popup);
  popup.onDisconnect.addListener(() => popups.delete(popup));
  popup.onMessage.addListener(obey);
  refresh();
});

/** @param {{ wish: string, tabId?: number, address?: string, enabled?: boolean }} message */
async function obey({ wish, tabId, address, enabled }) {
  if (wish === 'detach' && tabId !== undefined) {
    await detachByPerson(tabId);
  } else if (wish === 'detachAll') {
    await Promise.all(attachments.attachedTabs().map(detachByPerson));
  } else if (wish === 'setAddress' && address !== undefined) {
    const checked = checkAddress(address);
    if ('address' in checked) {
      await saveAddress(checked.address);
      await connect();
    }
  } else if (wish === 'setEnabled' && enabled !== undefined) {
    if (!enabled) {
      await Promise.all(attachments.attachedTabs().map(detachByPerson));
    }
    await saveEnabled(enabled);
    await connect();
  }
  refresh();
}

/** Shows the present state on the button, and in the popup where it is open. */
function refresh() {
  const state = { state: link.state, address: link.address, attached: attachments.attachedTabs() };
  const face = `${state.state} ${state.attached.length}`;
  // Each change of the button is four calls to Chrome, and tabs change often.
  if (face !== shownFace) {
    shownFace = face;
    showBadge(state.state, state.attached.length);
  }
  for (const popup of popups) {
    popup.postMessage(state);
  }
}

// ---- life ----

// The relay's pings keep this worker alive while it is connected; without a relay the alarm starts it again.
chrome.alarms.create(RECONNECT_ALARM, { periodInMinutes: 0.5 });
chrome.alarms.onAlarm.addListener(({ name }) => {
  if (name === RECONNECT_ALARM) {
    connect();
  }
});
chrome.runtime.onStartup.addListener(connect);
chrome.runtime.onInstalled.addListener(connect);
connect();
