/** `snapshot()`: refs, parts of a page, and differences. That refs survive a reconnect is in sharing.test.mjs. */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { useAgent } from '../harness/agent.mjs';
import { useChain } from '../harness/chain.mjs';

const FORM = `<title>Form</title><h1>Order</h1><label>Name <input></label>
  <button onclick="document.querySelector('output').textContent = 'Thanks, ' + document.querySelector('input').value">Send</button>
  <output></output><iframe srcdoc="<button>Inner</button>"></iframe>
  <ul>${Array.from({ length: 20 }, (_, i) => `<li>Thing ${i}`).join('')}</ul>`;
const UNCHANGED = 'No changes since the last snapshot.';

const shared = useChain({ pages: { '/': FORM } });
const { run, fails } = useAgent(shared);

test('gives refs that locators accept, and shows only what changed on request', async () => {
  await run(`await page.goto('${shared.site.url('/')}')`);
  const { text } = await run('snapshot()');
  const ref = (role) => new RegExp(`- ${role} [^\\n]*\\[ref=(\\w+)\\]`).exec(text)[1];
  assert.match(text, /heading "Order"/);
  assert.match(text, /button "Inner" \[ref=f\d+e\d+\]/, 'frames are included');
  const part = (await run(`snapshot(page.getByRole('button', { name: 'Send' }))`)).text;
  assert.ok(part.endsWith(`- button "Send" [ref=${ref('button "Send"')}]`), part);
  await run(
    `await page.locator('aria-ref=${ref('textbox')}').fill('Ann'); await page.locator('aria-ref=${ref('button "Send"')}').click()`,
  );
  const changed = (await run('snapshot({ diff: true })')).text;
  assert.match(changed, /^\+ .*Thanks, Ann/m);
  assert.ok(!changed.includes('Thing'), changed);
  assert.equal((await run('snapshot({ diff: true })')).text, UNCHANGED);
  assert.match(
    (await fails(`await page.locator('aria-ref=e999').click({ timeout: 200 })`)).text,
    /Next: Refs are valid for the latest snapshot only/,
  );
});

test('accepts a selector or a frame, options as second argument, and diffs each depth on its own', async () => {
  await run(
    `await page.goto('${shared.site.url('/')}'); await page.locator('li').nth(2).waitFor(); await snapshot()`,
  );
  assert.equal((await run('snapshot(undefined, { diff: true })')).text, UNCHANGED);
  assert.equal((await run('snapshot(null, { diff: true })')).text, UNCHANGED);
  assert.match((await run(`snapshot('h1')`)).text, /\n- heading "Order" \[level=1\] \[ref=\w+\]$/);
  assert.match(
    (await run('snapshot(page.frames()[1])')).text,
    /\n- button "Inner" \[ref=f\d+e\d+\]$/,
  );
  assert.notEqual(
    (await run('snapshot({ depth: 1, diff: true })')).text,
    UNCHANGED,
    'the first one of this depth',
  );
  assert.equal((await run('snapshot({ diff: true })')).text, UNCHANGED);
  for (const wrong of ['5', "await page.$('h1')"]) {
    assert.match(
      (await fails(`await snapshot(${wrong})`)).text,
      /TypeError: snapshot and screenshot take a locator, selector, frame or page, then options; not/,
    );
  }
});
