/**
 * Permissions of sites through real clients, compared with Chromium's own port. They are gone when
 * the client is, and the user's own settings are as before. Setting them attaches nothing.
 */

import assert from 'node:assert/strict';
import { cp, rm } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';

import { attachedUrls, inExtension, pageAt, useChain } from '../harness/chain.mjs';
import {
  EXTENSION_ID,
  endProcess,
  startChromium,
  startRelay,
  temporaryFolder,
  until,
  untilEqual,
} from '../harness/processes.mjs';
import { connectRaw, evaluateIn, withRawClient } from '../harness/raw_client.mjs';

const shared = useChain({
  args: ['--client-mode', 'multi-client'],
  pages: { '/': '<title>home</title>', '/other': '<title>other</title>' },
  tabs: (site) => [site.url('/'), site.url('/', 'localhost')],
  chromiumArgs: ['--use-fake-device-for-media-stream'],
});

const NAMES = ['geolocation', 'notifications', 'camera', 'microphone', 'clipboard-read'];
const ASKED = NAMES.map(() => 'prompt');

/** The content settings of a site, as they apply: those of the user, or of the extension. */
const settingsOf = (url = shared.site.url('/'), chain = shared.chain) =>
  inExtension(
    chain,
    async (primaryUrl) => {
      const { location, notifications, camera, microphone, clipboard } = chrome.contentSettings;
      const types = [location, notifications, camera, microphone, clipboard];
      const read = await Promise.all(types.map((type) => type.get({ primaryUrl })));
      const states = { allow: 'granted', block: 'denied', ask: 'prompt' };
      return read.map(({ setting }) => states[setting]);
    },
    url,
  );

const untilUnchanged = (url) => untilEqual('all is as before', () => settingsOf(url), ASKED);

/** What a page sees. */
const QUERY = `Promise.all(${JSON.stringify(NAMES)}.map(async (name) =>
  (await navigator.permissions.query({ name })).state))`;

test('Playwright grants and clears permissions, for one site and for all', async () => {
  const origin = shared.site.url('').replace(/\/$/, '');
  await shared.withPlaywright(async ({ context }) => {
    await context.grantPermissions(['geolocation', 'notifications'], { origin });
    assert.deepEqual(await attachedUrls(shared.chain), []);
    const page = pageAt(context, shared.site.url('/'));
    const query = (which) => which.evaluate(QUERY);
    assert.deepEqual(await query(page), ['granted', 'granted', 'denied', 'denied', 'denied']);
    assert.equal(await page.evaluate(() => Notification.permission), 'granted');
    await context.setGeolocation({ latitude: 48.5, longitude: 9 });
    const locate = () =>
      new Promise((resolve) =>
        navigator.geolocation.getCurrentPosition(
          ({ coords }) => resolve(coords.latitude),
          ({ message }) => resolve(message),
        ),
      );
    assert.equal(await page.evaluate(locate), 48.5);
    const elsewhere = pageAt(context, shared.site.url('/', 'localhost'));
    assert.deepEqual(await query(elsewhere), ASKED, 'another site');
    await context.clearPermissions();
    assert.deepEqual(await query(page), ASKED);
    await context.grantPermissions(['camera', 'microphone']);
    const everywhere = ['prompt', 'prompt', 'granted', 'granted', 'prompt'];
    assert.deepEqual(await query(page), everywhere);
    assert.deepEqual(await query(elsewhere), everywhere);
    const capture = async () => {
      const stream = await navigator.mediaDevices.getUserMedia({ video: true, audio: true });
      const kinds = stream.getTracks().map((track) => (track.stop(), track.kind));
      return kinds.sort().join();
    };
    assert.equal(await page.evaluate(capture), 'audio,video');
  });
  await untilUnchanged();
});

