/**
 * Windows of the browser and new tabs with options, compared with Chromium's own port. None of it
 * attaches a debugger to a tab of the user, or takes the focus unless the client asks for it.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { attachedUrls, inExtension, useChain } from '../harness/chain.mjs';
import { untilEqual } from '../harness/processes.mjs';
import { connectRaw, withRawClient } from '../harness/raw_client.mjs';

const shared = useChain({
  pages: { '/': '<title>home</title>' },
  tabs: (site) => [site.url('/')],
});

/** Runs `use` with a client of the relay, one of Chromium's own port, and the target of a tab. */
const withBoth = (use) =>
  withRawClient(shared.chain, async ({ client }) => {
    const own = await connectRaw(shared.chain.chromium.ownUrl);
    try {
      const { targetInfos } = await client.send('Target.getTargets');
      const { targetId } = targetInfos.find(({ url }) => url === shared.site.url('/'));
      await use(client, own, targetId);
    } finally {
      await own.close();
    }
  });

/** Code and message of the error, which must be the same on Chromium's own port. */
async function errorOnBoth(client, own, method, params) {
  const errors = [];
  for (const each of [client, own]) {
    const { error } = await each.request(method, params);
    errors.push([error?.code, error?.message]);
  }
  assert.deepEqual(errors[0], errors[1], `${method} ${JSON.stringify(params)}`);
  return errors[0];
}

const windowsOfUser = () =>
  inExtension(shared.chain, async () =>
    (await chrome.windows.getAll({ populate: true })).map(({ id, focused, tabs }) => ({
      id,
      focused,
      active: tabs.find((tab) => tab.active).id,
    })),
  );

test("finds the window of a target, with the id of Chromium's own port", () =>
  withBoth(async (client, own, targetId) => {
    const found = await client.send('Browser.getWindowForTarget', { targetId });
    assert.deepEqual(found, await own.send('Browser.getWindowForTarget', { targetId }));
    const session = await client.attach(shared.site.url('/'));
    assert.deepEqual(await client.send('Browser.getWindowForTarget', {}, session), found);
    const { windowId, bounds } = found;
    assert.deepEqual(await client.send('Browser.getWindowBounds', { windowId }), { bounds });
    assert.deepEqual(await attachedUrls(shared.chain), []);
  }));

test('moves, resizes, minimizes and maximizes a window', () =>
  withBoth(async (client, own, targetId) => {
    const { windowId, bounds: before } = await client.send('Browser.getWindowForTarget', {
      targetId,
    });
    const boundsOf = async (each) =>
      (await each.send('Browser.getWindowBounds', { windowId })).bounds;
    const set = (bounds) => client.send('Browser.setWindowBounds', { windowId, bounds });
    const place = { left: 15, top: 25, width: 700, height: 500 };
    await set(place);
    const moved = { ...place, windowState: 'normal' };
    await untilEqual('the window has moved', () => boundsOf(own), moved);
    await set({ width: 650 });
    await untilEqual('the window is narrower', () => boundsOf(client), { ...moved, width: 650 });
    for (const windowState of ['maximized', 'normal', 'minimized', 'normal', 'fullscreen']) {
      await set({ windowState });
      const stateOf = async (each) => (await boundsOf(each)).windowState;
      await untilEqual(`it is ${windowState}`, () => stateOf(own), windowState);
      assert.equal(await stateOf(client), windowState);
    }
    await set({ windowState: 'normal' });
    const { windowState: _state, ...rest } = before;
    await set(rest);
    await untilEqual('the window is as before', () => boundsOf(own), before);
    assert.deepEqual(await attachedUrls(shared.chain), []);
  }));

test("fails with the errors of Chromium's own port", () =>
  withBoth(async (client, own, targetId) => {
    const { windowId } = await own.send('Browser.getWindowForTarget', { targetId });
    for (const [method, params] of [
      ['Browser.getWindowForTarget', {}],
      ['Browser.getWindowForTarget', { targetId: 'nope' }],
      ['Browser.getWindowBounds', { windowId: 99_999 }],
      ['Browser.setWindowBounds', { windowId: 99_999, bounds: { width: 500 } }],
      ['Browser.setWindowBounds', { windowId, bounds: { windowState: 'maximized', width: 5 } }],
      ['Target.createTarget', { url: 'about:blank', width: 640, height: 480 }],
      ['Target.createTarget', { url: 'about:blank', windowState: 'minimized' }],
      ['Target.createTarget', { url: 'about:blank', background: true, focus: true }],
      ['Target.createTarget', { url: 'about:blank', browserContextId: 'nope' }],
    ]) {
      await errorOnBoth(client, own, method, params);
    }
    await client.send('Browser.setWindowBounds', {
      windowId,
      bounds: { windowState: 'minimized' },
    });
    for (const windowState of ['fullscreen', 'maximized']) {
      const params = { windowId, bounds: { windowState } };
      await errorOnBoth(client, own, 'Browser.setWindowBounds', params);
    }
    await client.send('Browser.setWindowBounds', { windowId, bounds: { windowState: 'normal' } });
  }));

