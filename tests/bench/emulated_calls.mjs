/**
 * The calls that the relay or the extension carries out by itself, because Chrome does not grant them
 * to an extension's debugger or would have to attach it.
 */

import path from 'node:path';

const COOKIES = 5_000;
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
const cookies = Array.from({ length: COOKIES }, (_, index) => {
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
const setCookies = ({ client }) => client.send('Storage.setCookies', { cookies });
const clearCookies = ({ client }) => client.send('Storage.clearCookies');

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
    name: `Storage.setCookies, ${COOKIES}`,
    times: 1,
    before: clearCookies,
    run: setCookies,
  },
  { name: `Storage.getCookies, ${COOKIES}`, times: 3, run: command('Storage.getCookies').run },
  {
    name: 'Storage.setCookies, one more',
    run: ({ client, count }) => {
      const cookie = { name: 'one', value: String(count), domain: 'one.example' };
      return client.send('Storage.setCookies', { cookies: [cookie] });
    },
  },
  {
    name: 'Network.deleteCookies, one',
    before: ({ client }) =>
      client.send('Storage.setCookies', {
        cookies: [{ name: 'one', value: '1', domain: 'one.example' }],
      }),
    run: ({ client, session }) =>
      client.send('Network.deleteCookies', { name: 'one', domain: 'one.example' }, session),
  },
  { name: `Storage.clearCookies, ${COOKIES}`, times: 1, before: setCookies, run: clearCookies },
  ...['set', 'clear'].map((verb) => ({
    name: `Storage.${verb}Cookies, ${COOKIES}, no tab used`,
    times: 1,
    before: async (side) => {
      await (verb === 'set' ? clearCookies : setCookies)(side);
      await side.stopUsing();
    },
    run: verb === 'set' ? setCookies : clearCookies,
    after: (side) => side.use(),
  })),
];
