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

/** Too long for one response. */
const SHOP = `<title>Shop</title><h1>Shop</h1><ul>${Array.from(
  { length: 300 },
  (_, i) =>
    `<li><h2>Thing ${i}</h2><p>It costs ${i} coins, and more words that make this page long.</p><button>Buy</button><a href="/thing/${i}">Details of thing ${i}</a></li>`,
).join('')}</ul>`;
const CHANGING = `<title>Changing</title><button id="follow" onclick="this.textContent = 'Unfollow'">Follow</button>
  <button id="save" onclick="this.remove(); document.body.append(Object.assign(document.createElement('button'), { textContent: 'Save again' }))">Save</button>`;

const shared = useChain({ pages: { '/': FORM, '/shop': SHOP, '/changing': CHANGING } });
const { run, fails } = useAgent(shared);

/** Runs code that must fail without waiting for an element, which would take 5 s. Another process may slow one attempt down. */
async function failsAtOnce(code) {
  const durations = [];
  for (;;) {
    const started = Date.now();
    const { text } = await fails(code);
    durations.push(Date.now() - started);
    if (Math.min(...durations) < 1_000) {
      return text;
    }
    assert.ok(durations.length < 3, `it took ${durations} ms`);
  }
}

test('gives refs that locators accept, and shows only what changed on request', async () => {
  await run(`await page.goto('${shared.site.url('/')}')`);
  const { text } = await run('snapshot()');
  const ref = (role) => new RegExp(`${role}[^\\n]*\\[ref=(\\w+)\\]`).exec(text)[1];
  assert.match(text, /heading "Order"/);
  assert.match(text, /button "Inner" \[ref=f\d+e\d+\]/, 'frames are included');
  const part = (await run(`snapshot(page.getByRole('button', { name: 'Send' }))`)).text;
  assert.ok(part.endsWith(`\nbutton "Send" [ref=${ref('button "Send"')}]`), part);
  await run(
    `await page.locator('aria-ref=${ref('textbox')}').fill('Ann'); await page.locator('aria-ref=${ref('button "Send"')}').click()`,
  );
  const changed = (await run('snapshot({ diff: true })')).text;
  assert.match(changed, /^\+ .*Thanks, Ann/m);
  assert.ok(!changed.includes('Thing'), changed);
  assert.equal((await run('snapshot({ diff: true })')).text, UNCHANGED);
});