test('refuses what no extension can do, by name, without attaching', () =>
  withBoth(async (client) => {
    for (const method of ['Browser.getHistograms', 'Browser.setDockTile']) {
      const { error } = await client.request(method);
      assert.match(error.message, new RegExp(`'${method}' wasn't found: .*--direct`));
    }
    assert.deepEqual(await attachedUrls(shared.chain), []);
  }));

/** Creates a target with these options, passes its window to `use`, and closes it. */
async function withCreated(client, params, use) {
  const before = await windowsOfUser();
  const { targetId } = await client.send('Target.createTarget', { url: 'about:blank', ...params });
  try {
    await use(await client.send('Browser.getWindowForTarget', { targetId }), before);
  } finally {
    await client.send('Target.closeTarget', { targetId });
  }
}

test('a new tab stays in the background unless the client asks otherwise', () =>
  withBoth(async (client) => {
    for (const params of [{}, { background: true }, { focus: false }]) {
      await withCreated(client, params, async ({ windowId }, before) => {
        assert.deepEqual(await windowsOfUser(), before, JSON.stringify(params));
        assert.equal(windowId, before[0].id);
      });
    }
    for (const params of [{ background: false }, { focus: true }]) {
      await withCreated(client, params, async (_window, [before]) => {
        const [{ active }] = await windowsOfUser();
        assert.notEqual(active, before.active, JSON.stringify(params));
      });
    }
  }));

test('a new window has the size and position that the client asks for, and no focus', () =>
  withBoth(async (client, own) => {
    const place = { left: 33, top: 44, width: 640, height: 480 };
    await withCreated(
      client,
      { newWindow: true, ...place },
      async ({ windowId, bounds }, before) => {
        assert.deepEqual(bounds, { ...place, windowState: 'normal' });
        assert.deepEqual(await own.send('Browser.getWindowBounds', { windowId }), { bounds });
        const [, opened] = await windowsOfUser();
        assert.deepEqual([opened.id, opened.focused], [windowId, false]);
        assert.equal(before.length, 1);
      },
    );
    await withCreated(client, { newWindow: true, background: false }, async ({ windowId }) => {
      const opened = (await windowsOfUser()).find(({ id }) => id === windowId);
      assert.equal(opened.focused, true);
    });
  }));

test('a new window has the state that the client asks for', () =>
  withBoth(async (client, own) => {
    for (const windowState of ['maximized', 'minimized', 'fullscreen']) {
      await withCreated(
        client,
        { newWindow: true, windowState, width: 300 },
        async ({ windowId }) => {
          const stateOf = async () =>
            (await own.send('Browser.getWindowBounds', { windowId })).bounds.windowState;
          await untilEqual(`it is ${windowState}`, stateOf, windowState);
        },
      );
    }
  }));

test('Puppeteer has a target for the browser, and Playwright does not mind', async () => {
  await shared.withPuppeteer(async (browser) => {
    const target = browser.target();
    assert.deepEqual([target.type(), target.url()], ['browser', '']);
    const session = await target.createCDPSession();
    const { targetInfo } = await session.send('Target.getTargetInfo');
    assert.equal(targetInfo.type, 'browser');
    assert.equal((await browser.pages()).length, 2);
  });
  await shared.withPlaywright(async ({ context }) => assert.equal(context.pages().length, 2));
  assert.deepEqual(await attachedUrls(shared.chain), []);
});

test("announces the browser target as Chromium's own port does", () =>
  withBoth(async (client, own) => {
    const infos = [];
    for (const each of [client, own]) {
      await each.send('Target.setDiscoverTargets', {
        discover: true,
        filter: [{ type: 'browser' }],
      });
      const created = each.eventsOf(undefined, 'Target.targetCreated');
      const ownInfo = (await each.send('Target.getTargetInfo')).targetInfo;
      const { targetInfo } = created.find(
        (event) => event.targetInfo.targetId === ownInfo.targetId,
      );
      assert.deepEqual(targetInfo, ownInfo);
      infos.push({ ...targetInfo, targetId: '' });
      const { targetInfos } = await each.send('Target.getTargets', { filter: [{}] });
      assert.ok(!targetInfos.some(({ type }) => type === 'browser'));
    }
    assert.deepEqual(infos[0], infos[1]);
  }));
