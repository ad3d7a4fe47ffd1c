/**
 * The service worker's entry point: registers listeners and connects the modules. Chrome stops the
 * worker at will and starts it again for an event, so every listener is registered before anything
 * is awaited.
 */

import { watchDebugger } from './attachments.js';
import { countEvent, reportThrottlingTo } from './back_pressure.js';
import { onDebuggerEvent, reportDownloadsTo } from './downloads.js';
import { watchFocus } from './focus_guard.js';
import { onPopupMessage } from './popup_messages.js';
import { RelaySession } from './relay_session.js';
import { setInUse, watchAlarms } from './revival.js';
import { addWatcher, showStatus } from './status.js';
import { watchTabs } from './tab_events.js';
import { onInstalled } from './welcome_tab.js';

const session = new RelaySession(showCurrentStatus);
const connect = () => session.connect();

function showCurrentStatus() {
  const { status } = session;
  setInUse(status.agents.length > 0 || status.attached.length > 0);
  showStatus(status);
}

// First, because Chrome takes a while to answer what this asks. Nothing of that arrives before all
// listeners are registered.
connect();

watchDebugger({
  onEvent: (tabId, method, params, childSessionId) => {
    countEvent(tabId, childSessionId);
    if (!onDebuggerEvent(tabId, method, params)) {
      session.forwardEvent(tabId, method, params, childSessionId);
    }
  },
  onDetached: (tabId, reason) => session.notify('tabDetached', { tabId, reason }),
  // "Cancel" in Chrome's notice is meant for every agent, not only for the tabs that are in use.
  onCancelled: () => session.pause(),
});
watchTabs(session.notify.bind(session));
reportThrottlingTo(session.notify.bind(session));
reportDownloadsTo(session.notify.bind(session));
watchFocus();

// The popup and the welcome page. Whoever opens one wants to know the status now.
chrome.runtime.onConnect.addListener((watcher) => {
  addWatcher(watcher, () => session.setWatched(false));
  watcher.onMessage.addListener(async (message) => {
    await onPopupMessage(session, message);
    showCurrentStatus();
  });
  session.setWatched(true);
  connect();
  showCurrentStatus();
});

watchAlarms(() => {
  if (session.status.state !== 'connected') {
    connect();
  }
});
chrome.runtime.onStartup.addListener(connect);
chrome.runtime.onInstalled.addListener((details) => {
  onInstalled(details);
  connect();
});
