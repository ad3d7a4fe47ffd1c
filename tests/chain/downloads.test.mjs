/** Downloads in the user's browser, through unmodified Playwright and Puppeteer and without a library. */

import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';

import { inExtension, useChain } from '../harness/chain.mjs';
import { temporaryFolder, until, untilEqual } from '../harness/processes.mjs';

const CONTENT = 'bytes of the report';
const ODD_NAME = `filename*=UTF-8''..%2F..%2Fa%3Ab%20%E2%82%AC%22%7C.txt`;

/** Answers with a file. `end` finishes it; by default at once. */
const attachment =
  (header = 'filename="report.txt"', end = (response) => response.end(CONTENT)) =>
  (_request, response) => {
    response.setHeader('content-type', 'application/octet-stream');
    response.setHeader('content-disposition', `attachment; ${header}`);
    end(response);
  };

/** Slow responses, and the one that the user's page waits for: a test finishes them. */
const slow = [];
const users = [];

const shared = useChain({
  args: ['--client-mode', 'multi-client'],
  pages: {
    '/': `<title>links</title>
      <a id="file" href="/file">file</a>
      <a id="redirect" href="/redirect">redirect</a>
      <a id="popup" href="/file?popup" target="_blank">popup</a>
      <a id="opener" href="/redirect?popup" target="_blank" rel="opener">popup with opener</a>
      <button id="window" onclick="window.open('/file?window')">window</button>
      <a id="popup-page" href="/popup" target="_blank">popup with a page</a>
      <a id="odd" href="/odd">odd name</a>
      <a id="script" href="/script">a type that Chrome warns about</a>
      <a id="slow" href="/slow">slow</a>
      <a id="broken" href="/broken">broken</a>
      <a id="data" href="data:text/plain,bytes%20of%20the%20report" download="data.txt">data</a>
      <button id="blob" onclick="save('blob.txt', new Blob(['${CONTENT}']))">blob</button>
      <button id="many" onclick="for (const n of [1, 2, 3, 4, 5]) link('/file').click(); link('/script').click()">many</button>
      <iframe src="/frame"></iframe>
      <script>
        function link(href, download = '') {
          return Object.assign(document.createElement('a'), { href, download });
        }
        function save(name, blob) {
          link(window.URL.createObjectURL(blob), name).click();
        }
      </script>`,
    '/frame': '<a id="inner" href="/file?frame">in a frame</a>',
    '/popup':
      '<title>popup</title><script>setTimeout(() => location = "/file?later", 200)</script>',
    '/person': `<title>person</title>
      <script>fetch('/person-clicks').then(() => location = '/file?person')</script>`,
    '/person-clicks': (_request, response) => users.push(response),
    '/file': attachment(),
    '/redirect': (_request, response) => response.writeHead(302, { location: '/file' }).end(),
    '/odd': attachment(ODD_NAME),
    '/script': attachment('filename="install.sh"'),
    '/slow': attachment('filename="slow.bin"', (response) => {
      response.write('x'.repeat(100_000));
      slow.push(response);
    }),
    '/broken': attachment('filename="broken.bin"', (response) => {
      response.setHeader('content-length', 1_000_000);
      response.write('x'.repeat(1_000));
      setTimeout(() => response.destroy(), 50);
    }),
  },
  tabs: (site) => [site.url('/person')],
});

const take = (responses) => until('a response is due', () => responses.shift());

/** What the user finds in the download folder, and in the browser's list of downloads. */
const usersDownloads = () =>
  // It may disappear while it is read.
  readdir(shared.chain.chromium.downloads, { recursive: true }).catch(() => []);
const listedDownloads = () =>
  inExtension(shared.chain, async () =>
    (await chrome.downloads.search({})).map(({ filename }) => filename.split('/').at(-1)),
  );

/** Opens the page with the links. */
async function openLinks(context) {
  const page = await context.newPage();
  await page.goto(shared.site.url('/'));
  return page;
}

/** Does what starts a download, and returns it. */
async function downloadBy(page, act) {
  const [download] = await Promise.all([page.waitForEvent('download'), act()]);
  return download;
}

const contentOf = async (download) => readFile(await download.path(), 'utf8');

