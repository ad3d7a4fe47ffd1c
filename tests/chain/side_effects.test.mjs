/**
 * What a client must not change in a tab that it did not create. The page itself reports what it
 * sees before, during and after the client's visit. The browser prefers dark, so that a client
 * library's default of light would show.
 */

import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { json } from 'node:stream/consumers';
import { test } from 'node:test';

import { startRelayAgain } from '../chaos/faults.mjs';
import { inExtension, openTabs, pageAt, titleIn, useChain } from '../harness/chain.mjs';
import { until, untilEqual } from '../harness/processes.mjs';
import { withRawClient } from '../harness/raw_client.mjs';
import { html } from '../harness/site.mjs';

/**
 * Emits each page's report, and holds each page's request for the next one, by the query of its
 * address.
 */
const reports = new EventEmitter();
const held = new Map();
const nameOf = (request) => new URL(request.url, 'http://site').search;

/**
 * Reports what it sees whenever the test answers /wait. A timer would be throttled in the
 * background.
 */
const reporting = (look) => `<script type="module">
  ${look}
  for (;;) {
    await fetch('/wait' + location.search);
    await fetch('/report' + location.search, { method: 'POST', body: JSON.stringify(look()) });
  }
</script>`;
const BUTTON = `<button onclick="this.textContent = 'clicked'">press</button>`;

const WATCHED = `<title>Watched</title>${BUTTON}${reporting(`
  const look = () => ({
    dark: matchMedia('(prefers-color-scheme: dark)').matches, print: matchMedia('print').matches,
    motion: matchMedia('(prefers-reduced-motion: reduce)').matches,
    width: innerWidth, height: innerHeight, ratio: devicePixelRatio, agent: navigator.userAgent, language: navigator.language,
    zone: Intl.DateTimeFormat().resolvedOptions().timeZone, touch: navigator.maxTouchPoints, font: getComputedStyle(document.body).fontFamily,
    visibility: document.visibilityState, focus: document.hasFocus(), webdriver: navigator.webdriver, scroll: scrollY,
  });`)}`;

/** Also reports every event that shows that a page is used. */
const NOTICING = `<title>Noticing</title>${BUTTON}${reporting(`
  const events = document.hasFocus() ? ['focus'] : [];
  const notice = (event, detail = '') => events.push((event.type + ' ' + detail).trim());
  document.addEventListener('visibilitychange', (event) => notice(event, document.visibilityState));
  document.addEventListener('click', (event) => notice(event, event.isTrusted ? 'trusted' : ''));
  for (const type of ['focus', 'blur']) addEventListener(type, (event) => notice(event));
  const look = () => ({
    events, visibility: document.visibilityState, hidden: document.hidden, focus: document.hasFocus(),
  });`)}`;

const shared = useChain({
  chromiumArgs: ['--blink-settings=preferredColorScheme=0'],
  pages: {
    '/watched': WATCHED,
    '/noticing': NOTICING,
    '/framing': html(
      (site) =>
        `<title>Framing</title><iframe src="${site.url('/watched?framed', 'localhost')}"></iframe>`,
    ),
    '/wait': (request, response) => held.set(nameOf(request), response),
    '/report': async (request, response) => {
      reports.emit(nameOf(request), await json(request));
      response.end();
    },
  },
});

/** What a page sees now. */
async function report(name) {
  await until(`${name} waits`, () => held.has(name));
  const reported = once(reports, name);
  held.get(name).end();
  held.delete(name);
  return (await reported)[0];
}

/**
 * What a page in the background sees without a client. The harness opens tabs through Chromium's
 * own port, and a page takes a moment to see that the harness has disconnected.
 */
const reportAtRest = (name) =>
  until(`${name} is at rest`, async () => {
    const seen = await report(name);
    return seen.dark && !seen.focus && seen.visibility === 'hidden' && seen;
  });

/** Without what using a page is meant to change. */
const unfocused = ({ visibility: _visibility, focus: _focus, ...rest }) => rest;

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

test('using a tab changes nothing that the page or the user can see', async () => {
  await openTabs(
    shared.chain,
    ['?used', '?other'].map((name) => shared.site.url(`/watched${name}`)),
  );
  const before = await windows();
  const [used, other] = [await reportAtRest('?used'), await reportAtRest('?other')];
  await shared.withPlaywright(async ({ context }) => {
    const page = pageAt(context, '?used');
    await titleIn(page);
    await page.textContent('button');
    await page.screenshot();
    const during = await report('?used');
    assert.deepEqual(unfocused(during), unfocused(used));
    // A page in use believes it is in front. Otherwise a click in a background tab would wait for
    // ever.
    assert.deepEqual([during.visibility, during.focus], ['visible', true]);
    assert.deepEqual(await report('?other'), other);
    assert.deepEqual(await windows(), before);
  });
  await untilEqual('?used is restored', () => report('?used'), used);
  assert.deepEqual(await reportAtRest('?other'), other);
  assert.deepEqual(await windows(), before);
});