test('accepts a selector or a frame, options as second argument, and diffs each depth on its own', async () => {
  await run(
    `await page.goto('${shared.site.url('/')}'); await page.locator('li').nth(2).waitFor(); await snapshot()`,
  );
  assert.equal((await run('snapshot(undefined, { diff: true })')).text, UNCHANGED);
  assert.equal((await run('snapshot(null, { diff: true })')).text, UNCHANGED);
  assert.match((await run(`snapshot('h1')`)).text, /\nheading "Order" \[level=1\]$/);
  assert.match(
    (await run('snapshot(page.frames()[1])')).text,
    /\nbutton "Inner" \[ref=f\d+e\d+\]$/,
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

test('a page that is too long says how to get the rest, and can be searched', async () => {
  await run(`await page.goto('${shared.site.url('/shop')}')`);
  const { text } = await run('snapshot()');
  assert.ok(text.length <= 20_000, `${text.length} characters`);
  const [, next, all] = /\[Lines 1 to (\d+) of (\d+)\. Next: snapshot\(\{ offset: \1 \}\)\./.exec(
    text,
  );
  const rest = (await run(`snapshot({ offset: ${next} })`)).text;
  assert.match(rest, new RegExp(`\\[Lines ${Number(next) + 1} to \\d+ of ${all}\\.`));
  assert.match(rest, /^http\S+\nlist:\n/, 'below its ancestors');
  const found = (await run(`snapshot({ search: 'thing 207' })`)).text;
  assert.match(
    found,
    /^http\S+\nlist:\n {2}listitem:\n {4}heading "Thing 207" \[level=2\]\n {4}"It costs 207 .*"\n {4}button "Buy" \[ref=\w+\]\n {4}link "Details of thing 207" \[ref=\w+\]\n\[2 of \d+ lines match\.\]$/,
  );
  assert.equal((await run('snapshot({ search: /thing 20[78]"/gi })')).text.match(/Buy/g).length, 2);
  assert.match((await run(`snapshot({ search: 'nothing' })`)).text, /\[0 of \d+ lines match\.\]$/);
  const interactive = (await run(`snapshot('li >> nth=0', { interactive: true })`)).text;
  assert.match(
    interactive,
    /^http\S+\nbutton "Buy" \[ref=\w+\]\nlink "Details of thing 0" \[ref=\w+\]$/,
  );
  const whole = (await run(`snapshot('li >> nth=0', { compact: false })`)).text;
  assert.match(whole, /paragraph \[ref=\w+\]: It costs 0/);
  assert.match((await run('snapshot({ depth: 0 })')).text, /\nlist: …$/);
});

test('an unknown option, and one of the wrong kind, is an error that says what is right', async () => {
  assert.match(
    (await fails(`await snapshot({ serach: 'x' })`)).text,
    /TypeError: snapshot has no option 'serach'\. Options: search, interactive, compact/,
  );
  for (const option of ['depth: -1', `depth: 'x'`, 'offset: NaN', 'offset: [3]']) {
    const { text } = await fails(`await snapshot({ ${option} })`);
    assert.match(text, /TypeError: snapshot: (depth|offset) must be a number, 0 or more\./, option);
  }
  assert.match((await run('snapshot({ offset: 1e9 })')).text, /\n\[There are only \d+ lines\.\]$/);
});

test('a ref stays valid as long as its element exists, and fails at once when it is gone', async () => {
  await run(`await page.goto('${shared.site.url('/changing')}')`);
  const { text } = await run('snapshot()');
  const [, follow] = /button "Follow" \[ref=(\w+)\]/.exec(text);
  const [, save] = /button "Save" \[ref=(\w+)\]/.exec(text);
  const click = (ref) => `await page.locator('aria-ref=${ref}').click()`;
  await run(`${click(follow)}; await snapshot(page.locator('#save'))`);
  await run('snapshot()');
  assert.equal((await run(`page.locator('aria-ref=${follow}').textContent()`)).text, 'Unfollow');
  await run(click(save));
  const gone = await failsAtOnce(click(save));
  assert.match(
    gone,
    /Ref \w+ \(button "Save"\) is gone: its element is no longer on the page\. Closest now: button "Save again" \[ref=\w+\]\./,
  );
  assert.match(gone, /Next: Refs are valid as long as their elements exist/);
  const [, again] = /Save again" \[ref=(\w+)\]/.exec(gone);
  await run(click(again));
  assert.match(await failsAtOnce(click('e999')), /Ref e999 is in no snapshot of this page\./);
  for (const selector of [follow, `ref=${follow}`, `[ref=${follow}]`, `[aria-ref="${follow}"]`]) {
    const meant = await failsAtOnce(`await page.click('${selector}')`);
    assert.ok(meant.includes(`Use page.locator('aria-ref=${follow}').`), meant);
  }
  const named = await run(
    `await page.locator('#follow').evaluate((button, name) => { button.textContent = name; }, '${follow}'); await page.textContent('"${follow}"')`,
  );
  assert.equal(named.text, follow, 'a text in quotes is no ref');
  assert.equal((await run(`page.locator('aria-ref=${save}').count()`)).text, '0');
  await run(`page.locator('aria-ref=${save}').waitFor({ state: 'detached' })`);
});

test('keeps the texts of the last 50 kinds of snapshots for differences', async () => {
  await run(`await page.goto('${shared.site.url('/changing')}')`);
  const takeOthers = (count) =>
    run(`for (let i = 0; i < ${count}; i += 1) await snapshot({ search: 'kind ' + i })`);
  await run('await snapshot()');
  await takeOthers(49);
  assert.equal((await run('snapshot({ diff: true })')).text, UNCHANGED);
  await takeOthers(50);
  assert.match((await run('snapshot({ diff: true })')).text, /button "Follow"/);
});