test('Playwright gets the file, its name, its address and no failure', () =>
  shared
    .withPlaywright(async ({ context }) => {
      const page = await openLinks(context);
      for (const [id, name, address] of [
        ['file', 'report.txt', '/file'],
        ['redirect', 'report.txt', '/file'],
        ['popup', 'report.txt', '/file?popup'],
        ['opener', 'report.txt', '/file'],
        ['window', 'report.txt', '/file?window'],
        ['odd', '_.._a_b €__.txt', '/odd'],
        ['script', 'install.sh', '/script'],
        ['data', 'data.txt', undefined],
        ['blob', 'blob.txt', undefined],
      ]) {
        const download = await downloadBy(page, () => page.click(`#${id}`));
        assert.equal(download.suggestedFilename(), name, id);
        if (address) {
          assert.equal(download.url(), shared.site.url(address), id);
        }
        assert.equal(await download.failure(), null, id);
        assert.equal(await contentOf(download), CONTENT, id);
        assert.equal(download.page(), page, id);
      }
      const inFrame = await downloadBy(page, () =>
        page.frameLocator('iframe').locator('a').click(),
      );
      assert.equal(await contentOf(inFrame), CONTENT);
      const folder = await temporaryFolder('saved');
      await inFrame.saveAs(path.join(folder.path, 'deep/copy.txt'));
      assert.equal(await readFile(path.join(folder.path, 'deep/copy.txt'), 'utf8'), CONTENT);
      await folder.remove();
      await assert.rejects(page.goto(shared.site.url('/file')), /Download is starting/);
      await untilEqual('nothing is left in the download folder', usersDownloads, []);
    })
    .then(async () => assert.deepEqual(await listedDownloads(), [])));

test('several downloads at once, in two tabs and of one address, are kept apart', () =>
  shared.withPlaywright(async ({ context }) => {
    const downloads = [];
    const pages = [await openLinks(context), await openLinks(context)];
    pages.forEach((page) => page.on('download', (download) => downloads.push(download)));
    await Promise.all(pages.map((page) => page.evaluate(() => document.all.many.click())));
    await until('all have started', () => downloads.length === 12);
    const describe = (it) => `${pages.indexOf(it.page())} ${it.url()} ${it.suggestedFilename()}`;
    const expected = [0, 1].flatMap((n) => [
      ...Array(5).fill(`${n} ${shared.site.url('/file')} report.txt`),
      `${n} ${shared.site.url('/script')} install.sh`,
    ]);
    assert.deepEqual(downloads.map(describe).sort(), expected);
    const paths = await Promise.all(downloads.map((download) => download.path()));
    assert.equal(new Set(paths).size, 12);
    const contents = await Promise.all(paths.map((file) => readFile(file, 'utf8')));
    assert.deepEqual(new Set(contents), new Set([CONTENT]));
  }));

test('Chrome does not ask about several downloads while an agent uses the site, and then again', async () => {
  const setting = () =>
    inExtension(
      shared.chain,
      async (primaryUrl) =>
        (await chrome.contentSettings.automaticDownloads.get({ primaryUrl })).setting,
      shared.site.url('/'),
    );
  assert.equal(await setting(), 'ask');
  await shared.withPlaywright(async ({ context }) => {
    await openLinks(context);
    await untilEqual('the site may', setting, 'allow');
  });
  await untilEqual('the user’s setting counts again', setting, 'ask');
});

test('a popup’s own download belongs to the popup, although nobody has used it', () =>
  shared.withPlaywright(async ({ context }) => {
    const page = await openLinks(context);
    const [popup] = await Promise.all([context.waitForEvent('page'), page.click('#popup-page')]);
    const download = await popup.waitForEvent('download');
    assert.equal(await contentOf(download), CONTENT);
  }));

test('cancel ends a download, and a broken one fails', () =>
  shared.withPlaywright(async ({ context }) => {
    const page = await openLinks(context);
    const unfinished = await downloadBy(page, () => page.click('#slow'));
    await take(slow);
    await unfinished.cancel();
    assert.equal(await unfinished.failure(), 'canceled');
    await unfinished.cancel();
    const broken = await downloadBy(page, () => page.click('#broken'));
    assert.equal(await broken.failure(), 'canceled');
    await assert.rejects(broken.path());
    await untilEqual('nothing is left of them', usersDownloads, []);
  }));

