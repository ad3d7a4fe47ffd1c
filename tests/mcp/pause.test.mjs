/** The user stops the agent, or takes a tab back from it: the agent is told so, and what to do. */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { startAgent, useAgent } from '../harness/agent.mjs';
import { useChain, userTabs } from '../harness/chain.mjs';
import { openPopup } from '../harness/popup.mjs';

const shared = useChain({
  args: ['--client-mode', 'multi-client'],
  pages: { '/shop': '<title>Shop</title><button>Buy</button>' },
});
const { run, fails } = useAgent(shared);

async function click(name, headline) {
  const popup = await openPopup(shared.chain.chromium);
  await popup.page.getByRole('button', { name }).click();
  await popup.headline(headline);
  await popup.close();
}

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

test('code that is running when the user stops it ends at once', async () => {
  const failed = fails('await page.evaluate(() => new Promise(() => {}))', { timeout: 60 });
  const popup = await openPopup(shared.chain.chromium);
  await popup.headline('1 tab in use');
  await popup.close();
  await click('Release all', 'Paused');
  const { text } = await failed;
  assert.match(text, /The person stopped this\. .* its outcome is unknown/);
  await click('Resume', 'Connected');
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

test('the user takes a tab back, and the agent hears that it was not closed', async () => {
  await run('page.evaluate(() => 1)');
  await click('Release Shop', 'Connected');
  const { text } = await fails('await page.getByRole("button").click()');
  assert.match(text, /The tab was detached by the person\./);
  assert.match(text, /Next: The user took this tab back\. Ask them/);
  assert.doesNotMatch(text, /was closed/);
  await run('page = await context.newPage(); page.evaluate(() => 1)');
});

test('an agent that leaves during a pause changes nothing in the browser', async () => {
  const { home, port } = shared.chain.relay;
  const agent = await startAgent({ home, port });
  const { isError, text } = await agent.execute('await page.evaluate(() => 1)');
  assert.ok(!isError, text);
  const before = await userTabs(shared.chain);
  await click('Pause agents', 'Paused');
  await agent.stop();
  await shared.chain.relay.waitForClients(1);
  assert.deepEqual(await userTabs(shared.chain), before);
  await click('Resume', 'Connected');
});
