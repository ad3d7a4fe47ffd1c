/**
 * The calls that the relay or the extension carries out by itself, because Chrome does not grant them
 * to an extension's debugger or would have to attach it.
 */

import path from 'node:path';

const COUNT = 5_000;
const SITE = 'https://bench.example';

/**
 * One side of the comparison.
 * @typedef {object} Side
 * @property {Awaited<ReturnType<typeof import('../harness/raw_client.mjs').connectRaw>>} client
 * @property {string} session A session of it in a page that is used.
 * @property {() => Promise<void>} use Opens this session.
 * @property {() => Promise<unknown>} stopUsing Ends it, so that no tab is used.
 * @property {string[]} targetIds Other tabs, which nobody uses.
 * @property {number} windowId
 * @property {import('playwright-core').Page} dormantPage One of these tabs in Playwright.
 * @property {(method: string, path: string) => Promise<any>} http
 * @property {string} [dormant] A session of it in a page that nobody uses.
 * @property {string} folder For downloads.
 * @property {number} count Different in every call.
 *
 * `run` is measured `times` times per round. `before` returns what it needs, and `after` cleans up.
 * @typedef {object} EmulatedCall
 * @property {string} name
 * @property {number} [times]
 * @property {(side: Side) => Promise<any>} [before]
 * @property {(side: Side, prepared: any) => Promise<any>} run
 * @property {(side: Side, result: any) => Promise<unknown>} [after]
 * @property {{ times: number, before?: Function, run: Function }} [bare] The same in an extension that only
 *   calls `chrome.cookies`.
 */

/** A command without a session, with the same parameters each time. */
const command = (method, params = {}) => ({
  name: method,
  run: ({ client }) => client.send(method, params),
});

const close = ({ client }, targetId) => client.send('Target.closeTarget', { targetId });

/** `Target.createTarget`, and closing what it has opened. */
const createTarget = (what, params) => ({
  name: `Target.createTarget${what}`,
  times: 5,
  run: ({ client }) => client.send('Target.createTarget', { url: 'about:blank', ...params }),
  after: (side, { targetId }) => close(side, targetId),
});

// Chrome keeps at most 3,300 cookies, and partitioned ones beside them.
export const COOKIES = Array.from({ length: COUNT }, (_, index) => {
  const isPartitioned = index >= 3_000;
  const topLevelSite = `https://top${Math.floor(index / 25)}.example`;
  return {
    name: `name${index % 25}`,
    value: `value${index}`,
    domain: `site${Math.floor(index / 25)}.example`,
    secure: isPartitioned,
    expires: Math.floor(Date.now() / 1_000) + 86_400,
    ...(isPartitioned ? { partitionKey: { topLevelSite, hasCrossSiteAncestor: true } } : {}),
  };
});
const setCookies = ({ client }) => client.send('Storage.setCookies', { cookies: COOKIES });
const clearCookies = ({ client }) => client.send('Storage.clearCookies');

const ONE = { name: 'one', domain: 'one.example' };
const setOne = ({ client }) =>
  client.send('Storage.setCookies', { cookies: [{ ...ONE, value: '1' }] });
const deleteOne = ({ client, session }) => client.send('Network.deleteCookies', ONE, session);

/** A session in a page that nobody uses. */
const useDormant = async (side) => {
  const params = { targetId: side.targetIds[0], flatten: true };
  side.dormant = (await side.client.send('Target.attachToTarget', params)).sessionId;
  return side.dormant;
};
const stopUsingDormant = ({ client, dormant }) =>
  client.send('Target.detachFromTarget', { sessionId: dormant });

const whileNoTabIsUsed = (prepare, run) => ({
  times: 1,
  before: async (side) => {
    await prepare(side);
    await side.stopUsing();
  },
  run,
  after: (side) => side.use(),
});

/** The same in an extension that only calls `chrome.cookies`, where these are done before. */
const bare = (name, times, ...before) => ({
  times,
  async before(extension) {
    for (const each of before) {
      await extension.evaluate(each);
    }
  },
  run: (extension) => extension.run(name),
});

const permissions = ['geolocation', 'notifications'];
const grant = ({ client }) =>
  client.send('Browser.grantPermissions', { origin: SITE, permissions });
const reset = ({ client }) => client.send('Browser.resetPermissions');

const setDownloadBehavior = ({ client, folder }) =>
  client.send('Browser.setDownloadBehavior', {
    behavior: 'allowAndName',
    downloadPath: folder,
    eventsEnabled: true,
  });

