/** Titles of tabs that no client uses: Playwright reads them without attaching, whenever they are certain. */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import {
  actOnTab,
  attachedUrls,
  inExtension,
  onOwnPort,
  openTabs,
  pageAt,
  useChain,
} from '../harness/chain.mjs';
import { until } from '../harness/processes.mjs';

/** One empty page. */
const PDF = `%PDF-1.1
1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj
2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj
3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 200]>>endobj
4 0 obj<</Title(Annual report)>>endobj
trailer<</Size 5/Root 1 0 R/Info 4 0 R>>
%%EOF`;

const shared = useChain({
  pages: {
    '/titled': '<title> The  “first” &amp; <b>best\n</title>',
    '/scripted': '<title>before</title><script>document.title = "by a script"</script>',
    '/later': '<title>Later</title>',
    '/untitled': '<p>no title</p>',
    '/address': (request, response) =>
      response
        .setHeader('content-type', 'text/html')
        .end(`<title>${request.headers.host}/address</title>`),
    '/next': '<title>Next</title>',
    '/paper': (_request, response) =>
      response.setHeader('content-type', 'application/pdf').end(PDF),
  },
  tabs: (site) => ['/titled', '/scripted', '/later'].map((path) => site.url(path)),
});

const titleOf = (path) =>
  shared.withPlaywright(async ({ context }) => {
    const title = await pageAt(context, path).title();
    return { title, attached: await attachedUrls(shared.chain) };
  });

const tabAt = (path) =>
  inExtension(
    shared.chain,
    async (url) => (await chrome.tabs.query({})).find((tab) => tab.url === url),
    shared.site.url(path),
  );

test('reads known titles without attaching, and without loading a discarded tab', async () => {
  await actOnTab(shared.chain, shared.site.url('/later'), 'discard');
  await until('the tab is discarded', async () => (await tabAt('/later')).discarded);
  await shared.withPlaywright(async ({ context }) => {
    const titles = context.pages().filter((page) => page.url() !== 'about:blank');
    assert.deepEqual(
      await Promise.all(titles.map((page) => page.title())).then((all) => all.sort()),
      ['Later', 'The “first” & <b>best', 'by a script'],
    );
    assert.deepEqual(await attachedUrls(shared.chain), []);
    // The page works as usual afterwards, through the same helper object.
    const page = pageAt(context, '/titled');
    assert.equal(await page.locator('title').count(), 1);
    assert.equal(await page.title(), 'The “first” & <b>best');
    assert.deepEqual(await attachedUrls(shared.chain), [page.url()]);
  });
  assert.ok((await tabAt('/later')).discarded);
  await actOnTab(shared.chain, shared.site.url('/later'), 'remove');
});

for (const [path, title] of [
  ['/untitled', () => ''],
  ['/address', () => shared.site.url('/address').replace('http://', '')],
]) {
  test(`reads the title of ${path} in the page, because it may be the address`, async () => {
    await openTabs(shared.chain, [shared.site.url(path)]);
    const expected = { title: title(), attached: [shared.site.url(path)] };
    assert.deepEqual(await titleOf(path), expected);
  });
}

test('reads the title of a PDF in its document, which has none', async () => {
  const url = shared.site.url('/paper');
  await openTabs(shared.chain, [url]);
  await until('it is shown', async () => (await tabAt('/paper')).title === 'Annual report');
  assert.deepEqual(await titleOf('/paper'), { title: '', attached: [url] });
  await actOnTab(shared.chain, url, 'update', { url: shared.site.url('/next') });
  await until('the tab shows Next', async () => (await tabAt('/next'))?.title === 'Next');
  assert.deepEqual(await titleOf('/next'), { title: 'Next', attached: [] });
  await actOnTab(shared.chain, shared.site.url('/next'), 'remove');
});

test('knows the title of a page from the back/forward cache', async () => {
  const wentTo = (title) =>
    until(`the tab shows ${title}`, async () =>
      inExtension(
        shared.chain,
        async (wanted) =>
          (await chrome.tabs.query({})).some(
            (tab) => tab.title === wanted && tab.status === 'complete',
          ),
        title,
      ),
    );
  await onOwnPort(shared.chain, async (_browser, context) => {
    await pageAt(context, '/scripted').goto(shared.site.url('/next'));
  });
  await wentTo('Next');
  assert.deepEqual(await titleOf('/next'), { title: 'Next', attached: [] });
  await actOnTab(shared.chain, shared.site.url('/next'), 'goBack');
  await wentTo('by a script');
  assert.deepEqual(await titleOf('/scripted'), { title: 'by a script', attached: [] });
});