test('using an out-of-process frame changes nothing that the frame can see', async () => {
  await openTabs(shared.chain, [shared.site.url('/framing')]);
  const before = await reportAtRest('?framed');
  await shared.withPlaywright(async ({ context }) => {
    const frame = pageAt(context, '/framing').frameLocator('iframe');
    assert.equal(await frame.locator('button').textContent(), 'press');
    assert.deepEqual(unfocused(await report('?framed')), unfocused(before));
  });
});

test('a click gives the page focus and changes nothing else', async () => {
  await openTabs(shared.chain, [shared.site.url('/watched?clicked')]);
  const windowsBefore = await windows();
  const before = await reportAtRest('?clicked');
  await shared.withPlaywright(async ({ context }) => {
    const page = pageAt(context, '?clicked');
    await page.click('button');
    assert.equal(await page.textContent('button'), 'clicked');
  });
  const withoutFocus = ({ focus: _focus, ...rest }) => rest;
  await untilEqual(
    '?clicked is restored',
    async () => withoutFocus(await report('?clicked')),
    withoutFocus(before),
  );
  assert.deepEqual(await windows(), windowsBefore);
});

test('overrides apply while the client is connected and are undone when it leaves', async () => {
  await openTabs(shared.chain, [shared.site.url('/watched?overridden')]);
  const before = await reportAtRest('?overridden');
  const overrides = { dark: false, print: true, motion: true, width: 400, height: 300 };
  // A second round, because restoring the size must also work in a tab that a client has left
  // before.
  for (const round of ['first', 'second']) {
    await shared.withPlaywright(async ({ context }) => {
      const page = pageAt(context, '?overridden');
      await page.emulateMedia({ colorScheme: 'light', media: 'print', reducedMotion: 'reduce' });
      await page.setViewportSize({ width: 400, height: 300 });
      await untilEqual(
        `?overridden is overridden in the ${round} round`,
        async () => unfocused(await report('?overridden')),
        { ...unfocused(before), ...overrides },
      );
    });
    await untilEqual('?overridden is restored', () => report('?overridden'), before);
  }
});

/** Opens a page in the background, and returns how to check what it has noticed since. */
async function openNoticing(name) {
  await openTabs(shared.chain, [shared.site.url(`/noticing${name}`)]);
  const atRest = await until(`${name} is at rest`, async () => {
    const seen = await report(name);
    const [focused, blurred] = ['focus', 'blur'].map(
      (type) => seen.events.filter((event) => event === type).length,
    );
    return seen.visibility === 'hidden' && focused === blurred && seen;
  });
  let last = atRest;
  return {
    async noticesNothing() {
      assert.deepEqual(await report(name), last);
    },
    /** @param {string[]} events @param {{ visibility: string, focus: boolean }} state */
    async notices(events, { visibility, focus }) {
      const hidden = visibility === 'hidden';
      last = { events: [...last.events, ...events], visibility, hidden, focus };
      await untilEqual(`${name} notices ${events}`, () => report(name), last);
    },
  };
}

const IN_FRONT = { visibility: 'visible', focus: true };
const BEHIND = { visibility: 'hidden', focus: false };

test('a page notices what docs/security.md says', async () => {
  const { noticesNothing, notices } = await openNoticing('?noticed');
  await withRawClient(shared.chain, async ({ client }) => {
    await client.send('Target.getTargets');
    await noticesNothing();
    const session = await client.attach(shared.site.url('/noticing?noticed'));
    await noticesNothing();
    // On a busy computer, a short one may take as long.
    const expression = 'new Promise((resolve) => setTimeout(resolve, 100))';
    await client.send('Runtime.evaluate', { expression, awaitPromise: true }, session);
    await notices(['visibilitychange visible', 'focus'], IN_FRONT);
  });
  await notices(['visibilitychange hidden', 'blur'], BEHIND);
  await shared.withPlaywright(async ({ context }) => {
    const page = pageAt(context, '?noticed');
    assert.equal(await page.title(), 'Noticing');
    await noticesNothing();
    await titleIn(page);
    await notices(['visibilitychange visible', 'focus'], IN_FRONT);
    await page.click('button');
    await notices(['click trusted'], IN_FRONT);
  });
  // A page that was clicked keeps its focus.
  await notices(['visibilitychange hidden'], { visibility: 'hidden', focus: true });
});

test('with --no-focus-emulation, a page does not notice that it is read', async () => {
  await shared.chain.relay.stop({ keepHome: true });
  await startRelayAgain(shared.chain, ['--no-focus-emulation']);
  await shared.chain.relay.waitForExtension();
  const { noticesNothing } = await openNoticing('?unaware');
  await shared.withPlaywright(async ({ context }) => {
    const page = pageAt(context, '?unaware');
    await titleIn(page);
    assert.equal(await page.textContent('button'), 'press');
    await page.screenshot();
    await noticesNothing();
  });
  await noticesNothing();
});
