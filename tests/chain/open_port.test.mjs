/**
 * The port that needs no token, against real pages and a real extension in the browser that it leads to.
 * They know everything that could help them, such as the id of a tab. None reads anything, and nothing
 * changes.
 */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import path from 'node:path';
import { afterEach, test } from 'node:test';

import { attachedUrls, inServiceWorker, onOwnPort, useChain } from '../harness/chain.mjs';
import { openPort, tabwire } from '../harness/command.mjs';
import { EXTENSION_ID, FIXTURES_DIR, freePort } from '../harness/processes.mjs';

const REBOUND = 'rebound.test';

const shared = useChain({
  pages: { '/victim': '<title>Victim</title>', '/attacker': '<title>Attacker</title>' },
  tabs: (site) => [site.url('/victim'), site.url('/attacker'), site.url('/attacker', 'localhost')],
  chromiumArgs: [`--host-resolver-rules=MAP ${REBOUND} 127.0.0.1`],
  extensions: [path.join(FIXTURES_DIR, 'nosy_extension')],
});

afterEach(() => tabwire(shared.chain.relay, 'close-port'));

/** Runs in a page or an extension: tries everything. Returns what it could see, by what it tried. */
async function attack({ host, id }) {
  const seen = {};
  const paths = ['/json/list', '/json/version', '/json/new?about:blank', `/json/close/${id}`];
  const tries = [{}, { mode: 'no-cors' }, { method: 'PUT' }, { headers: { 'User-Agent': 'x' } }];
  for (const path of paths) {
    for (const options of tries) {
      // The status of a response that a page may not read is 0.
      const read = async (response) => `${response.status} ${(await response.text()).length > 200}`;
      seen[`${JSON.stringify(options)} ${path}`] = await fetch(
        `http://${host}${path}`,
        options,
      ).then(read, () => 'failed');
    }
  }
  for (const path of [`/devtools/page/${id}`, '/devtools/browser/x', '/cdp', '/extension']) {
    seen[`WebSocket ${path}`] = await new Promise((resolve) => {
      const socket = new WebSocket(`ws://${host}${path}`);
      socket.onopen = () => resolve('open');
      socket.onerror = () => resolve('failed');
    });
  }
  if (globalThis.document) {
    for (const [tag, attribute] of [
      ['img', 'src'],
      ['script', 'src'],
      ['iframe', 'src'],
    ]) {
      const element = document.createElement(tag);
      element[attribute] = `http://${host}/json/close/${id}`;
      document.documentElement.append(element);
      seen[tag] = await new Promise((resolve) => {
        element.onerror = () => resolve('failed');
        // A frame also loads if it shows a refusal, which its parent cannot read.
        element.onload = () => resolve(tag === 'iframe' ? 'failed' : 'loaded');
      });
    }
    navigator.sendBeacon(`http://${host}/json/close/${id}`);
  }
  return seen;
}

const REFUSED = ['failed', '0 false', '403 false'];

async function assertRefused(run) {
  const list = async (port) => (await fetch(`http://127.0.0.1:${port}/json/list`)).json();
  const { port, seen } = await run(async (port) => {
    const victim = (await list(port)).find(({ title }) => title === 'Victim');
    return { host: `127.0.0.1:${port}`, id: victim.id };
  });
  const got = Object.entries(seen).filter(([, outcome]) => !REFUSED.includes(outcome));
  assert.deepEqual(got, []);
  assert.ok(Object.keys(seen).length >= 20);
  const titles = (await list(port)).map(({ title }) => title).filter((title) => title !== '');
  assert.ok(titles.includes('Victim'), String(titles));
  assert.deepEqual(await attachedUrls(shared.chain), []);
}

/** Runs `attack` in a page at this address. */
const inPage = (url, given) =>
  onOwnPort(shared.chain, async (_browser, context) =>
    context
      .pages()
      .find((page) => page.url() === url)
      .evaluate(attack, given),
  );

for (const host of ['127.0.0.1', 'localhost']) {
  test(`refuses a page of another site on ${host}`, () =>
    assertRefused(async (given) => {
      const port = await openPort(shared.chain.relay);
      return { port, seen: await inPage(shared.site.url('/attacker', host), await given(port)) };
    }));
}

for (const host of ['127.0.0.1', REBOUND]) {
  test(`refuses a page that another program served on the same port as ${host}`, () =>
    assertRefused(async (given) => {
      const port = await freePort();
      const url = `http://${host}:${port}/`;
      const program = http.createServer((_request, response) =>
        response.setHeader('content-type', 'text/html').end('<title>Earlier</title>'),
      );
      await once(program.listen(port, '127.0.0.1'), 'listening');
      return onOwnPort(shared.chain, async (_browser, context) => {
        const page = await context.newPage();
        await page.goto(url);
        program.closeAllConnections();
        await once(program.close(), 'close');
        await openPort(shared.chain.relay, { port });
        const { id } = await given(port);
        const seen = await page.evaluate(attack, { host: `${host}:${port}`, id });
        await page.close();
        return { port, seen };
      });
    }));
}

test('refuses an extension that may send requests to programs on this machine', () =>
  assertRefused(async (given) => {
    const port = await openPort(shared.chain.relay);
    const isNosy = (url) => url.endsWith('/background.js') && !url.includes(EXTENSION_ID);
    const seen = await inServiceWorker(shared.chain, isNosy, attack, await given(port));
    return { port, seen };
  }));

test('refuses what the address bar opens', async () => {
  const port = await openPort(shared.chain.relay);
  await onOwnPort(shared.chain, async (_browser, context) => {
    const page = await context.newPage();
    const response = await page.goto(`http://127.0.0.1:${port}/json/list`);
    assert.equal(response.status(), 403);
    await page.close();
  });
});
