/** What an agent receives when output is too long or code fails: what happened, where, and what to do next. */

import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';

import { runnerFolder, useAgent } from '../harness/agent.mjs';
import { useChain } from '../harness/chain.mjs';

const shared = useChain();
const { run, fails } = useAgent(shared);

test('truncates long output and offers the rest', async () => {
  const { text } = await run(`"0123456789".repeat(3000)`);
  assert.match(
    text,
    /\[Truncated: 20000 of 30000 characters\. Call output\(20000\) for the rest, or print less\.\]/,
  );
  assert.equal(text.indexOf('\n'), 20_000);
  assert.equal((await run('output(20000)')).text.length, 10_000);
});

test('never splits a character, and replaces lone surrogates', async () => {
  const { text } = await run('"a" + "😀".repeat(15_000)', { timeout: 5 });
  assert.equal(text.indexOf('\n'), 19_999);
  assert.match(text, /😀\n\[Truncated: 19999 of 30001 characters\. Call output\(19999\) for/);
  assert.equal((await run('output(19999)')).text, '😀'.repeat(5_001));
  assert.equal(
    (await run('console.log("a\\ud83d"); "\\ude00b"', { timeout: 5 })).text,
    'a\ufffd\n\ufffdb',
  );
  assert.match((await fails('throw new Error("\\ud83d")', { timeout: 5 })).text, /Error: \ufffd/);
});

test('keeps the beginning of a line of any length, and truncates errors too', async () => {
  const { text } = await run('"x".repeat(20_000_000)');
  assert.match(text, /^x{20000}\n\[Truncated: 20000 of 16777216 characters\./);
  assert.match(text, /\[Output after the first 16777216 characters was discarded\.\]$/);
  for (const thrown of ['new Error("x".repeat(5_000_000))', '"x".repeat(5_000_000)']) {
    const failed = await fails(`throw ${thrown}`);
    assert.ok(
      failed.text.length < 21_000 && failed.error.message.length < 21_000,
      `${failed.text.length} characters`,
    );
  }
  assert.match(
    (await fails('throw new Error("x".repeat(30_000))')).text,
    /x\n\[Truncated: 20000 of 30\d+ characters\.\]\nNext: /,
  );
});

test('shows line and caret of a syntax error, and runs nothing', async () => {
  const { text, error } = await fails('state.ran = true;\nconst x = ;');
  assert.equal(error.kind, 'syntax');
  assert.ok(text.includes('line 2, column 11:\n  const x = ;\n            ^'), text);
  assert.equal((await run('state.ran ?? "not run"')).text, 'not run');
  assert.match((await fails(`import fs from 'fs'`)).text, /Modules are not available/);
});

test('says what happened, where in the code, and what to do next', async () => {
  for (const [code, ...expected] of [
    ['const a = 1;\nnull.x', /Cannot read properties of null/, /at line 2: null\.x/],
    [
      'await page.click("#nothing", { timeout: 100 })',
      /Timeout 100ms exceeded/,
      /Next: Timed out\. Call `snapshot\(\)` to see the page\./,
    ],
    ['await page.locator("*").click()', /strict mode violation/, /Next: Several elements match/],
    ['await page.goto("http://127.0.0.1:1/")', /ERR_/, /Next: The URL could not be loaded/],
    [
      'await page.goto("data:text/html,x")',
      /Next: Chrome does not let extensions open `data:` URLs/,
    ],
    ['throw { code: 7 }', /thrown: \{ code: 7 \}/, /Next: Fix the code and call again/],
    [
      'await page.locator("h1").screenshot({ timeout: 0.5 })',
      /Timeout 0\.5ms exceeded/,
      /Next: Timed out/,
    ],
    [
      'await (await context.newCDPSession(page)).send("Browser.crash")',
      /Next: Chrome does not offer this command to extensions/,
    ],
  ]) {
    const { text, error } = await fails(code);
    expected.forEach((pattern) => assert.match(text, pattern));
    assert.ok(!/reset/.test(text), `reset does not help here: ${text}`);
    assert.ok(error.kind && error.message);
  }
});

test('names what is most like an element that was not found', async () => {
  await run(`await page.goto('about:blank'); await page.setContent(\`<h1>Checkout</h1><button>Place order</button><button>Cancel</button>
    <button id=off disabled>Pay now</button><input placeholder="Search products"><a href="#">Orders</a>
    <iframe srcdoc="<button>Apply voucher</button>"></iframe>\`)`);
  const wait = '{ timeout: 500 }';
  for (const [code, closest] of [
    [`page.getByRole('button', { name: 'Order now' }).click(${wait})`, 'button "Place order" ['],
    [`page.getByRole('button', { name: /submit/i }).click(${wait})`, 'button "Place order" ['],
    [`page.getByText('Your orders').click(${wait})`, 'link "Orders" ['],
    [`page.getByPlaceholder('Find products').fill('x', ${wait})`, 'textbox "Search products" ['],
    [`page.click('#place-order-button', ${wait})`, 'button "Place order" ['],
    [
      `page.frameLocator('iframe').getByText('Voucher').nth(1).click(${wait})`,
      'button "Apply voucher" [',
    ],
  ]) {
    const { text } = await fails(`await ${code}`);
    assert.ok(text.includes(`\nClosest on the page: ${closest}`), `${code}: ${text}`);
    const [, ref] = /\[ref=(\w+)\]/.exec(text);
    assert.equal((await run(`page.locator('aria-ref=${ref}').count()`)).text, '1');
  }
  // Playwright has to find these within the timeout.
  const longer = '{ timeout: 2_000 }';
  const disabled = await fails(`await page.locator('#off').click(${longer})`);
  assert.match(disabled.text, /Next: The element is disabled/);
  assert.doesNotMatch(disabled.text, /Closest/, 'it was found');
  await run(`await page.setContent('<button hidden>Save</button><h1>Nothing here</h1>')`);
  assert.match((await fails(`await page.getByText('Save').click(${longer})`)).text, /but hidden/);
  const nothing = await fails(`await page.getByText('Download').click(${wait})`);
  assert.doesNotMatch(nothing.text, /Closest/);
});

test('agents ask the user, and shell users act themselves', async () => {
  const { explain } = await import(path.join(await runnerFolder(), 'explain.mjs'));
  const nextFor = (audience, { message = '', lost, hasCrashed = false }) =>
    explain(new Error(message), '', audience, { lost, hasCrashed }).next;
  for (const [failure, forAgent, forShellUser] of [
    [{ lost: 'connection' }, /Call again: `page` and `state`/, /Run `tabwire status`/],
    [{ lost: 'browser' }, /Ask the user to open it, then call again/, /Open it, then try again/],
    [{ hasCrashed: true }, /Continue in a new tab: `const url/, /Reload it, or use another tab/],
    [
      { message: 'The page did not respond for 30 s' },
      /ask the user to check this one/,
      /Check it, or use another tab/,
    ],
    [
      { message: 'Another debugger is attached' },
      /ask the user to reload the Tabwire extension/,
      /Reload the Tabwire extension/,
    ],
    [
      { message: 'Protocol error (Target.createTarget): Cannot attach to this target.' },
      /ask the user to run `tabwire doctor`/,
      /Run `tabwire doctor`/,
    ],
    [
      { message: 'Execution context was destroyed' },
      /Call `snapshot\(\)` to see the page, then continue/,
      /Wait for the page first/,
    ],
  ]) {
    assert.match(nextFor('agent', failure), forAgent);
    assert.match(nextFor('shellUser', failure), forShellUser);
  }
});

test('explains any thrown value, and keeps what was printed before', async () => {
  for (const [thrown, message] of [
    ['new Proxy({}, { has() { throw 1 } })', /thrown: \{\}/],
    ['new Proxy({}, { getPrototypeOf() { throw 1 }, get() { throw 1 } })', /thrown: \{\}/],
    ['Object.assign(new Error("x"), { name: Symbol("q") })', /Symbol\(q\): x/],
    ['{ message: Object.create(null) }', /thrown: \{ message: \[Object: null prototype\] \{\} \}/],
    [
      '{ get message() { throw 1 }, [Symbol.for("nodejs.util.inspect.custom")]() { throw 1 } }',
      /thrown: a value that cannot be shown/,
    ],
    ['null', /thrown: null/],
  ]) {
    const { text, error } = await fails(`console.log("printed before"); throw ${thrown}`);
    assert.equal(error.kind, 'code');
    assert.match(text, /^printed before\n/);
    assert.match(text, message);
    assert.match(text, /\nNext: Fix the code and call again/);
  }
  assert.equal((await run('5')).text, '5', 'nothing of it is in the next response');
});

test('reads the message of an error only once', async () => {
  await fails(
    'state.reads = 0; throw { get message() { state.reads += 1; return "x".repeat(30_000) } }',
  );
  assert.equal((await run('state.reads')).text, '1');
});

test('survives promises and timers that the code left behind, and reports their errors', async () => {
  const { text } = await run(
    'Promise.reject(new Error("forgotten")); setTimeout(() => { throw new Error("late") }, 1); await new Promise((r) => setTimeout(r, 2)); 5',
  );
  assert.match(text, /\[Unhandled rejection in the code: Error: forgotten\]/);
  assert.match(text, /\[Uncaught exception in the code: Error: late\]/);
  assert.match(text, /5$/);
  assert.equal(
    (
      await run(
        'Promise.reject(new Proxy({}, { has() { throw 1 }, get() { throw 1 } })); await new Promise((r) => setTimeout(r)); 5',
      )
    ).text,
    '[Unhandled rejection in the code: thrown: {}]\n5',
  );
});
