/**
 * A browser for the extension's own tests: tabs, debugger, storage and events, held in memory.
 *
 * It behaves as Chrome does where the extension relies on it (a second attach is refused, a tab that has gone is an
 * error), records every call in `calls`, and lets a test answer any call in its own way with `answer`. Every answer comes
 * after a microtask, so `turn()` is enough to see the end of whatever was started.
 */

/** One turn of the event loop: everything that waits for the fakes alone has happened after it. */
export const turn = () => new Promise((resolve) => setImmediate(resolve));

/** An event as Chrome's `addListener` offers it; `fire` is the test's. */
class FakeEvent {
  #listeners = new Set();

  addListener(listener) {
    this.#listeners.add(listener);
  }

  get isHeard() {
    return this.#listeners.size > 0;
  }

  fire(...args) {
    for (const listener of this.#listeners) {
      listener(...args);
    }
  }
}

/** The popup's end of a port to the service worker. */
export class FakePort {
  /** What the worker has posted. */
  posted = [];
  onMessage = new FakeEvent();
  onDisconnect = new FakeEvent();

  postMessage(message) {
    this.posted.push(message);
  }
}

export class FakeBrowser {
  /** Every call to an API, as `['debugger.attach', ...arguments]`. */
  calls = [];
  /** @type {Map<number, object>} */
  tabs = new Map();
  /** @type {Set<number>} The tabs whose debugger this extension holds. */
  attached = new Set();
  local = {};
  session = {};
  /** The port in `relay.json`. */
  installedPort = 19222;
  #answers = new Map();
  #lastTabId = 900;

  constructor(...tabs) {
    for (const tab of tabs) {
      this.addTab(tab);
    }
    this.chrome = this.#makeChrome();
  }

  /** A tab that is just there; nobody is told. */
  addTab(tab) {
    const id = tab.id ?? (this.#lastTabId += 1);
    this.tabs.set(id, { title: '', status: 'complete', windowId: 1, ...tab, id });
    return this.tabs.get(id);
  }

  /** The person opens a tab, or a page of the tab `openedBy` does. */
  openTab(tab, openedBy) {
    const opened = this.addTab(tab);
    this.chrome.tabs.onCreated.fire({ ...opened });
    if (openedBy !== undefined) {
      this.chrome.webNavigation.onCreatedNavigationTarget.fire({
        tabId: opened.id,
        sourceTabId: openedBy,
        url: opened.url,
      });
    }
    return opened;
  }

  /** The person navigates, or a page changes its title. */
  changeTab(id, change) {
    Object.assign(this.tabs.get(id), change);
    this.chrome.tabs.onUpdated.fire(id, change, { ...this.tabs.get(id) });
  }

  closeTab(id) {
    this.tabs.delete(id);
    this.attached.delete(id);
    this.chrome.tabs.onRemoved.fire(id, {});
  }

  /** From now on this call is answered by `make`, which may throw, or wait. */
  answer(name, make) {
    this.#answers.set(name, make);
  }

  /** The arguments of every call of this name, oldest first. */
  callsOf(name) {
    return this.calls.filter(([called]) => called === name).map(([, ...args]) => args);
  }

  /** Chrome's DevTools id of a tab's page. */
  targetId(tabId) {
    return this.tabs.get(tabId)?.targetId ?? `TARGET-${tabId}`;
  }

  #makeChrome() {
    const known = (id) => {
      const tab = this.tabs.get(id);
      if (!tab) {
        throw new Error(`No tab with id: ${id}.`);
      }
      return { ...tab };
    };
    const api =
      (name, usual) =>
      async (...args) => {
        this.calls.push([name, ...args]);
        return (this.#answers.get(name) ?? usual)(...args);
      };
    return {
      debugger: {
        attach: api('debugger.attach', ({ tabId }) => {
          known(tabId);
          if (this.attached.has(tabId)) {
            throw new Error(`Another debugger is already attached to the tab with id: ${tabId}.`);
          }
          this.attached.add(tabId);
        }),
        detach: api('debugger.detach', ({ tabId }) => {
          if (!this.attached.delete(tabId)) {
            throw new Error(`Debugger is not attached to the tab with id: ${tabId}.`);
          }
        }),
        sendCommand: api('debugger.sendCommand', () => ({})),
        getTargets: api('debugger.getTargets', () => this.#targets()),
        onEvent: new FakeEvent(),
        onDetach: new FakeEvent(),
      },
      tabs: {
        get: api('tabs.get', known),
        query: api('tabs.query', () => [...this.tabs.keys()].map(known)),
        create: api('tabs.create', ({ url }) => this.openTab({ url })),
        update: api('tabs.update', known),
        reload: api('tabs.reload', known),
        remove: api('tabs.remove', (id) => {
          known(id);
          this.closeTab(id);
        }),
        onCreated: new FakeEvent(),
        onUpdated: new FakeEvent(),
        onRemoved: new FakeEvent(),
        onReplaced: new FakeEvent(),
      },
      webNavigation: {
        onCreatedNavigationTarget: new FakeEvent(),
        onCommitted: new FakeEvent(),
        onErrorOccurred: new FakeEvent(),
        onHistoryStateUpdated: new FakeEvent(),
        onReferenceFragmentUpdated: new FakeEvent(),
        onDOMContentLoaded: new FakeEvent(),
      },
      windows: {
        create: api('windows.create', ({ url }) => ({
          tabs: [this.openTab({ url, windowId: 2 })],
        })),
        update: api('windows.update', () => ({})),
      },
      storage: {
        local: this.#makeStorage('local', api),
        session: this.#makeStorage('session', api),
      },
      alarms: { create: api('alarms.create', () => {}), onAlarm: new FakeEvent() },
      runtime: {
        getManifest: () => ({ version: '0.1.0' }),
        getURL: (path) => `chrome-extension://tabwire/${path}`,
        onConnect: new FakeEvent(),
        onStartup: new FakeEvent(),
        onInstalled: new FakeEvent(),
      },
      action: {
        setBadgeText: api('action.setBadgeText', () => {}),
        setBadgeBackgroundColor: api('action.setBadgeBackgroundColor', () => {}),
        setBadgeTextColor: api('action.setBadgeTextColor', () => {}),
        setTitle: api('action.setTitle', () => {}),
      },
    };
  }

  #makeStorage(area, api) {
    return {
      get: api(`storage.${area}.get`, (keys) => {
        const wanted = [keys].flat().filter((key) => key in this[area]);
        return structuredClone(Object.fromEntries(wanted.map((key) => [key, this[area][key]])));
      }),
      set: api(`storage.${area}.set`, (values) => {
        Object.assign(this[area], structuredClone(values));
      }),
      remove: api(`storage.${area}.remove`, (key) => {
        delete this[area][key];
      }),
    };
  }

  /** Beside its page, a tab has targets of other types, and there are targets without a tab. */
  #targets() {
    const pages = [...this.tabs.values()].filter((tab) => tab.targetId !== null);
    return pages.flatMap(({ id }) => [
      { id: `WORKER-${id}`, tabId: id, type: 'worker', attached: false },
      { id: this.targetId(id), tabId: id, type: 'page', attached: this.attached.has(id) },
      { id: `FRAME-${id}`, tabId: id, type: 'other', attached: false },
      { id: 'SERVICE-WORKER', type: 'worker', attached: false },
    ]);
  }
}
