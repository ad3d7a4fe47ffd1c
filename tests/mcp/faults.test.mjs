/** Relays, browsers and pages that disappear and come back, between calls and during a call. */

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { after, test } from 'node:test';

import { startAgent } from '../harness/agent.mjs';
import { endProcess, isRunning, startChain, startChromium, until } from '../harness/processes.mjs';
import { startSite } from '../harness/site.mjs';

const site = await startSite({
  '/': '<title>Still here</title>',
  '/never': () => {},
  '/started': '',
});
after(() => site.stop());

async function relayPid(home) {
  return JSON.parse(await readFile(path.join(home.path, 'state.json'), 'utf8')).pid;
}

test('restarts a relay that was killed, and keeps page and state', async () => {
  const chain = await startChain();
  const agent = await startAgent({ home: chain.relay.home, port: chain.relay.port });
  try {
    await agent.execute(`await page.goto('${site.url('/')}'); state.n = 1`);
    await endProcess(chain.relay.child, 'SIGKILL');
    const { text } = await agent.execute('[state.n, await page.title()]');
    assert.equal(text, '[1,"Still here"]');
    const hasStarted = site.nextRequest('/never');
    const dying = agent.execute(`await page.goto('${site.url('/never')}')`, { timeout: 20 });
    await hasStarted;
    process.kill(await relayPid(chain.relay.home), 'SIGKILL');
    assert.match(
      (await dying).text,
      /Next: The connection to the browser was lost, and what was in flight may have taken effect\. Call again: `page` and `state` are kept\.$/,
    );
    assert.equal((await agent.execute('state.n')).text, '1');
    assert.match((await agent.reset()).text, /page: http/);
    const log = await readFile(path.join(chain.relay.home.path, 'relay.log'), 'utf8');
    assert.match(log, / CMD client-\d+ /);
    assert.ok(!log.includes(new URL(chain.cdpUrl).searchParams.get('token')));
  } finally {
    await agent.stop();
    const pid = await relayPid(chain.relay.home);
    assert.ok(isRunning(pid), 'the relay outlives the server that started it');
    process.kill(pid);
    await until('the relay has exited', () => !isRunning(pid));
    await chain.stop();
  }
});

test('reports a browser that was killed, and uses the next one', async () => {
  const chain = await startChain();
  const agent = await startAgent({ home: chain.relay.home, port: chain.relay.port });
  let next;
  try {
    await agent.execute(`await page.goto('${site.url('/')}'); state.n = 1`);
    const hasStarted = site.nextRequest('/started');
    const dying = agent.execute(
      `await page.evaluate(() => fetch('/started').then(() => new Promise(() => {})))`,
      { timeout: 20 },
    );
    await hasStarted;
    await endProcess(chain.chromium.child, 'SIGKILL');
    assert.match(
      (await dying).text,
      /Next: The browser disconnected, and what was in flight may have taken effect\. Ask the user to open it, then call again\.$/,
    );
    const gone = await agent.execute('page.title()');
    assert.equal(gone.error.kind, 'no-extension');
    assert.match(gone.text, /Ask the user to open the browser that has the Tabwire extension/);
    next = await startChromium({ relay: chain.relay });
    await until('the extension connects', async () => (await chain.relay.status()).extension);
    const { text } = await agent.execute(
      `const { n } = state; await page.goto('${site.url('/')}'); [n, await page.title()]`,
    );
    assert.equal(
      text,
      '[The tab in use was closed or is in another browser. `page` is a new, empty tab.]\n[1,"Still here"]',
    );
  } finally {
    await agent.stop();
    await next?.stop();
    await chain.stop();
  }
});

test('reports a page that crashed, with a remedy that works', async () => {
  const chain = await startChain();
  const agent = await startAgent({ home: chain.relay.home, port: chain.relay.port });
  const crashed =
    'The page crashed. Continue in a new tab: `const url = page.url(); page = await context.newPage(); await page.goto(url)`.';
  try {
    await agent.execute(`await page.goto('${site.url('/')}')`);
    const crash = `const session = await context.newCDPSession(page); const waiting = page.evaluate(() => new Promise(() => {})); session.send('Page.crash').catch(() => {}); await waiting`;
    const onCrashedPage = [
      'await page.evaluate(() => 1)',
      'await snapshot()',
      'await page.reload()',
      `await page.goto('${site.url('/')}')`,
    ];
    for (const code of [crash, ...onCrashedPage]) {
      const { text, isError } = await agent.execute(code, { timeout: 5 });
      assert.ok(isError && text.endsWith(`Next: ${crashed}`), text);
    }
    assert.equal(
      (await agent.execute('page.title()')).text.trim(),
      `[${crashed}]`,
      'no value, but the reason',
    );
    const { text } = await agent.execute(
      'const url = page.url(); page = await context.newPage(); await page.goto(url); page.title()',
    );
    assert.equal(text, 'Still here');
  } finally {
    await agent.stop();
    await chain.stop();
  }
});
