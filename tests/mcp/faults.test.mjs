/** Relays and browsers that go away and come back, between calls and in the middle of one. */

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
  '/begun': '',
});
after(() => site.stop());

async function relayPid(home) {
  return JSON.parse(await readFile(path.join(home.path, 'state.json'), 'utf8')).pid;
}

test('a relay that was killed is started again, and page and state are as they were', async () => {
  const chain = await startChain();
  const agent = await startAgent({ home: chain.relay.home, port: chain.relay.port });
  try {
    await agent.execute(`await page.goto('${site.url('/')}'); state.n = 1`);
    await endProcess(chain.relay.child, 'SIGKILL');
    const { text } = await agent.execute('[state.n, await page.title()]');
    assert.equal(text, '[1,"Still here"]');
    const isBegun = site.asked('/never');
    const dying = agent.execute(`await page.goto('${site.url('/never')}')`, { timeout: 20 });
    await isBegun;
    process.kill(await relayPid(chain.relay.home), 'SIGKILL');
    assert.match(
      (await dying).text,
      /Next: The connection to the browser was lost, and what was under way may have happened\. Call again: `page` and `state` are kept\.$/,
    );
    assert.equal((await agent.execute('state.n')).text, '1');
    assert.match((await agent.reset()).text, /page: http/);
    const log = await readFile(path.join(chain.relay.home.path, 'relay.log'), 'utf8');
    assert.match(log, /Tabwire relay on 127\.0\.0\.1/);
    assert.ok(!log.includes(new URL(chain.cdpUrl).searchParams.get('token')));
  } finally {
    await agent.stop();
    const pid = await relayPid(chain.relay.home);
    assert.ok(isRunning(pid), 'it outlives the server that started it');
    process.kill(pid);
    await until('the relay is ended', () => !isRunning(pid));
    await chain.stop();
  }
});

test('a browser that was killed is told of with what to do, and a new one is used', async () => {
  const chain = await startChain();
  const agent = await startAgent({ home: chain.relay.home, port: chain.relay.port });
  let next;
  try {
    await agent.execute(`await page.goto('${site.url('/')}'); state.n = 1`);
    const isBegun = site.asked('/begun');
    const dying = agent.execute(
      `await page.evaluate(() => fetch('/begun').then(() => new Promise(() => {})))`,
      { timeout: 20 },
    );
    await isBegun;
    await endProcess(chain.chromium.child, 'SIGKILL');
    assert.match(
      (await dying).text,
      /Next: The browser has gone, and what was under way may have happened\. Ask the person to open it, then call again\.$/,
    );
    const gone = await agent.execute('page.title()');
    assert.equal(gone.error.kind, 'no-extension');
    assert.match(gone.text, /Ask the user to open the browser that has the Tabwire extension/);
    next = await startChromium({ relayPort: chain.relay.port });
    await until('the extension connects', async () => (await chain.relay.status()).extension);
    const { text } = await agent.execute(
      `const { n } = state; await page.goto('${site.url('/')}'); [n, await page.title()]`,
    );
    assert.equal(
      text,
      '[The tab in use was closed: `page` is a new, empty tab.]\n[1,"Still here"]',
    );
  } finally {
    await agent.stop();
    await next?.stop();
    await chain.stop();
  }
});

test('a page that has crashed is told of, with a next step that works', async () => {
  const chain = await startChain();
  const agent = await startAgent({ home: chain.relay.home, port: chain.relay.port });
  const crashed =
    'The page has crashed. Go on in a new one: `const url = page.url(); page = await context.newPage(); await page.goto(url)`.';
  try {
    await agent.execute(`await page.goto('${site.url('/')}')`);
    const crash = `const session = await context.newCDPSession(page); const waiting = page.evaluate(() => new Promise(() => {})); session.send('Page.crash').catch(() => {}); await waiting`;
    const asIs = [
      'await page.evaluate(() => 1)',
      'await snapshot()',
      'await page.reload()',
      `await page.goto('${site.url('/')}')`,
    ];
    for (const code of [crash, ...asIs]) {
      const { text, isError } = await agent.execute(code, { timeout: 5 });
      assert.ok(isError && text.endsWith(`Next: ${crashed}`), text);
    }
    assert.equal(
      (await agent.execute('page.title()')).text.trim(),
      `[${crashed}]`,
      'no value, and it is said why',
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