/** From the click until the client knows that the file is there. */
async function download(side) {
  const { client, session } = side;
  client.events.length = 0;
  await setDownloadBehavior(side);
  const expression = `document.querySelector('a').click()`;
  await client.send('Runtime.evaluate', { expression, userGesture: true }, session);
  const { params } = await client.waitFor(
    ({ method, params }) => method === 'Browser.downloadProgress' && params.state === 'completed',
  );
  return path.join(side.folder, params.guid);
}

/** @type {EmulatedCall[]} */
export const CALLS = [
  command('Browser.getVersion'),
  { name: 'Browser.grantPermissions', run: grant, after: reset },
  {
    name: 'Browser.setPermission',
    run: ({ client, count }) =>
      client.send('Browser.setPermission', {
        origin: SITE,
        permission: { name: 'geolocation' },
        setting: count % 2 ? 'granted' : 'denied',
      }),
    after: reset,
  },
  { name: 'Browser.resetPermissions', before: grant, run: reset },
  {
    name: 'Browser.getWindowForTarget',
    run: ({ client, targetIds }) =>
      client.send('Browser.getWindowForTarget', { targetId: targetIds[0] }),
  },
  {
    name: 'Browser.getWindowBounds',
    run: ({ client, windowId }) => client.send('Browser.getWindowBounds', { windowId }),
  },
  {
    name: 'Browser.setWindowBounds',
    run: ({ client, windowId, count }) => {
      const bounds = { left: 10 + (count % 2) * 10, top: 10, width: 900, height: 700 };
      return client.send('Browser.setWindowBounds', { windowId, bounds });
    },
  },
  command('Target.getTargets'),
  {
    name: 'Target.getTargetInfo',
    run: ({ client, targetIds }) => client.send('Target.getTargetInfo', { targetId: targetIds[0] }),
  },
  createTarget('', {}),
  createTarget(', background', { background: true }),
  createTarget(', newWindow', { newWindow: true }),
  createTarget(', sized window', { newWindow: true, width: 640, height: 480 }),
  {
    name: 'Target.closeTarget',
    times: 5,
    before: async ({ client }) =>
      (await client.send('Target.createTarget', { url: 'about:blank', background: true })).targetId,
    run: close,
  },
  {
    name: 'Target.activateTarget',
    run: ({ client, targetIds, count }) =>
      client.send('Target.activateTarget', { targetId: targetIds[count % 2] }),
  },
  { name: 'GET /json/version', run: ({ http }) => http('GET', '/json/version') },
  { name: 'GET /json/list', run: ({ http }) => http('GET', '/json/list') },
  {
    name: 'PUT /json/new',
    times: 5,
    run: ({ http }) => http('PUT', '/json/new?about:blank'),
    after: (side, { id }) => close(side, id),
  },
  { name: 'page.title() of a dormant tab', run: ({ dormantPage }) => dormantPage.title() },
  { name: 'Browser.setDownloadBehavior', run: setDownloadBehavior },
  { name: 'a small download, until completed', times: 5, run: download },
  {
    name: `Storage.setCookies, ${COUNT}`,
    times: 1,
    before: clearCookies,
    run: setCookies,
  },
  {
    name: `Storage.getCookies, ${COUNT}`,
    times: 3,
    run: command('Storage.getCookies').run,
    bare: bare('getCookies', 3, 'setCookies'),
  },
  {
    name: 'Storage.setCookies, one more',
    run: ({ client, count }) => {
      const cookie = { name: 'one', value: String(count), domain: 'one.example' };
      return client.send('Storage.setCookies', { cookies: [cookie] });
    },
  },
  { name: 'Network.deleteCookies, one', before: setOne, run: deleteOne },
  {
    name: 'Network.deleteCookies, one, dormant page',
    before: async (side) => {
      await setOne(side);
      return useDormant(side);
    },
    run: ({ client }, session) => deleteOne({ client, session }),
    after: stopUsingDormant,
  },
  {
    name: 'Network.getCookies, dormant page',
    before: useDormant,
    run: ({ client }, session) => client.send('Network.getCookies', {}, session),
    after: stopUsingDormant,
  },
  { name: `Storage.clearCookies, ${COUNT}`, times: 1, before: setCookies, run: clearCookies },
  {
    name: `Storage.setCookies, ${COUNT}, no tab used`,
    ...whileNoTabIsUsed(clearCookies, setCookies),
    bare: bare('setCookies', 1, 'clearCookies'),
  },
  {
    name: `Storage.clearCookies, ${COUNT}, no tab used`,
    ...whileNoTabIsUsed(setCookies, clearCookies),
    bare: bare('clearCookies', 1, 'setCookies'),
  },
];