test('the user’s own downloads stay where they are, and no client learns of them', () =>
  shared
    .withPlaywright(async ({ context }) => {
      const page = await openLinks(context);
      const seen = [];
      context.on('page', (opened) => opened.on('download', (download) => seen.push(download)));
      context.pages().forEach((each) => each.on('download', (download) => seen.push(download)));
      // At the same time as an agent's download of another address.
      (await take(users)).end();
      const own = await downloadBy(page, () => page.click('#file'));
      assert.equal(await contentOf(own), CONTENT);
      await untilEqual('the file is in the download folder', usersDownloads, ['report.txt']);
      const file = path.join(shared.chain.chromium.downloads, 'report.txt');
      assert.equal(await readFile(file, 'utf8'), CONTENT);
      assert.deepEqual(seen, [own]);
    })
    .then(async () => assert.deepEqual(await listedDownloads(), ['report.txt'])));

/** A client without a library, with a live page. */
async function withRawPage(connect) {
  const client = await connect.raw();
  const { targetId } = await client.send('Target.createTarget', { url: shared.site.url('/') });
  const { sessionId } = await client.send('Target.attachToTarget', { targetId, flatten: true });
  const click = (id) =>
    client.send(
      'Runtime.evaluate',
      { expression: `document.getElementById('${id}').click()`, userGesture: true },
      sessionId,
    );
  await client.send('Page.enable', {}, sessionId);
  await until('the page has loaded', async () => {
    const { result } = await client.send(
      'Runtime.evaluate',
      { expression: 'document.readyState' },
      sessionId,
    );
    return result.value === 'complete';
  });
  const next = (method, state) =>
    until(`${method} ${state}`, () => {
      const index = client.events.findIndex(
        (event) => event.method === method && event.params.state === state,
      );
      return index >= 0 && client.events.splice(index, 1)[0];
    });
  return { client, sessionId, targetId, click, next };
}

test('a file in a chosen folder has its own name, and replaces no other', () =>
  shared.withClients(async (connect) => {
    const { client, click, next } = await withRawPage(connect);
    const folder = await temporaryFolder('chosen');
    const behavior = { behavior: 'allow', downloadPath: `${folder.path}/new`, eventsEnabled: true };
    await client.send('Browser.setDownloadBehavior', behavior);
    for (const name of ['report.txt', 'report (1).txt']) {
      await click('file');
      const begun = await next('Browser.downloadWillBegin');
      assert.equal(begun.params.suggestedFilename, 'report.txt');
      const { params } = await next('Browser.downloadProgress', 'completed');
      assert.equal(params.guid, begun.params.guid);
      assert.equal(params.receivedBytes, CONTENT.length);
      assert.equal(params.filePath, path.join(folder.path, 'new', name));
      assert.equal(await readFile(params.filePath, 'utf8'), CONTENT);
    }
    await folder.remove();
  }));

test('the events of a page session, with the older command', () =>
  shared.withClients(async (connect) => {
    const { client, sessionId, click, next } = await withRawPage(connect);
    const folder = await temporaryFolder('older');
    const behavior = { behavior: 'allowAndName', downloadPath: folder.path };
    await client.send('Page.setDownloadBehavior', behavior, sessionId);
    await click('blob');
    const begun = await next('Page.downloadWillBegin');
    assert.equal(begun.sessionId, sessionId);
    const { params } = await next('Page.downloadProgress', 'completed');
    const file = path.join(folder.path, begun.params.guid);
    assert.equal(params.guid, begun.params.guid);
    assert.equal(await readFile(file, 'utf8'), CONTENT);
    await folder.remove();
  }));

test('Puppeteer waits on a session of its page', () =>
  shared.withPuppeteer(async (browser) => {
    const page = await browser.newPage();
    await page.goto(shared.site.url('/'));
    const folder = await temporaryFolder('puppeteer');
    const session = await page.createCDPSession();
    await session.send('Browser.setDownloadBehavior', {
      behavior: 'allow',
      downloadPath: folder.path,
      eventsEnabled: true,
    });
    const completed = new Promise((resolve) =>
      session.on('Browser.downloadProgress', (event) => {
        if (event.state === 'completed') {
          resolve(event);
        }
      }),
    );
    await page.click('#file');
    await completed;
    assert.deepEqual(await readdir(folder.path), ['report.txt']);
    await session.detach();
    const context = browser.defaultBrowserContext();
    const downloadPath = path.join(folder.path, 'context');
    await context.setDownloadBehavior({ policy: 'allow', downloadPath });
    await page.click('#blob');
    const arrived = () => readdir(downloadPath).catch(() => []);
    await untilEqual('the file arrives without an event', arrived, ['blob.txt']);
    await page.close();
    await folder.remove();
  }));

