/**
 * An in-memory browser for unit tests of the extension: tabs, debugger, storage and events.
 *
 * It behaves like Chrome where the extension relies on it: a second attach fails, and so does a
 * call for a closed tab. It records every call in `calls`. A test can replace the result of any
 * call with `stub`. Every call returns after a microtask, so after `settle()` everything that was
 * started has finished.
 */

import { SECRET } from '../harness/handshake.mjs';
import { FakeDownloads } from './fake_downloads.mjs';
import { FakeEvent } from './fake_event.mjs';

/** How many operations of Web Crypto are in flight. Node runs them in another thread. */
let cryptoOperations = 0;
for (const name of ['digest', 'importKey', 'sign', 'verify']) {
  const run = crypto.subtle[name].bind(crypto.subtle);
  crypto.subtle[name] = async (...args) => {
    cryptoOperations += 1;
    try {
      return await run(...args);
    } finally {
      cryptoOperations -= 1;
    }
  };
}

/**
 * Waits for one turn of the event loop, in which everything that depends only on the fakes
 * finishes, and for further turns while Web Crypto is working.
 */
export async function settle() {
  do {
    await new Promise((resolve) => setImmediate(resolve));
  } while (cryptoOperations > 0);
}

/** The port that the service worker gets when a popup connects. */
export class FakePort {
  /** The messages that the worker has posted. */
  posted = [];
  onMessage = new FakeEvent();
  onDisconnect = new FakeEvent();

  postMessage(message) {
    this.posted.push(message);
  }
}

export class FakeBrowser {
  /** Every API call, as `['debugger.attach', ...arguments]`. */
  calls = [];
  /** @type {Map<number, object>} */
  tabs = new Map();
  /** @type {Set<number>} The tabs with a debugger attached. */
  attached = new Set();
  /** @type {Map<number, object>} */
  windows = new Map();
  /** @type {Map<number, { windowId: number, title?: string }>} Groups exist as long as their tabs. */
  groups = new Map();
  /** @type {Map<string, number>} The alarms that are set, and how many seconds apart they go off. */
  alarms = new Map();
  /** The cookies of the profile, as `chrome.cookies` describes them. */
  cookies = [];
  /** The browser's list of downloads. */
  downloads = new FakeDownloads();
  /** The content settings that the extension has set: `['location', pattern, setting]`. */
  contentSettings = [];
  local = {};
  session = {};
  /** The content of `pairing.json`. */
  pairingFile = { port: 19222, secret: SECRET, welcome: true };
  /**
   * What listens at the relay's address: `none`; `silent`, which accepts a connection and sends
   * nothing; or an HTTP server, which `answers`.
   */
  listener = 'answers';
  #stubs = new Map();
  #lastTabId = 900;

  constructor(...tabs) {
    for (const tab of tabs) {
      this.addTab(tab);
    }
    this.chrome = this.#makeChrome();
  }

