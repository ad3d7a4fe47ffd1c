/**
 * What a client must not change in a tab that it did not create: looked at by the page itself, before, while and after the
 * client is there. The browser prefers dark, so that a client library's default of light would show.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';

import { inExtension, openTabs, useChain } from '../harness/chain.mjs';
import { until } from '../harness/processes.mjs';

/** What each page last said of itself, by its name. */
const said = new Map();
const WATCHED = `<title>Watched</title><button onclick="this.textContent = 'clicked'">press</button><script>
  const look = () => ({
    dark: matchMedia('(prefers-color-scheme: dark)').matches, print: matchMedia('print').matches,
    motion: matchMedia('(prefers-reduced-motion: reduce)').matches,
    width: innerWidth, height: innerHeight, ratio: devicePixelRatio, agent: navigator.userAgent, language: navigator.language,
    zone: Intl.DateTimeFormat().resolvedOptions().timeZone, touch: navigator.maxTouchPoints, font: getComputedStyle(document.body).fontFamily,
    visibility: document.visibilityState, focus: document.hasFocus(), webdriver: navigator.webdriver, scroll: scrollY,
  });
  const tell = () => fetch('/said' + location.search, { method: 'POST', body: JSON.stringify(look()) });
  setInterval(tell, 200); tell();
</script>`;

const shared = useChain({
  chromiumArgs: ['--blink-settings=preferredColorScheme=0'],
  pages: {
    '/watched': WATCHED,
    '/framing': (request, response) => {
      const { port } = new URL(`http://${request.headers.host}`);
      response.setHeader('content-type', 'text/html');
      response.end(
        `<title>Framing</title><iframe src="http://localhost:${port}/watched?framed"></iframe>`,
      );
    },
    '/said': (request, response) => {
      let body = '';
      request.on('data', (data) => (body += data));
      request.on('end', () => {
        const name = new URL(request.url, 'http://site').search;
        said.set(name, { ...JSON.parse(body), count: (said.get(name)?.count ?? 0) + 1 });
        response.end();
      });
    },
  },
});

/** What a page says of itself from now on. */
async function freshWord(name) {
  const before = said.get(name)?.count ?? 0;
  return until(`${name} speaks`, () => {
    const { count = 0, ...word } = said.get(name) ?? {};
    return count > before + 1 ? word : undefined;
  });
}

/** A page in the background takes a moment to learn that it is as it was. */
async function saysAgain(name, expected) {
  await until(`${name} is as it was`, async () =>
    isDeepStrictEqual(await freshWord(name), expected),
  ).catch(() => {});
  assert.deepEqual(await freshWord(name), expected);
}

const windows = () =>
  inExtension(shared.chain, async () => {
    const all = await chrome.windows.getAll({ populate: true });
    return all.map(({ id, focused, tabs }) => ({
      id,
      focused,
      tabs: tabs.map(({ id: tabId, active, highlighted, index }) => ({
        tabId,
        active,
        highlighted,
        index,
      })),
    }));
  });

test('the person sees no difference before, while and after a client uses a tab', async () => {
  await openTabs(
    shared.chain,
    ['?used', '?other'].map((name) => shared.site.url(`/watched${name}`)),
  );
  const before = {
    used: await freshWord('?used'),
    other: await freshWord('?other'),
    windows: await windows(),
  };
  assert.equal(before.used.dark, true, 'the browser prefers dark');
  await shared.withPlaywright(async ({ context }) => {
    const page = context.pages().find((known) => known.url().endsWith('?used'));
    await page.title();
    await page.textContent('button');
    await page.screenshot();
    const { visibility, focus, ...looks } = await freshWord('?used');
    const { visibility: visibleBefore, focus: focusBefore, ...looksBefore } = before.used;
    assert.deepEqual(looks, looksBefore);
    // A page in use is told that it is in front: without that a click in a background tab would wait for ever.
    assert.deepEqual(
      [visibleBefore, focusBefore, visibility, focus],
      ['hidden', false, 'visible', true],
    );
    assert.deepEqual(await freshWord('?other'), before.other);
    assert.deepEqual(await windows(), before.windows);
  });
  await saysAgain('?used', before.used);
  assert.deepEqual(await freshWord('?other'), before.other);
  assert.deepEqual(await windows(), before.windows);
});

test('nor in a frame of another site', async () => {
  await openTabs(shared.chain, [shared.site.url('/framing')]);
  const { visibility, focus, ...before } = await freshWord('?framed');
  assert.equal(before.dark, true);
  await shared.withPlaywright(async ({ context }) => {
    const page = context.pages().find((known) => known.url().endsWith('/framing'));
    assert.equal(await page.frameLocator('iframe').locator('button').textContent(), 'press');
    const { visibility: _, focus: _focus, ...looks } = await freshWord('?framed');
    assert.deepEqual(looks, before);
  });
});

test('a click gives its page the focus, as any click does, and changes nothing else', async () => {
  await openTabs(shared.chain, [shared.site.url('/watched?clicked')]);
  const before = await freshWord('?clicked');
  const windowsBefore = await windows();
  await shared.withPlaywright(async ({ context }) => {
    const page = context.pages().find((known) => known.url().endsWith('?clicked'));
    await page.click('button');
    assert.equal(await page.textContent('button'), 'clicked');
  });
  const { focus, ...after } = await freshWord('?clicked');
  const { focus: _, ...unchanged } = before;
  assert.deepEqual(after, unchanged);
  assert.deepEqual(await windows(), windowsBefore);
});

test('what the client really asks for works, and is undone when it leaves', async () => {
  await openTabs(shared.chain, [shared.site.url('/watched?asked')]);
  const before = await freshWord('?asked');
  // Twice: a tab that a client has left before must not draw on for the next one's size to be taken back.
  for (const round of ['first', 'second']) {
    await shared.withPlaywright(async ({ context }) => {
      const page = context.pages().find((known) => known.url().endsWith('?asked'));
      await page.emulateMedia({ colorScheme: 'light', media: 'print', reducedMotion: 'reduce' });
      await page.setViewportSize({ width: 400, height: 300 });
      const word = await freshWord('?asked');
      assert.deepEqual(
        [word.dark, word.print, word.motion, word.width, word.height],
        [false, true, true, 400, 300],
        round,
      );
    });
    await saysAgain('?asked', before);
  }
});
