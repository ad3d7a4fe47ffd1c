/** The user stops the agent, or takes a tab back from it: the agent is told so, and what to do. */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { startAgent, useAgent } from '../harness/agent.mjs';
import { actOnTab, inExtension, useChain, userTabs } from '../harness/chain.mjs';
import { openPopup } from '../harness/popup.mjs';
import { until } from '../harness/processes.mjs';

const shared = useChain({
  args: ['--client-mode', 'multi-client'],
  pages: {
    '/shop': '<title>Shop</title><button>Buy</button>',
    '/taken': '<title>Taken</title><button>Buy</button>',
  },
});
const { run, fails } = useAgent(shared);

async function click(name, headline) {
  const popup = await openPopup(shared.chain.chromium);
  await popup.page.getByRole('button', { name }).click();
  await popup.headline(headline);
  await popup.close();
}

/** Whether Chrome lets the extension use its debugger in the tab with this address. */
const hasDebugger = (url) =>
  inExtension(
    shared.chain,
    async (address) => {
      const [tab] = await chrome.tabs.query({ url: address });
      const used = chrome.debugger.sendCommand({ tabId: tab.id }, 'Runtime.getIsolateId');
      return used.then(
        () => true,
        () => false,
      );
    },
    url,
  );

test('the user stops the agent, which hears it at once and goes on only after Resume', async () => {
  const url = shared.site.url('/shop');
  await run(`await page.goto('${url}'); state.shop = page; page.title()`);
  await click('Pause agents', 'Paused');
  for (const code of [
    'await page.getByRole("button").click()',
    'await snapshot()',
    'await screenshot()',
    'await page.goto("about:blank")',
    'await context.newPage()',
    'await page.close()',
  ]) {
    const { text, error } = await fails(code);
    assert.match(text, /The person stopped this\. Ask them before you go on\./, code);
    assert.match(text, /Next: Stop here.*ask whether to go on.*Resume/, code);
    assert.doesNotMatch(text, /was closed|Timeout/, code);
    assert.notEqual(error.kind, 'playwright-timeout', code);
  }
  await click('Resume', 'Connected');
  const { text } = await run('await state.shop.getByRole("button").click(); state.shop.title()');
  assert.equal(text, 'Shop');
});

test('code that is running when the user stops it ends at once, and nothing is attached', async () => {
  const url = shared.site.url('/shop');
  await run(`await page.goto('${url}')`);
  assert.equal(await hasDebugger(url), true);
  const failed = fails('await page.evaluate(() => new Promise(() => {}))', { timeout: 60 });
  const popup = await openPopup(shared.chain.chromium);
  await popup.headline('1 tab in use');
  await popup.close();
  await click('Release all', 'Paused');
  const { text } = await failed;
  assert.match(text, /The person stopped this\. .* its outcome is unknown/);
  assert.equal(await hasDebugger(url), false);
  await click('Resume', 'Connected');
  assert.equal((await run('page.url()')).text, url);
  assert.equal(await hasDebugger(url), false, 'nobody has used the tab since');
  assert.equal((await run('page.evaluate(() => document.title)')).text, 'Shop');
  assert.equal(await hasDebugger(url), true);
});

test('a tab that is being opened when the user stops it ends the call, and it can be closed later', async () => {
  const opening = fails('for (;;) { const tab = await context.newPage(); await tab.close(); }');
  const popup = await openPopup(shared.chain.chromium);
  await popup.close();
  await click('Pause agents', 'Paused');
  const { text } = await opening;
  assert.match(text, /The person stopped this\./);
  await click('Resume', 'Connected');
  const { text: closed } = await run(
    'const tab = await context.newPage(); await tab.close(); tab.isClosed()',
  );
  assert.equal(closed, 'true');
});

test('the user takes a tab back, and it stays theirs when the agent has reconnected and when it leaves', async (t) => {
  const { home, port } = shared.chain.relay;
  const url = shared.site.url('/taken');
  const agent = await startAgent({ home, port, args: ['--idle', '0.3'] });
  t.after(() => agent.stop());
  await agent.execute(`await page.goto('${url}')`);
  const running = agent.execute('await page.evaluate(() => new Promise(() => {}))');
  const popup = await openPopup(shared.chain.chromium);
  await popup.page.getByRole('button', { name: 'Release Taken' }).click();
  await popup.close();
  assert.match((await running).text, /The tab was detached by the person\./);
  const attempt = () => agent.execute('await page.getByRole("button").click()');
  const assertRefused = ({ text }) => {
    assert.match(text, /The tab was detached by the person\./);
    assert.match(text, /Next: The user took this tab back\. Ask them/);
    assert.doesNotMatch(text, /was closed|running/);
  };
  assertRefused(await attempt());
  await until('the agent has released the browser', async () => {
    const { connected } = await (await fetch(`http://127.0.0.1:${port}/client-slot`)).json();
    return connected.length < 2;
  });
  assertRefused(await attempt());
  await agent.reset();
  assertRefused(await attempt());
  assert.equal(await hasDebugger(url), false);
  await agent.stop();
  assert.ok((await userTabs(shared.chain)).some((tab) => tab.url === url));
  await actOnTab(shared.chain, url, 'remove');
});

test('an agent that leaves during a pause changes nothing in the browser', async () => {
  const { home, port } = shared.chain.relay;
  const agent = await startAgent({ home, port });
  const { isError, text } = await agent.execute('await page.evaluate(() => 1)');
  assert.ok(!isError, text);
  const before = await userTabs(shared.chain);
  await click('Pause agents', 'Paused');
  await agent.stop();
  // The other agent may have released the browser meanwhile.
  await until('it has left', async () => (await shared.chain.relay.status()).clients <= 1);
  assert.deepEqual(await userTabs(shared.chain), before);
  await click('Resume', 'Connected');
});
