/**
 * What every client of the battery finds: a browser with eight tabs of a person, two of them with a
 * cross-site frame and one discarded, and a site to work on. Also how the person sees the browser,
 * without any client library, so that looking changes nothing.
 */

import { EXTENSION_ID, startChain, until } from '../../harness/processes.mjs';
import { connectRaw, evaluateIn } from '../../harness/raw_client.mjs';
import { html, startSite } from '../../harness/site.mjs';

/** The person's tabs, in their order. The first one is in front. */
const TABS = [
  '/reading',
  '/inbox',
  '/notes',
  '/form',
  '/framed',
  '/framed-too',
  '/later',
  '/music',
];
const DISCARDED = '/later';
const SCROLLED_TO = 400;

const framed = html(
  (site) =>
    `<title>Framed</title><p>around</p><iframe id="inner" src="${site.url('/inner', 'localhost')}"></iframe>`,
);

const PAGES = {
  '/reading': '<title>Reading</title><div style="height: 3000px">A long text</div>',
  '/inbox': (_request, response) =>
    response
      .setHeader('content-type', 'text/html')
      .setHeader('set-cookie', 'person=known; HttpOnly; Path=/')
      .end('<title>Inbox</title><p>Two letters</p>'),
  '/notes': '<title>Notes</title><script>window.answer = 42</script>',
  '/form': `<title>Form</title><button id="press" onclick="document.querySelector('output').textContent++">Press</button>
    <output>0</output><input id="name" aria-label="Name">`,
  '/framed': framed,
  '/framed-too': framed,
  '/inner': '<title>Inner</title><p id="text">inside the frame</p>',
  '/later': '<title>Later</title>',
  '/music': '<title>Music</title>',
  '/work': `<title>Work</title><style>body { background: teal }</style>
    <button id="popup" onclick="window.open('/popup')">Open popup</button>
    <a id="download" href="/file">Download file</a>`,
  '/next': '<title>Next</title><p>next page</p>',
  '/popup': '<title>Popup</title><p>popped up</p>',
  '/data': (_request, response) =>
    response.setHeader('content-type', 'text/plain').end('from the network'),
  '/file': (_request, response) =>
    response
      .setHeader('content-type', 'application/octet-stream')
      .setHeader('content-disposition', 'attachment; filename="report.txt"')
      .end('bytes of the report'),
};

/** Runs functions in the extension's service worker, and reads pages, through Chromium's own port. */
async function watch(chain) {
  const client = await connectRaw(chain.chromium.ownUrl);
  const { targetInfos } = await client.send('Target.getTargets');
  const isWorker = ({ type, url }) => type === 'service_worker' && url.includes(EXTENSION_ID);
  const { targetId } = targetInfos.find(isWorker);
  const attached = await client.send('Target.attachToTarget', { targetId, flatten: true });
  return {
    /** Calls a function in the extension with an argument that can be written as JSON. */
    inExtension: (run, argument = null) =>
      evaluateIn(client, attached.sessionId, `(${run})(${JSON.stringify(argument)})`),
    /** Evaluates an expression in the page at this address. It is attached only meanwhile. */
    async inPage(url, expression) {
      const sessionId = await client.attach(url);
      const value = await evaluateIn(client, sessionId, expression);
      await client.send('Target.detachFromTarget', { sessionId });
      return value;
    },
    close: () => client.close(),
  };
}

/** Opens the tabs as the person would: one in front, the others in the background. */
const openTabs = async (urls) => {
  const [first] = await chrome.tabs.query({});
  await chrome.tabs.update(first.id, { url: urls[0] });
  for (const url of urls.slice(1)) {
    await chrome.tabs.create({ url, active: false });
  }
};

const areLoaded = async (urls) => {
  const tabs = await chrome.tabs.query({});
  return (
    tabs.length === urls.length &&
    tabs.every(({ url, status }) => urls.includes(url) && status === 'complete')
  );
};

const discardTab = async (url) => {
  const [tab] = await chrome.tabs.query({ url });
  await chrome.tabs.discard(tab.id);
};

/** The browser as its window shows it. */
const readWindows = async () => {
  const windows = await chrome.windows.getAll({ populate: true });
  return Promise.all(
    windows.map(async ({ left, top, width, height, state, tabs }) => ({
      bounds: [left, top, width, height, state].join(' '),
      tabs: await Promise.all(
        tabs.map(async ({ id, url, title, active, discarded, pinned, groupId }) => ({
          ...{ url, title, active, discarded, pinned, groupId },
          zoom: await chrome.tabs.getZoom(id),
        })),
      ),
    })),
  );
};

/** What a page sees of itself. */
const READ_PAGE = `({ width: innerWidth, height: innerHeight, ratio: devicePixelRatio, scroll: scrollY,
  visibility: document.visibilityState, dark: matchMedia('(prefers-color-scheme: dark)').matches,
  agent: navigator.userAgent, language: navigator.language, touch: navigator.maxTouchPoints,
  zone: Intl.DateTimeFormat().resolvedOptions().timeZone })`;

/** The addresses of the tabs to which any debugger is attached, according to Chrome. */
const readAttached = async () =>
  (await chrome.debugger.getTargets())
    .filter(({ type, attached }) => type === 'page' && attached)
    .map(({ url }) => url);

const closeTabsExcept = async (urls) => {
  const tabs = await chrome.tabs.query({});
  await chrome.tabs.remove(tabs.filter(({ url }) => !urls.includes(url)).map(({ id }) => id));
};

/** The differences between two values, as lines with the path of each. */
export function differences(before, after, path = '') {
  const isObject = (value) => value !== null && typeof value === 'object';
  if (!isObject(before) || !isObject(after)) {
    return Object.is(before, after) ? [] : [`${path}: ${before} became ${after}`];
  }
  const keys = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...keys].flatMap((key) =>
    differences(before[key], after[key], path ? `${path} ${key}` : key),
  );
}

/** Starts the site, the relay and the browser, and opens the person's tabs. */
export async function startScene({ discards = true } = {}) {
  const site = await startSite(PAGES);
  const chain = await startChain();
  const watcher = await watch(chain);
  const urls = TABS.map((tab) => site.url(tab));
  const scene = {
    chain,
    site,
    /** The addresses of the person's tabs. */
    urls,
    attached: () => watcher.inExtension(readAttached),
    closeOtherTabs: () => watcher.inExtension(closeTabsExcept, urls),
    /** Everything that a client must leave as it was. */
    async look() {
      const pages = {};
      for (const url of urls.filter((each) => each !== site.url(DISCARDED))) {
        pages[new URL(url).pathname] = await watcher.inPage(url, READ_PAGE).catch(String);
      }
      return { windows: await watcher.inExtension(readWindows), pages };
    },
    async stop() {
      await watcher.close().catch(() => {});
      await chain.stop();
      site.stop();
    },
  };
  try {
    await watcher.inExtension(openTabs, urls);
    await until('the tabs have loaded', () => watcher.inExtension(areLoaded, urls));
    await watcher.inPage(urls[0], `scrollTo(0, ${SCROLLED_TO})`);
    if (discards) {
      await watcher.inExtension(discardTab, site.url(DISCARDED));
    }
    return scene;
  } catch (error) {
    await scene.stop();
    throw error;
  }
}