test('Playwright reads and writes the clipboard from a tab in the background', async () => {
  await shared.withPlaywright(async ({ context }) => {
    await context.grantPermissions(['clipboard-read', 'clipboard-write']);
    const page = pageAt(context, shared.site.url('/'));
    const copied = await page.evaluate(async () => {
      await navigator.clipboard.writeText('copied');
      return navigator.clipboard.readText();
    });
    assert.equal(copied, 'copied');
  });
  await untilUnchanged();
});

test('Puppeteer overrides permissions and clears the overrides', async () => {
  await shared.withPuppeteer(async (browser) => {
    const context = browser.defaultBrowserContext();
    const page = pageAt(await browser.pages(), shared.site.url('/'));
    const origin = new URL(shared.site.url('/')).origin;
    await context.overridePermissions(origin, ['geolocation']);
    const only = ['granted', 'denied', 'denied', 'denied', 'denied'];
    assert.deepEqual(await page.evaluate(QUERY), only);
    await context.overridePermissions(origin, []);
    assert.deepEqual(
      await page.evaluate(QUERY),
      NAMES.map(() => 'denied'),
    );
    await context.clearPermissionOverrides();
    assert.deepEqual(await page.evaluate(QUERY), ASKED);
  });
});

test("answers as Chromium's own port does", () =>
  withRawClient(shared.chain, async ({ client }) => {
    const own = await connectRaw(shared.chain.chromium.ownUrl);
    const origin = shared.site.url('/');
    const page = await own.attach(origin);
    const grant = (permissions, rest) => ['grantPermissions', { permissions, ...rest }];
    const set = (name, setting, rest) => [
      'setPermission',
      { permission: { name, userVisibleOnly: true }, setting, ...rest },
    ];
    /** The reply to a command, and what a page sees afterwards. */
    const outcome = async (each, [method, params]) => {
      const { result, error } = await each.request(`Browser.${method}`, params);
      const states = await evaluateIn(own, page, QUERY);
      await each.send('Browser.resetPermissions');
      return { result, code: error?.code, message: error?.message, states };
    };
    try {
      for (const command of [
        grant(['geolocation', 'clipboardReadWrite', 'clipboardSanitizedWrite'], { origin }),
        grant(['audioCapture', 'videoCapture', 'notifications'], { origin }),
        grant([], { origin }),
        set('geolocation', 'granted', { origin }),
        set('geolocation', 'denied', { origin }),
        set('geolocation', 'prompt', { origin }),
        set('push', 'granted', { origin }),
        set('camera', 'granted'),
        set('microphone', 'denied'),
        set('clipboard-read', 'granted', { origin }),
        set('clipboard-write', 'granted', { origin }),
        set('nope', 'granted'),
        set('geolocation', 'maybe'),
        set('geolocation', 'granted', { origin: 'nope' }),
        grant(['nope']),
        grant(['geolocation'], { origin: 'about:blank' }),
        grant(['geolocation'], { browserContextId: 'nope' }),
      ]) {
        const [mine, theirs] = [await outcome(client, command), await outcome(own, command)];
        assert.deepEqual(mine, theirs, JSON.stringify(command));
      }
      assert.deepEqual(await attachedUrls(shared.chain), []);
    } finally {
      await own.close();
    }
  }));

test('names a permission that no extension can change, and changes nothing', () =>
  withRawClient(shared.chain, async ({ client }) => {
    const permissions = ['geolocation', 'midi'];
    const { error } = await client.request('Browser.grantPermissions', { permissions });
    assert.match(error.message, /^Browser\.grantPermissions: .*'midi'.*--direct/);
    assert.deepEqual(await settingsOf(), ASKED);
  }));

const GRANT = { permission: { name: 'geolocation' }, setting: 'granted' };
const GRANTED = ['granted', ...ASKED.slice(1)];

