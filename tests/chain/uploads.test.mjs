/** Uploading files and folders. Chrome lists the files of a folder only for a visible tab. */

import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, test } from 'node:test';

import { chromium as oldPlaywright } from 'playwright-core-1.56';

import { onOwnPort, openForegroundTab, openTabs, pageAt, useChain } from '../harness/chain.mjs';
import { temporaryFolder } from '../harness/processes.mjs';

const PAGE = `<input type="file" id="folder" webkitdirectory><input type="file" id="files" multiple>`;
const FRAME = '<iframe src="/"></iframe>';
const shared = useChain({ pages: { '/': PAGE, '/framed': FRAME, '/front': 'in front' } });

let folder;
before(async () => {
  folder = await temporaryFolder('upload');
  await mkdir(path.join(folder.path, 'sub'));
  await writeFile(path.join(folder.path, 'a.txt'), 'first');
  await writeFile(path.join(folder.path, 'sub/b.txt'), 'second');
});
after(() => folder.remove());

const chosenIn = (frame, selector) =>
  frame.evaluate(
    (wanted) =>
      [...document.querySelector(wanted).files].map((file) => file.webkitRelativePath || file.name),
    selector,
  );

/** Opens a tab in the background, and passes it to `use` as the page of a new Playwright. */
async function inBackground(address, use) {
  const url = shared.site.url(address);
  await openTabs(shared.chain, [url]);
  await openForegroundTab(shared.chain, shared.site.url('/front'));
  await shared.withPlaywright(async ({ context }) => {
    const page = pageAt(context, url);
    await use(page);
    await page.close();
    await pageAt(context, '/front').close();
  });
}

const REASON = /DOM\.setFileInputFiles: .*visible.*page\.bringToFront\(\)/;

test('uploads files from a tab in the background', () =>
  inBackground('/?files', async (page) => {
    const files = ['a.txt', 'sub/b.txt'].map((name) => path.join(folder.path, name));
    await page.setInputFiles('#files', files);
    assert.deepEqual(await chosenIn(page, '#files'), ['a.txt', 'b.txt']);
  }));

test('uploads a folder from a visible tab, and says that it has to be visible', () =>
  inBackground('/?folder', async (page) => {
    await assert.rejects(page.setInputFiles('#folder', folder.path), REASON);
    const session = await page.context().newCDPSession(page);
    const { root } = await session.send('DOM.getDocument');
    const { nodeId } = await session.send('DOM.querySelector', {
      nodeId: root.nodeId,
      selector: '#folder',
    });
    const choice = session.send('DOM.setFileInputFiles', { files: [folder.path], nodeId });
    await assert.rejects(choice, REASON, 'for any client');
    assert.deepEqual(await chosenIn(page, '#folder'), []);
    await page.bringToFront();
    await page.setInputFiles('#folder', folder.path);
    const name = path.basename(folder.path);
    const chosen = (await chosenIn(page, '#folder')).sort();
    assert.deepEqual(chosen, [`${name}/a.txt`, `${name}/sub/b.txt`]);
  }));

test('a Playwright of last year gets the reason, too', async () => {
  const url = shared.site.url('/?old');
  await openTabs(shared.chain, [url]);
  await openForegroundTab(shared.chain, shared.site.url('/front'));
  const browser = await oldPlaywright.connectOverCDP(shared.chain.cdpUrl);
  const page = pageAt(browser.contexts()[0], url);
  await assert.rejects(page.setInputFiles('#folder', folder.path), REASON);
  await browser.close();
  await shared.chain.relay.waitForClients(0);
});

test('the same holds in a frame of another site', () =>
  inBackground('/framed', async (page) => {
    await page.evaluate(
      (src) => {
        document.querySelector('iframe').src = src;
      },
      shared.site.url('/', 'localhost'),
    );
    const input = page.frameLocator('iframe').locator('#folder');
    await assert.rejects(input.setInputFiles(folder.path), REASON);
    await page.bringToFront();
    await input.setInputFiles(folder.path);
    assert.equal(await input.evaluate(({ files }) => files.length), 2);
  }));

test("Chromium's own port cancels the choice in the background, too", async () => {
  const url = shared.site.url('/?own');
  await openTabs(shared.chain, [url]);
  await openForegroundTab(shared.chain, shared.site.url('/front'));
  await onOwnPort(shared.chain, async (_browser, context) => {
    const page = pageAt(context, url);
    const outcome = page.evaluate(
      () =>
        new Promise((resolve) => {
          for (const name of ['input', 'cancel']) {
            document.querySelector('#folder').addEventListener(name, () => resolve(name));
          }
        }),
    );
    const upload = page.setInputFiles('#folder', folder.path).catch(() => {});
    assert.equal(await outcome, 'cancel');
    await page.close();
    await upload;
  });
});
