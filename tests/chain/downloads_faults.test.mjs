/** Downloads when a part of the chain is stopped: nothing of them stays in the user's browser. */

import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { test } from 'node:test';

import { inExtension, onOwnPort, useChain } from '../harness/chain.mjs';
import { endProcess, startRelay, until, untilEqual } from '../harness/processes.mjs';

const slow = [];

const shared = useChain({
  pages: {
    '/': '<a id="slow" href="/slow">slow</a> <a id="fast" href="/fast" download>fast</a>',
    '/slow': (_request, response) => {
      response.setHeader('content-disposition', 'attachment; filename="slow.bin"');
      response.setHeader('content-type', 'application/octet-stream');
      response.write('x'.repeat(100_000));
      slow.push(response);
    },
    '/fast': 'fast',
  },
});

/** Opens the page and starts a download that does not end by itself. */
async function startSlow(context) {
  const page = await context.newPage();
  await page.goto(shared.site.url('/'));
  const [download] = await Promise.all([page.waitForEvent('download'), page.click('#slow')]);
  await until('the server has answered', () => slow.shift());
  return { page, download };
}

/** Files and folders in the user's download folder, and entries in the browser's list. */
const leftovers = async () => {
  const files = await readdir(shared.chain.chromium.downloads, { recursive: true });
  const listed = await inExtension(shared.chain, () => chrome.downloads.search({}));
  return [...files, ...listed];
};

async function downloadFast(page) {
  const [download] = await Promise.all([page.waitForEvent('download'), page.click('#fast')]);
  return readFile(await download.path(), 'utf8');
}

test('a download fails when Chrome stops the extension’s worker, and the next one works', () =>
  shared.withPlaywright(async ({ context }) => {
    const { page, download } = await startSlow(context);
    await onOwnPort(shared.chain, async (browser) => {
      const root = await browser.newBrowserCDPSession();
      const { targetInfos } = await root.send('Target.getTargets');
      const { targetId } = targetInfos.find(({ type }) => type === 'service_worker');
      await root.send('Target.closeTarget', { targetId });
    });
    assert.equal(await download.failure(), 'canceled');
    await shared.chain.relay.waitForExtension(false);
    await shared.chain.relay.waitForExtension();
    await untilEqual('nothing is left', leftovers, []);
    assert.equal(await page.title(), '');
    assert.equal(await downloadFast(page), 'fast');
  }));

test('nothing is left of a download when the relay is killed', async () => {
  const { child, home, port } = shared.chain.relay;
  const killed = shared.withPlaywright(async ({ context }) => {
    await startSlow(context);
    await endProcess(child, 'SIGKILL');
    throw new Error('killed');
  });
  await assert.rejects(killed);
  shared.chain.relay = await startRelay({ home, port });
  await shared.chain.relay.waitForExtension();
  await untilEqual('nothing is left', leftovers, []);
});
