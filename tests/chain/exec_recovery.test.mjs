/**
 * `tabwire exec` and agents use the relay's browser also if it is gone: a debugging port that answers
 * again, or a browser that the relay launches again.
 */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';

import { prepareRunner } from '../harness/agent.mjs';
import { browserPid, killBrowser, tabwire, withRelay } from '../harness/launched.mjs';
import { CHROMIUM, startChromium, startRelay, until } from '../harness/processes.mjs';
import { connectRaw } from '../harness/raw_client.mjs';

const MANY_CLIENTS = ['--client-mode', 'multi-client'];
const QUIET = ['--', '--disable-background-networking', '--disable-component-update'];

const evaluates = async (home, ...options) => {
  const { stdout } = await tabwire(home, 'exec', ...options, '-e', 'page.evaluate("6 * 7")');
  assert.equal(stdout, '42\n');
};

const untilDegraded = (relay) =>
  until('the relay notices', async () => !(await relay.status()).extension);

test('a browser at --browser-url is used again after it was restarted', async () => {
  let chromium = await startChromium();
  const { port } = new URL(chromium.ownUrl);
  const args = ['--browser-url', `http://127.0.0.1:${port}`, ...MANY_CLIENTS];
  const relay = await startRelay({ args });
  try {
    await prepareRunner(relay.home);
    const client = await connectRaw(relay.cdpUrl);
    await client.send('Browser.getVersion');
    const exited = once(chromium.child, 'exit');
    chromium.child.kill('SIGKILL');
    await exited;
    await chromium.stop();
    await untilDegraded(relay);
    chromium = await startChromium({ args: [`--remote-debugging-port=${port}`] });
    await evaluates(relay.home);
    await client.send('Browser.getVersion');
    await client.close();
  } finally {
    await relay.stop();
    await chromium.stop();
  }
});

test('a launched browser with a debugging port is launched again, also by its name', () =>
  withRelay(MANY_CLIENTS, async (relay) => {
    const { home } = relay;
    await prepareRunner(home);
    await tabwire(home, 'launch', CHROMIUM, '--direct', '--temp', '--name', 'work', ...QUIET);
    const client = await connectRaw(relay.cdpUrl);
    for (const options of [[], ['--browser', 'work']]) {
      await client.send('Browser.getVersion');
      await killBrowser(await browserPid(home));
      await untilDegraded(relay);
      const { launches } = await relay.status();
      assert.equal(launches, true);
      await evaluates(home, ...options);
    }
    await client.close();
  }));

test('a browser that was restarted is connected without a request of a client', () =>
  withRelay(MANY_CLIENTS, async (relay) => {
    await tabwire(relay.home, 'launch', CHROMIUM, '--direct', '--temp', ...QUIET);
    const client = await connectRaw(relay.cdpUrl);
    await client.send('Browser.getVersion');
    await tabwire(relay.home, 'restart');
    await until('the relay has found it', async () => (await relay.status()).extension);
    await client.send('Browser.getVersion');
    // `/json/list` launches it, too.
    await killBrowser(await browserPid(relay.home));
    await untilDegraded(relay);
    const list = relay.cdpUrl.replace('ws:', 'http:').replace('/cdp', '/json/list');
    assert.equal((await fetch(list)).status, 200);
    await until('the relay has found it', async () => (await relay.status()).extension);
    await client.send('Browser.getVersion');
    await client.close();
  }));