test("a client's permissions end with it, and those of others stay", () =>
  shared.withClients(async (connect) => {
    const [first, second] = [await connect.raw(), await connect.raw()];
    await first.send('Browser.setPermission', GRANT);
    const camera = { permission: { name: 'camera' }, setting: 'granted' };
    await second.send('Browser.setPermission', camera);
    const both = ['granted', 'prompt', 'granted', 'prompt', 'prompt'];
    assert.deepEqual(await settingsOf(), both);
    first.kill();
    const rest = ['prompt', 'prompt', 'granted', 'prompt', 'prompt'];
    await untilEqual('the first has left', settingsOf, rest);
    second.kill();
    await untilUnchanged();
  }));

test('what the user has decided applies again afterwards', () =>
  withRawClient(shared.chain, async ({ client, open }) => {
    const url = shared.site.url('/', 'localhost');
    const session = await open(url);
    // Nobody can be asked in a headless browser: it takes this as a no, and remembers it.
    await session.evaluate('Notification.requestPermission()');
    const denied = ['prompt', 'denied', 'prompt', 'prompt', 'prompt'];
    assert.deepEqual(await settingsOf(url), denied);
    const notifications = { permission: { name: 'notifications' }, setting: 'granted' };
    await client.send('Browser.setPermission', notifications);
    assert.equal(await session.evaluate('Notification.permission'), 'granted');
    await client.send('Browser.resetPermissions');
    assert.deepEqual(await settingsOf(url), denied);
  }));

test('permissions outlive the service worker, and end with their client', async () => {
  const client = await connectRaw(shared.chain.cdpUrl);
  await client.send('Browser.setPermission', GRANT);
  const own = await connectRaw(shared.chain.chromium.ownUrl);
  const { targetInfos } = await own.send('Target.getTargets');
  const isWorker = ({ type, url }) => type === 'service_worker' && url.includes(EXTENSION_ID);
  await own.send('Target.closeTarget', { targetId: targetInfos.find(isWorker).targetId });
  await shared.chain.relay.waitForExtension(false);
  // Any event of a tab starts it again.
  const { targetId } = await own.send('Target.createTarget', { url: 'about:blank' });
  await shared.chain.relay.waitForExtension();
  await own.send('Target.closeTarget', { targetId });
  assert.deepEqual(await settingsOf(), GRANTED);
  client.kill();
  await untilUnchanged();
  await own.close();
});

test('a relay that takes over from one that was killed removes what is left', async () => {
  const { relay } = shared.chain;
  const client = await connectRaw(shared.chain.cdpUrl);
  await client.send('Browser.setPermission', GRANT);
  await endProcess(relay.child, 'SIGKILL');
  assert.deepEqual(await settingsOf(), GRANTED);
  const { home, port } = relay;
  shared.chain.relay = await startRelay({ home, port });
  await shared.chain.relay.waitForExtension();
  await untilUnchanged();
  await until('nothing is left to remove', () =>
    inExtension(shared.chain, async () => {
      const { hasPermissionRules } = await chrome.storage.local.get('hasPermissionRules');
      return hasPermissionRules === undefined;
    }),
  );
});

test('a browser that quit with permissions removes them when it starts', async () => {
  const relay = await startRelay();
  const first = await startChromium({ relay });
  const saved = await temporaryFolder('saved-profile');
  let second;
  try {
    await relay.waitForExtension();
    const client = await connectRaw(relay.cdpUrl);
    await client.send('Browser.setPermission', GRANT);
    // The relay cannot clean up any more.
    await endProcess(relay.child, 'SIGKILL');
    await endProcess(first.child);
    await cp(first.profile.path, saved.path, { recursive: true });
    await Promise.all(
      ['Cookie', 'Lock', 'Socket'].map((end) => rm(path.join(saved.path, `Singleton${end}`))),
    );
    const prepare = (profile) => cp(saved.path, profile, { recursive: true });
    second = await startChromium({ relay, prepare });
    const settings = () => settingsOf(shared.site.url('/'), { chromium: second });
    await untilEqual('they are removed', settings, ASKED);
  } finally {
    await second?.stop();
    await first.stop();
    await saved.remove();
    await relay.stop();
  }
});
