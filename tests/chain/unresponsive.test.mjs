/**
 * Pages whose renderer does not respond, because a debugger or a machine short of memory has
 * stopped it.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { chromium as playwright } from 'playwright-core';

import { actOnTab, openTabs, pageAt, titleIn, useChain } from '../harness/chain.mjs';
import { rendererOf, skip, whileStopped } from '../harness/renderers.mjs';

/** Longer than both timeouts of this relay, so that something this slow is seen to outlast them. */
const SLOW_MS = 5_000;
const shared = useChain({
  args: ['--client-mode', 'multi-client', '--command-timeout', '2', '--attach-timeout', '3'],
  pages: {
    '/stopped': '<title>stopped</title>',
    '/other': '<title>other</title>',
    '/never': () => {},
    '/slow': (_request, response) =>
      setTimeout(
        () => response.setHeader('content-type', 'text/html').end('<title>slow</title>'),
        SLOW_MS,
      ),
  },
  tabs: (site) => [site.url('/stopped', 'localhost'), site.url('/other')],
});

/** Of another site than the rest, so that it has its own renderer. */
const stoppedUrl = () => shared.site.url('/stopped', 'localhost');

const unresponsiveTest = (name, options, run) =>
  test(name, options, () => shared.withPlaywright(run));

/**
 * Sends a command that the page does not respond to, through a session and through Playwright,
 * which hides the reason.
 */
function sendUnanswered(page, session) {
  const reason = session
    .send('Runtime.evaluate', { expression: '1' })
    .catch((error) => error.message);
  const failed = assert.rejects(page.evaluate(() => 1));
  return async (seconds) => {
    assert.match(await reason, new RegExp(`the page did not respond for ${seconds} seconds`));
    await failed;
  };
}

unresponsiveTest(
  'a stopped page fails its commands, blocks no other page, and works again when resumed',
  { skip },
  async ({ context }) => {
    const pid = await rendererOf(shared.chain, '/stopped');
    const [page, other] = [pageAt(context, '/stopped'), pageAt(context, '/other')];
    const session = await context.newCDPSession(page);
    assert.equal(await titleIn(page), 'stopped');
    await whileStopped(pid, async (resume) => {
      const assertTimedOut = sendUnanswered(page, session);
      assert.equal(await titleIn(other), 'other');
      const second = await playwright.connectOverCDP(shared.chain.cdpUrl);
      assert.equal(await titleIn(pageAt(second.contexts()[0], '/other')), 'other');
      await second.close();
      await assertTimedOut(2);
      resume();
      assert.equal(await page.evaluate(() => 1 + 1), 2);
    });
  },
);

unresponsiveTest(
  'other commands to a stopped page fail while it navigates',
  { skip },
  async ({ context }) => {
    const pid = await rendererOf(shared.chain, '/stopped');
    const page = pageAt(context, '/stopped');
    assert.equal(await titleIn(page), 'stopped');
    const session = await context.newCDPSession(page);
    await whileStopped(pid, async (resume) => {
      // The browser process sends the request; only the renderer that would show the response is
      // stopped.
      const navigated = session.send('Page.navigate', { url: `${stoppedUrl()}?again` });
      await assert.rejects(
        session.send('Runtime.evaluate', { expression: '1' }),
        /the page did not respond for 2 seconds/,
      );
      await navigated;
      resume();
      await page.waitForURL('**/stopped?again');
    });
    await page.goto(stoppedUrl());
    assert.equal(await titleIn(page), 'stopped');
  },
);

unresponsiveTest('waits for a slow server beyond the command timeout', {}, async ({ context }) => {
  const page = pageAt(context, '/other');
  assert.equal(await titleIn(page), 'other');
  const session = await context.newCDPSession(page);
  const { frameId } = await session.send('Page.navigate', { url: shared.site.url('/slow') });
  assert.ok(frameId);
  await page.waitForURL('**/slow');
  assert.equal(await titleIn(page), 'slow');
  await page.goto(shared.site.url('/other'));
});

unresponsiveTest('waits for slow page code beyond the command timeout', {}, async ({ context }) => {
  const result = await pageAt(context, '/other').evaluate(
    (delay) => new Promise((resolve) => setTimeout(resolve, delay, 'finished')),
    SLOW_MS,
  );
  assert.equal(result, 'finished');
});

test(
  'a dormant page that is stopped fails its first command and wakes when resumed',
  { skip },
  async () => {
    const pid = await rendererOf(shared.chain, '/stopped');
    await whileStopped(pid, (resume) =>
      shared.withPlaywright(async ({ context }) => {
        const page = pageAt(context, '/stopped');
        const assertTimedOut = sendUnanswered(page, await context.newCDPSession(page));
        assert.equal(await titleIn(pageAt(context, '/other')), 'other');
        await assertTimedOut(3);
        resume();
        assert.equal(await page.evaluate(() => 1 + 1), 2);
      }),
    );
  },
);

test('a dormant page that is stopped can navigate elsewhere', { skip }, async () => {
  const pid = await rendererOf(shared.chain, '/stopped');
  await whileStopped(pid, () =>
    shared.withPlaywright(async ({ context }) => {
      const page = pageAt(context, '/stopped');
      // To another site, which another process renders.
      await page.goto(shared.site.url('/other?2'));
      assert.equal(await titleIn(page), 'other');
      await page.evaluate(() => (document.title = 'used'));
      assert.equal(await titleIn(page), 'used');
    }),
  );
});

test('a dormant page whose next document never arrives can navigate elsewhere', async () => {
  const url = shared.site.url('/other?left');
  await openTabs(shared.chain, [url]);
  const requested = shared.site.nextRequest('/never');
  await actOnTab(shared.chain, url, 'update', { url: shared.site.url('/never') });
  await requested;
  await shared.withPlaywright(async ({ context }) => {
    const page = pageAt(context, '/other?left');
    await page.goto(shared.site.url('/other?3'));
    assert.equal(await titleIn(page), 'other');
  });
});