test('denied downloads are canceled', () =>
  shared.withClients(async (connect) => {
    const { client, click, next } = await withRawPage(connect);
    await client.send('Browser.setDownloadBehavior', { behavior: 'deny', eventsEnabled: true });
    await click('file');
    const begun = await next('Browser.downloadWillBegin');
    const { params } = await next('Browser.downloadProgress', 'canceled');
    assert.equal(params.guid, begun.params.guid);
    assert.deepEqual(await usersDownloads(), ['report.txt'], 'only the one of an earlier test');
  }));

test('without a word about downloads, they are the user’s', () =>
  shared.withClients(async (connect) => {
    const { client, click } = await withRawPage(connect);
    await connect.playwright();
    await click('file');
    const expected = ['report (1).txt', 'report.txt'];
    await untilEqual('it is saved', async () => (await usersDownloads()).sort(), expected);
    assert.deepEqual(
      client.events.filter(({ method }) => method.includes('download')),
      [],
    );
  }));

test('each client gets its own downloads', () =>
  shared.withClients(async (connect) => {
    const clients = await Promise.all([connect.playwright(), connect.playwright()]);
    const pages = await Promise.all(clients.map(({ context }) => openLinks(context)));
    const seen = clients.map(() => []);
    clients.forEach(({ context }, index) => {
      context.pages().forEach((page) => page.on('download', (each) => seen[index].push(each)));
    });
    const downloads = await Promise.all(
      pages.map((page) => downloadBy(page, () => page.click('#file'))),
    );
    assert.deepEqual(await Promise.all(downloads.map(contentOf)), [CONTENT, CONTENT]);
    assert.deepEqual(
      seen.map((list) => list.length),
      [1, 1],
    );
  }));

test('two clients of a tab that want the file at the same place both get it', () =>
  shared.withClients(async (connect) => {
    const { client, click, targetId } = await withRawPage(connect);
    const other = await connect.raw();
    const attached = await other.send('Target.attachToTarget', { targetId, flatten: true });
    await other.send('Runtime.evaluate', { expression: '1' }, attached.sessionId);
    const folder = await temporaryFolder('same');
    for (const [each, downloadPath] of [
      [client, folder.path],
      [other, `${folder.path}/`],
    ]) {
      const behavior = { behavior: 'allowAndName', downloadPath, eventsEnabled: true };
      await each.send('Browser.setDownloadBehavior', behavior);
    }
    await click('file');
    for (const each of [client, other]) {
      const ended = await until('the download has ended', () =>
        each.events.find(
          ({ method, params }) =>
            method === 'Browser.downloadProgress' && params.state !== 'inProgress',
        ),
      );
      assert.equal(ended.params.state, 'completed');
      assert.equal(await readFile(ended.params.filePath, 'utf8'), CONTENT);
    }
    await folder.remove();
  }));

test('a client that leaves takes its unfinished download with it, but not a chosen folder’s', async () => {
  const folder = await temporaryFolder('left');
  const begin = async (behavior) =>
    shared.withClients(async (connect) => {
      const { client, click, next } = await withRawPage(connect);
      const params = { behavior, downloadPath: folder.path, eventsEnabled: true };
      await client.send('Browser.setDownloadBehavior', params);
      await click('slow');
      await next('Browser.downloadWillBegin');
      return take(slow);
    });
  const before = await usersDownloads();
  const lost = await begin('allowAndName');
  await until('Chrome has given up', () => lost.destroyed);
  await untilEqual('nothing is left of it', usersDownloads, before);
  const wanted = await begin('allow');
  wanted.end();
  await untilEqual('the file arrives', () => readdir(folder.path), ['slow.bin']);
  await folder.remove();
});