  /** Adds a tab without firing an event. */
  addTab(tab) {
    const id = tab.id ?? (this.#lastTabId += 1);
    this.tabs.set(id, { title: '', status: 'complete', windowId: 1, ...tab, id });
    return this.tabs.get(id);
  }

  /** The user opens a tab, or the page in the tab `openedBy` does. */
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

  /** The user navigates, or a page changes its title. */
  changeTab(id, change) {
    Object.assign(this.tabs.get(id), change);
    this.chrome.tabs.onUpdated.fire(id, change, { ...this.tabs.get(id) });
  }

  closeTab(id) {
    this.tabs.delete(id);
    this.attached.delete(id);
    this.chrome.tabs.onRemoved.fire(id, {});
  }

  /** `fetch` as the extension calls it: for its own files, and to see whether a relay is listening. */
  async fetch(url, { signal } = {}) {
    this.calls.push(['fetch', url]);
    if (url.startsWith('chrome-extension:')) {
      return { json: async () => structuredClone(this.pairingFile) };
    }
    signal.throwIfAborted();
    if (this.listener === 'silent') {
      await new Promise((_resolve, reject) =>
        signal.addEventListener('abort', () => reject(signal.reason)),
      );
    }
    if (this.listener === 'none') {
      throw new TypeError('Failed to fetch');
    }
    return { type: 'opaque', status: 0 };
  }

  /** From now on `handler` handles calls of this name. It may throw, or return a promise. */
  stub(name, handler) {
    this.#stubs.set(name, handler);
  }

  /** The arguments of every call of this name, oldest first. */
  callsTo(name) {
    return this.calls.filter(([called]) => called === name).map(([, ...args]) => args);
  }

  /** The DevTools target id of a tab's page. */
  targetId(tabId) {
    return this.tabs.get(tabId)?.targetId ?? `TARGET-${tabId}`;
  }

  #makeChrome() {
    return {
      debugger: this.#makeDebugger(),
      tabs: this.#makeTabs(),
      tabGroups: {
        get: this.#api('tabGroups.get', (id) => {
          if (![...this.tabs.values()].some(({ groupId }) => groupId === id)) {
            throw new Error(`No group with id: ${id}.`);
          }
          return { id, ...this.groups.get(id) };
        }),
        update: this.#api('tabGroups.update', (id, change) =>
          Object.assign(this.groups.get(id), change),
        ),
      },
      webNavigation: {
        onCreatedNavigationTarget: new FakeEvent(),
        onCommitted: new FakeEvent(),
        onErrorOccurred: new FakeEvent(),
        onHistoryStateUpdated: new FakeEvent(),
        onReferenceFragmentUpdated: new FakeEvent(),
        onDOMContentLoaded: new FakeEvent(),
        getAllFrames: this.#api('webNavigation.getAllFrames', () => []),
      },
      windows: {
        create: this.#api('windows.create', ({ url }) => ({
          id: 2,
          tabs: [this.openTab({ url, windowId: 2 })],
        })),
        get: this.#api('windows.get', (id) => {
          if (!this.windows.has(id)) {
            throw new Error(`No window with id: ${id}.`);
          }
          return { id, ...this.windows.get(id) };
        }),
        update: this.#api('windows.update', () => ({})),
        getLastFocused: this.#api('windows.getLastFocused', () => {
          const [found] = [...this.windows].filter(([, { focused }]) => focused);
          return found ? { id: found[0], ...found[1] } : { id: 1, focused: false };
        }),
        onFocusChanged: new FakeEvent(),
        onRemoved: new FakeEvent(),
      },
      cookies: this.#makeCookies(),
      downloads: this.downloads.makeApi((name, implementation) =>
        this.#api(`downloads.${name}`, implementation),
      ),
      contentSettings: Object.fromEntries(
        [
          'location',
          'notifications',
          'microphone',
          'camera',
          'clipboard',
          'automaticDownloads',
        ].map((type) => [type, this.#makeContentSetting(type)]),
      ),
      storage: { local: this.#makeStorage('local'), session: this.#makeStorage('session') },
      alarms: {
        create: this.#api('alarms.create', (name, { periodInMinutes }) => {
          this.alarms.set(name, periodInMinutes * 60);
        }),
        clear: this.#api('alarms.clear', (name) => this.alarms.delete(name)),
        onAlarm: new FakeEvent(),
      },
      runtime: {
        getManifest: () => ({ version: '0.1.0' }),
        getPlatformInfo: this.#api('runtime.getPlatformInfo', () => ({ os: 'linux' })),
        getURL: (path) => `chrome-extension://tabwire/${path}`,
        onConnect: new FakeEvent(),
        onStartup: new FakeEvent(),
        onInstalled: new FakeEvent(),
      },
      action: {
        setIcon: this.#api('action.setIcon', () => {}),
        setBadgeText: this.#api('action.setBadgeText', () => {}),
        setBadgeBackgroundColor: this.#api('action.setBadgeBackgroundColor', () => {}),
        setBadgeTextColor: this.#api('action.setBadgeTextColor', () => {}),
        setTitle: this.#api('action.setTitle', () => {}),
      },
    };
  }

  #makeDebugger() {
    return {
      attach: this.#api('debugger.attach', ({ tabId }) => {
        this.#getTab(tabId);
        if (this.attached.has(tabId)) {
          throw new Error(`Another debugger is already attached to the tab with id: ${tabId}.`);
        }
        this.attached.add(tabId);
      }),
      detach: this.#api('debugger.detach', ({ tabId }) => {
        if (!this.attached.delete(tabId)) {
          throw new Error(`Debugger is not attached to the tab with id: ${tabId}.`);
        }
      }),
      sendCommand: this.#api('debugger.sendCommand', (target, method, params) =>
        this.#runCommand(target, method, params),
      ),
      getTargets: this.#api('debugger.getTargets', () => this.#targets()),
      onEvent: new FakeEvent(),
      onDetach: new FakeEvent(),
    };
  }

  #runCommand({ tabId }, method, params) {
    if (method === 'Target.getTargetInfo') {
      return { targetInfo: { targetId: this.targetId(tabId) } };
    }
    if (method === 'Target.closeTarget') {
      const isPage = (id) => this.targetId(id) === params.targetId;
      const closed = [...this.tabs.keys()].find(isPage);
      queueMicrotask(() => this.closeTab(closed));
      return { success: true };
    }
    return {};
  }

  /** A cookie is identified by its name, host, path and partition. One that expires is removed. */
  #makeCookies() {
    const keyOf = ({ name, domain, path, partitionKey }) =>
      JSON.stringify([name, domain, path, partitionKey?.topLevelSite]);
    return {
      getAll: this.#api('cookies.getAll', ({ name }) =>
        structuredClone(
          this.cookies.filter((cookie) => name === undefined || cookie.name === name),
        ),
      ),
      set: this.#api('cookies.set', ({ url, expirationDate, domain, ...details }) => {
        const cookie = {
          hostOnly: domain === undefined,
          domain: domain ?? new URL(url).hostname,
          session: expirationDate === undefined,
          storeId: '0',
          ...(expirationDate === undefined ? {} : { expirationDate }),
          ...details,
        };
        if (cookie.name.includes(';')) {
          throw new Error(`Failed to parse or set cookie named "${cookie.name}".`);
        }
        this.cookies = this.cookies.filter((other) => keyOf(other) !== keyOf(cookie));
        if (expirationDate === undefined || expirationDate > Date.now() / 1000) {
          this.cookies.push(cookie);
        }
      }),
      remove: this.#api('cookies.remove', ({ name, url }) => {
        const { hostname } = new URL(url);
        this.cookies = this.cookies.filter(
          (cookie) => cookie.name !== name || cookie.domain.replace(/^\./, '') !== hostname,
        );
      }),
    };
  }

  /** Rules can be replaced one by one, but removed only all at once. */
  #makeContentSetting(type) {
    const keep = (isKept) => (this.contentSettings = this.contentSettings.filter(isKept));
    return {
      set: this.#api(`contentSettings.${type}.set`, ({ primaryPattern, setting }) => {
        keep(([other, pattern]) => other !== type || pattern !== primaryPattern);
        this.contentSettings.push([type, primaryPattern, setting]);
      }),
      clear: this.#api(`contentSettings.${type}.clear`, () => keep(([other]) => other !== type)),
    };
  }

  #makeTabs() {
    const getTab = (id) => this.#getTab(id);
    return {
      get: this.#api('tabs.get', getTab),
      query: this.#api('tabs.query', () => [...this.tabs.keys()].map(getTab)),
      create: this.#api('tabs.create', ({ url }) => this.openTab({ url })),
      update: this.#api('tabs.update', getTab),
      reload: this.#api('tabs.reload', getTab),
      group: this.#api('tabs.group', ({ tabIds, groupId, createProperties }) => {
        const id = groupId ?? this.groups.size + 70;
        if (groupId === undefined) {
          this.groups.set(id, { windowId: createProperties.windowId });
        }
        this.tabs.get(tabIds).groupId = id;
        return id;
      }),
      remove: this.#api('tabs.remove', (id) => {
        getTab(id);
        this.closeTab(id);
      }),
      onCreated: new FakeEvent(),
      onUpdated: new FakeEvent(),
      getZoomSettings: this.#api('tabs.getZoomSettings', (id) => ({
        mode: getTab(id).isPdf ? 'manual' : 'automatic',
      })),
      onActivated: new FakeEvent(),
      onZoomChange: new FakeEvent(),
      onRemoved: new FakeEvent(),
      onReplaced: new FakeEvent(),
    };
  }

  /** An API function that records its calls, and that a test can stub. */
  #api(name, implementation) {
    return async (...args) => {
      this.calls.push([name, ...args]);
      return (this.#stubs.get(name) ?? implementation)(...args);
    };
  }

  #getTab(id) {
    const tab = this.tabs.get(id);
    if (!tab) {
      throw new Error(`No tab with id: ${id}.`);
    }
    return { ...tab };
  }

  #makeStorage(area) {
    return {
      get: this.#api(`storage.${area}.get`, (keys) => {
        const wanted = [keys].flat().filter((key) => key in this[area]);
        return structuredClone(Object.fromEntries(wanted.map((key) => [key, this[area][key]])));
      }),
      set: this.#api(`storage.${area}.set`, (values) => {
        Object.assign(this[area], structuredClone(values));
      }),
      remove: this.#api(`storage.${area}.remove`, (keys) => {
        for (const key of [keys].flat()) {
          delete this[area][key];
        }
      }),
    };
  }

  /** A tab has targets of other types besides its page, and some targets have no tab. */
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
