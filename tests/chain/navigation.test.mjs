/**
 * Navigations that Chrome does not grant to an extension, and which of an extension's calls it
 * treats like the address bar. If Chrome changes its mind, the relay can do more.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { attachedUrls, inExtension, useChain } from '../harness/chain.mjs';
import { untilEqual } from '../harness/processes.mjs';
import { withRawClient } from '../harness/raw_client.mjs';

const shared = useChain({
  pages: { '/': '<title>home</title>' },
  tabs: (site) => [site.url('/')],
});

const DATA = 'data:text/html,<title>data</title>';

test('a data: address is refused with the reason, without waking the tab', () =>
  shared.withPlaywright(async ({ context }) => {
    const url = shared.site.url('/');
    const page = context.pages().find((each) => each.url() === url);
    const reason = /Page\.navigate: .*data:.*setContent.*--direct/;
    await assert.rejects(page.goto(DATA), reason);
    assert.deepEqual(await attachedUrls(shared.chain), []);
    assert.equal(await page.title(), 'home');
    await assert.rejects(page.goto(DATA), reason, 'in a live tab, too');
    await page.setContent('<title>data</title>');
    assert.equal(await page.title(), 'data');
    await page.reload();
    const frame = `const frame = document.createElement('iframe'); document.body.append(frame);`;
    await page.evaluate(frame);
    await page.frames()[1].goto(DATA);
    assert.equal(await page.frames()[1].title(), 'data', 'a frame may show one');
  }));

test('a data: address opens in a new tab', () =>
  withRawClient(shared.chain, async ({ client }) => {
    const { targetId } = await client.send('Target.createTarget', { url: DATA });
    const urlOf = async () => {
      const { targetInfos } = await client.send('Target.getTargets');
      return targetInfos.find((info) => info.targetId === targetId)?.url;
    };
    await untilEqual('it has opened', urlOf, DATA);
    await client.send('Target.closeTarget', { targetId });
  }));

test('only new tabs and the history are treated like the address bar', async () => {
  const home = shared.site.url('/');
  const reached = await inExtension(
    shared.chain,
    async ({ data, start }) => {
      const until = async (tabId, isReached) => {
        while (!isReached(await chrome.tabs.get(tabId))) {
          await new Promise((resolve) => setTimeout(resolve, 20));
        }
      };
      const loaded = (tabId) => until(tabId, ({ status }) => status === 'complete');
      /** Opens a tab, lets `act` navigate it, and returns where it is afterwards. */
      const after = async (url, act) => {
        const { id: tabId } = await chrome.tabs.create({ url, active: false });
        await loaded(tabId);
        await chrome.debugger.attach({ tabId }, '1.3');
        const send = (method, params = {}) =>
          chrome.debugger.sendCommand({ tabId }, method, params);
        const outcome = await act(send, tabId);
        await loaded(tabId);
        const tab = await chrome.tabs.get(tabId);
        await chrome.tabs.remove(tabId);
        return outcome?.errorText ?? tab.url;
      };
      const typed = { url: data, transitionType: 'typed' };
      return {
        navigate: await after(start, (send) => send('Page.navigate', { url: data })),
        typed: await after(start, (send) => send('Page.navigate', typed)),
        update: await after(start, async (send, tabId) => {
          await chrome.tabs.update(tabId, { url: data });
          // Answered only after Chrome has decided about the navigation.
          await send('Page.navigate', { url: `${start}#settled` });
        }),
        create: await after(data, () => {}),
        history: await after(data, async (send, tabId) => {
          await send('Page.navigate', { url: start });
          await until(tabId, ({ url, status }) => url === start && status === 'complete');
          const { entries } = await send('Page.getNavigationHistory');
          await send('Page.navigateToHistoryEntry', { entryId: entries[0].id });
          await until(tabId, ({ url }) => url !== start);
        }),
      };
    },
    { data: DATA, start: home },
  );
  assert.deepEqual(reached, {
    navigate: 'net::ERR_ABORTED',
    typed: 'net::ERR_ABORTED',
    update: `${home}#settled`,
    create: DATA,
    history: DATA,
  });
});
