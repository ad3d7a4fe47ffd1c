/**
 * Clients that connect while a tab cannot answer: its renderer is stopped, or it waits for somebody to answer its dialog. The
 * way to all other tabs is open to them at once, and to that one when it goes on. Commands have their usual 30 seconds here, so
 * that a client that is through has not just outlived them.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { openTabs, useChain } from '../harness/chain.mjs';
import { until } from '../harness/processes.mjs';
import { rendererOf, skip, whileStopped } from '../harness/renderers.mjs';

const shared = useChain({
  args: ['--client-mode', 'multi-client'],
  pages: {
    '/held':
      '<title>held</title><button onclick="document.title = \'clicked\'">go</button><iframe src="/inner"></iframe>',
    '/inner': '<title>inner</title><p>inside</p>',
    '/other': '<title>other</title>',
    '/outer': (request, response) => {
      response
        .setHeader('content-type', 'text/html')
        .end(`<title>outer</title>${frameOfTheOtherSite(request, '/inner')}`);
    },
    '/threefold': (request, response) => {
      response
        .setHeader('content-type', 'text/html')
        .end(`<title>threefold</title>${frameOfTheOtherSite(request, '/around')}`);
    },
    '/around': (request, response) => {
      response
        .setHeader('content-type', 'text/html')
        .end(`<title>around</title>${frameOfTheOtherSite(request, '/inner')}`);
    },
  },
});

/** A frame that has a process and a target of its own. */
function frameOfTheOtherSite({ headers: { host } }, path) {
  const other = host.includes('localhost')
    ? host.replace('localhost', '127.0.0.1')
    : host.replace('127.0.0.1', 'localhost');
  return `<iframe src="http://${other}${path}"></iframe>`;
}

/** Another site than the rest, so that it has a renderer of its own. */
const heldUrl = () => shared.site.url('/held').replace('127.0.0.1', 'localhost');
const pageOf = (pages, name) => pages.find((page) => page.url().endsWith(`/${name}`));

/** Opens the two tabs anew, in which nothing has happened yet. */
async function opened() {
  await openTabs(shared.chain, [heldUrl(), shared.site.url('/other')]);
}

/** Each kind of client connects and uses the other tab while `isHeld`; afterwards `goOn`, and each uses the held one. */
async function connectBeside(connect, isHeld, goOn) {
  const { context } = await connect.playwright();
  const pages = context.pages();
  assert.equal(await pageOf(pages, 'other').title(), 'other');
  const puppet = await connect.puppeteer();
  const puppets = await puppet.pages();
  assert.equal(await pageOf(puppets, 'other').title(), 'other');
  assert.ok(isHeld(), 'the tab was held all the while');
  const [held, puppetHeld] = [pageOf(pages, 'held'), pageOf(puppets, 'held')];
  const first = held.title();
  const second = puppetHeld.evaluate(() => document.title);
  await goOn();
  assert.deepEqual(await Promise.all([first, second]), ['held', 'held']);
  assert.equal(await held.frameLocator('iframe').locator('p').innerText(), 'inside');
  assert.equal(
    await puppetHeld
      .frames()
      .at(1)
      .$eval('p', (p) => p.textContent),
    'inside',
  );
  await held.getByRole('button').click();
  assert.equal(await puppetHeld.title(), 'clicked');
  await held.reload();
  assert.equal(await held.title(), 'held');
  assert.equal(await held.frameLocator('iframe').locator('p').innerText(), 'inside');
}

/** The clients connect while the held page's process is stopped, and `page` of a client before them waits for it. */
const connectWhileStopped = (connect, pid, page) =>
  whileStopped(pid, async (goOn) => {
    let isHeld = true;
    const waiting = page.title().finally(() => (isHeld = false));
    await connectBeside(connect, () => isHeld, goOn);
    assert.equal(await waiting, 'held');
  });

test('beside a page in use that is stopped', { skip }, () =>
  shared.withClients(async (connect) => {
    await opened();
    const pid = await rendererOf(shared.chain, '/held');
    const { context } = await connect.playwright();
    const page = pageOf(context.pages(), 'held');
    assert.equal(await page.frameLocator('iframe').locator('p').innerText(), 'inside');
    await connectWhileStopped(connect, pid, page);
  }),
);

test('beside a page that is stopped while the debugger is being attached to it', { skip }, () =>
  shared.withClients(async (connect) => {
    await opened();
    const pid = await rendererOf(shared.chain, '/held');
    const { context } = await connect.playwright();
    await connectWhileStopped(connect, pid, pageOf(context.pages(), 'held'));
  }),
);

test('beside a page that shows a dialog', () =>
  shared.withClients(async (connect) => {
    await opened();
    const user = await connect.playwright();
    const page = pageOf(user.context.pages(), 'held');
    const shown = page.waitForEvent('dialog');
    let isHeld = true;
    const waiting = page.evaluate(() => alert('hold')).finally(() => (isHeld = false));
    const dialog = await shown;
    await connectBeside(
      connect,
      () => isHeld,
      () => dialog.accept(),
    );
    await waiting;
  }));

test('beside a frame of another process that is stopped', { skip }, () =>
  shared.withClients(async (connect) => {
    await openTabs(shared.chain, [shared.site.url('/outer'), shared.site.url('/other')]);
    const user = await connect.playwright();
    const inner = pageOf(user.context.pages(), 'outer').frameLocator('iframe').locator('p');
    assert.equal(await inner.innerText(), 'inside');
    const pid = await rendererOf(shared.chain, '/inner');
    await whileStopped(pid, async (goOn) => {
      let isHeld = true;
      const waiting = inner.innerText().finally(() => (isHeld = false));
      const { context } = await connect.playwright();
      const puppets = await (await connect.puppeteer()).pages();
      for (const pages of [context.pages(), puppets]) {
        assert.equal(await pageOf(pages, 'other').title(), 'other');
        assert.equal(
          await pageOf(pages, 'outer').evaluate(() => document.title),
          'outer',
          'also the page around it answers',
        );
      }
      assert.ok(isHeld);
      goOn();
      assert.equal(await waiting, 'inside');
      assert.equal(
        await pageOf(context.pages(), 'outer').frameLocator('iframe').locator('p').innerText(),
        'inside',
      );
    });
  }),
);

test(
  'a frame in a frame is there for Puppeteer though its own process answers before that of the one around it',
  { skip },
  () =>
    shared.withClients(async (connect) => {
      await openTabs(shared.chain, [shared.site.url('/threefold')]);
      const user = await connect.playwright();
      const page = pageOf(user.context.pages(), 'threefold');
      const inside = page.frameLocator('iframe').frameLocator('iframe').locator('p');
      assert.equal(await inside.innerText(), 'inside');
      const pid = await rendererOf(shared.chain, '/around');
      await whileStopped(pid, async (goOn) => {
        const puppet = pageOf(await (await connect.puppeteer()).pages(), 'threefold');
        assert.equal(await puppet.evaluate(() => document.title), 'threefold');
        // What it has been asked before has been answered by then.
        assert.equal(
          await page
            .frames()
            .find((frame) => frame.url().endsWith('/inner'))
            .evaluate(() => document.title),
          'inner',
        );
        goOn();
        const inner = await until('the inner frame', () =>
          puppet.frames().find((frame) => frame.url().endsWith('/inner')),
        );
        assert.equal(await inner.$eval('p', (p) => p.textContent), 'inside');
        assert.equal(await inner.parentFrame().evaluate(() => document.title), 'around');
      });
    }),
);
