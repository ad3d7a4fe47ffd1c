/**
 * Programs that pose as the relay, with a real Chromium: one of another user that listens on the
 * relay's port, and one that forwards everything to the real relay. None learns anything about the
 * browser, none runs a command, and the user is warned.
 */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import net from 'node:net';
import { after, before, test } from 'node:test';

import { attachedUrls, inExtension, openTabs } from '../harness/chain.mjs';
import { openPopup } from '../harness/popup.mjs';
import {
  endProcess,
  freePort,
  startChromium,
  startRelay,
  temporaryFolder,
  until,
} from '../harness/processes.mjs';
import { startSite } from '../harness/site.mjs';
import { NOBODY, skip, startSquatter } from '../harness/squatter.mjs';

const TITLE = 'Private orders';
const COOKIE = 'only-the-site-may-know-this';

let site, home, port, relay, chromium, popup, tabId;

before(async () => {
  site = await startSite({
    '/orders': (_request, response) =>
      response
        .setHeader('content-type', 'text/html')
        .setHeader('set-cookie', `session=${COOKIE}; HttpOnly`)
        .end(`<title>${TITLE}</title>`),
  });
  home = await temporaryFolder('home');
  port = await freePort();
  chromium = await startChromium({ relay: { port, home } });
  await openTabs({ chromium }, [site.url('/orders')]);
  popup = await openPopup(chromium);
  tabId = await inExtension({ chromium }, async (url) => (await chrome.tabs.query({ url }))[0].id, [
    site.url('/orders'),
  ]);
});

after(async () => {
  await popup?.close();
  await chromium?.stop();
  await relay?.stop();
  await home?.remove();
  site?.stop();
});

const address = () => `127.0.0.1:${port}`;

/** What commands could change: the tabs, and which of them have a debugger. */
const browserState = async () => ({
  tabs: await inExtension({ chromium }, async () =>
    (await chrome.tabs.query({})).map(({ id, url }) => [id, url]),
  ),
  attached: await attachedUrls({ chromium }),
});

/** Starts the squatter, and checks that the user is warned and that it gets nothing. */
async function resist(t) {
  const state = await browserState();
  const started = performance.now();
  const squatter = await startSquatter({ port, tabId });
  try {
    assert.equal(squatter.user, NOBODY);
    await popup.headline('Not your relay');
    t.diagnostic(`the popup warned after ${Math.round(performance.now() - started)} ms`);
    await popup.explanation(`A program that is not your relay is listening on ${address()}.`);
    await squatter.untilTried();
    await popup.headline('Not your relay');
    assertLearnedNothing(t, squatter);
    assert.deepEqual(await browserState(), state);
  } finally {
    await squatter.stop();
  }
}

function assertLearnedNothing(t, { connections, messages, bytes }) {
  for (const { method, params } of messages) {
    assert.equal(method, 'hello');
    assert.deepEqual(
      Object.keys(params),
      ['protocol', 'installId', 'nonce', 'proof', 'takeOver'],
      'nothing about the browser',
    );
  }
  const all = bytes + JSON.stringify(messages);
  for (const secret of [COOKIE, TITLE, site.url('/orders'), String(site.port)]) {
    assert.ok(!all.includes(secret), secret);
  }
  t.diagnostic(`${connections} connections, ${messages.length} messages, all of them hello`);
}

/** The real relay, once the extension has connected to it by itself. Starts it if necessary. */
async function connectedRelay() {
  relay ??= await startRelay({ home, port });
  await relay.waitForExtension();
  await popup.headline('Connected');
  return relay;
}

async function killRelay() {
  await endProcess(relay.child, 'SIGKILL');
  relay = undefined;
}

test('another user’s program gets nothing before any relay ever ran', { skip }, async (t) => {
  await popup.headline('Not connected');
  await resist(t);
  await connectedRelay();
});

test('another user’s program gets nothing after the relay was killed', { skip }, async (t) => {
  await connectedRelay();
  await killRelay();
  await resist(t);
  await connectedRelay();
});

const withRelaysHost = (data) =>
  Buffer.from(data.toString('latin1').replace(/^Host: .*$/m, `Host: ${address()}`), 'latin1');

/**
 * Forwards every byte between the extension and the relay. A program that only does this is refused
 * for its `Host` header, so `rewritesHost` makes it the relay's own.
 */
async function startForwarder({ rewritesHost }) {
  const server = net.createServer((downstream) => {
    const upstream = net.connect(port, '127.0.0.1');
    downstream.on('data', (data) => {
      forwarder.attempts += data.includes('GET /extension') ? 1 : 0;
      upstream.write(rewritesHost ? withRelaysHost(data) : data);
    });
    upstream.on('data', (data) => {
      forwarder.fromRelay += data.toString('latin1');
      downstream.write(data);
    });
    for (const [from, to] of [
      [upstream, downstream],
      [downstream, upstream],
    ]) {
      from.on('close', () => to.destroy()).on('error', () => {});
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const forwarder = {
    port: server.address().port,
    /** How often the extension has tried to connect. */
    attempts: 0,
    fromRelay: '',
    stop: () => server.close(),
  };
  return forwarder;
}

for (const [name, { rewritesHost, warning }] of Object.entries({
  unchanged: { rewritesHost: false, warning: 'Not your relay' },
  'with the relay’s own address': { rewritesHost: true, warning: 'Pairing not accepted' },
})) {
  test(`a program that forwards everything ${name} is refused`, async (t) => {
    const { status } = await connectedRelay();
    const forwarder = await startForwarder({ rewritesHost });
    t.after(forwarder.stop);
    await popup.useRelay(forwarder.port);
    await popup.headline(warning);
    await popup.explanation(`127.0.0.1:${forwarder.port}`);
    await until('the extension has tried again', () => forwarder.attempts > 2);
    assert.equal((await status()).extension, false);
    assert.equal(forwarder.fromRelay.includes('challenge'), rewritesHost);
    assert.ok(!forwarder.fromRelay.includes('welcome'));
    await popup.useRelay(port);
    await popup.headline('Connected');
  });
}
