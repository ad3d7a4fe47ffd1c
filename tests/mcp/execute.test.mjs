/** `execute` and `reset`: what is in scope of the code, what it returns, and what is kept between calls. */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { promisify } from 'node:util';

import { useAgent, workerOf } from '../harness/agent.mjs';
import { attachedUrls, inExtension, openTabs, useChain } from '../harness/chain.mjs';

const shared = useChain({
  pages: { '/': '<title>Form</title><h1>Order</h1>', '/other': '<title>Other</title>other' },
});
const agent = useAgent(shared);
const { run, fails } = agent;

test('opens a background tab only for code that uses a page, and keeps it', async () => {
  const count = () => run('pages().length').then(({ text }) => Number(text));
  const before = await count();
  assert.equal(
    (await run(`await page.goto('${shared.site.url('/')}'); page.title()`)).text,
    'Form',
  );
  assert.equal(await count(), before + 1);
  assert.equal((await run('return page.url()')).text, shared.site.url('/'));
  const active = await inExtension(shared.chain, async () =>
    (await chrome.tabs.query({ active: true })).map((tab) => tab.url),
  );
  assert.ok(!active.includes(shared.site.url('/')), 'the tab that the user sees stays the same');
});

test('returns the value of the last expression or of a return statement', async () => {
  for (const [code, text] of [
    ['1 + 1', '2'],
    ['const a = 1;\nconst b = await Promise.resolve(2);\n({ a, b })', '{"a":1,"b":2}'],
    ['if (true) { return "early" }\n"late"', 'early'],
    ['(async () => 5)()', '5'],
    ['"text" // with a comment', 'text'],
    ['let x = 1; x', '1'],
    ['let y = 1;', 'Done; no value.'],
    ["''", 'The value is an empty string.'],
    ['[new Map([[1, 2]]), undefined]', '[ Map(1) { 1 => 2 }, undefined ]'],
    ['const loop = { n: 1 }; loop.self = loop; loop', '<ref *1> { n: 1, self: [Circular *1] }'],
    ['(x) => x', '[function (anonymous): returned, not called]'],
  ]) {
    assert.equal((await run(code)).text, text, code);
  }
});

test("prints Playwright's objects as class name and URL", async () => {
  const { text } = await run(
    `await page.goto('${shared.site.url('/')}'); console.log(context); ({ page })`,
  );
  assert.equal(text, `BrowserContext\n{ page: Page ${shared.site.url('/')} }`);
});

test('captures console output and puts it before the value', async () => {
  const { text } = await run(
    'console.log("a", { b: 1 }); console.warn("careful"); console.error("bad"); "value"',
  );
  assert.equal(text, 'a { b: 1 }\n[warn] careful\n[error] bad\nvalue');
});

test("offers all methods of Node's console", async () => {
  for (const [code, text] of [
    ['console.assert(1 === 2, "not so")', '[warn] Assertion failed: not so'],
    ['console.count(); console.count()', 'default: 1\ndefault: 2'],
    [
      'console.group("outer"); console.log("inner"); console.groupEnd(); console.log("outside")',
      'outer\n  inner\noutside',
    ],
    ['console.dir({ a: { b: {} } }, { depth: 0 })', '{ a: [Object] }'],
    ['const { log } = console; log("%s is %d", "it", 5)', 'it is 5'],
  ]) {
    assert.equal((await run(code)).text, text, code);
  }
  assert.match((await run('console.table([{ a: 1 }])')).text, /│ \(index\) │ a │/);
  assert.match((await run('console.time("it"); console.timeEnd("it")')).text, /^it: [\d.]+ms$/);
});

test("shares error classes and typed arrays with Playwright, and offers Node's globals", async () => {
  for (const [code, text] of [
    [
      'await page.click("#nothing", { timeout: 50 }).catch((error) => [error instanceof Error, error instanceof TypeError, error.name])',
      '[true,false,"TimeoutError"]',
    ],
    [
      'let caught; try { null.x } catch (error) { caught = error } [caught instanceof Error, caught instanceof TypeError, caught instanceof RangeError]',
      '[true,true,false]',
    ],
    [
      'class Mine extends Error {} [new Mine() instanceof Mine, new Mine() instanceof Error, new Error() instanceof Mine]',
      '[true,true,false]',
    ],
    [
      'page.evaluate((bytes) => [bytes.constructor.name, bytes.length], new Uint8Array(2))',
      '["Uint8Array",2]',
    ],
    ['Buffer.from("a") instanceof Uint8Array', 'true'],
    [
      '[new Response("x").status, new Request("http://127.0.0.1/").method, typeof new EventTarget().dispatchEvent]',
      '[200,"GET","function"]',
    ],
    ['[typeof process, typeof require, typeof global]', '["undefined","undefined","undefined"]'],
  ]) {
    assert.equal((await run(code)).text, text, code);
  }
});

test('keeps state between calls, but not variables', async () => {
  await run('state.seen = [1]; const gone = 2;');
  assert.equal((await run('state.seen.push(2); state.seen')).text, '[1,2]');
  assert.match(
    (await fails('gone')).text,
    /gone is not defined[\s\S]*Variables from earlier calls are gone; `state` is kept/,
  );
});

test('switches to another tab by assigning `page`, and accepts only pages', async () => {
  await run(
    `state.first = page; page = await context.newPage(); await page.goto('${shared.site.url('/other')}')`,
  );
  assert.equal((await run('page.title()')).text, 'Other');
  assert.match((await run('pages()')).text, /\[\d+\] Other \| http\S+\/other {2}<- page/);
  assert.match((await fails('page = context.newPage()')).text, /not a promise: await it/);
  await run('await page.close(); page = state.first');
  assert.equal((await run('page.title()')).text, 'Form');
});

test('restores overwritten names in the next call, and keeps what the code added', async () => {
  await run(
    'pages = pages(); snapshot = await snapshot(); console = null; output = screenshot = 5; context = browser = null; state = { kept: 1 }; mine = 2',
  );
  const { text, images } = await run(
    'console.log(pages().length); await screenshot(); [typeof output, typeof context.pages, typeof browser.contexts, typeof (await snapshot()), state.kept, mine]',
  );
  assert.match(text, /^\d+\n\["function","function","function","string",1,2\]$/);
  assert.equal(images.length, 1);
});

test('code that changes built-ins makes no error look like a success, and no value like another', async () => {
  const before = await run('page.url(); pages().length');
  for (const changes of [
    ['Promise.prototype.then = null'],
    [
      'Promise.prototype.then = (resolve) => resolve("fine")',
      'Promise.prototype.constructor = null',
      'Reflect.defineProperty(Promise, Symbol.species, { get: () => null })',
      'Reflect.defineProperty(Promise.prototype, "then", { value: null })',
      'const own = page.title()',
      'own.constructor.resolve = own.constructor.race = own.constructor.prototype.catch = null',
      'Object.getPrototypeOf(page.title()).then = null',
    ],
    [
      'Array.prototype.every = Array.prototype.includes = () => true',
      'Array.prototype.map = () => []',
      'Array.prototype[Symbol.iterator] = null',
    ],
    [
      'Object.prototype.toJSON = Array.prototype.toJSON = () => "fine"',
      'JSON.stringify = () => "fine"',
    ],
    [
      'Error.prepareStackTrace = () => { throw 1 }',
      'Error.prototype.toString = null',
      'Object.prototype.name = "fine"',
      'Function.prototype.call = Function.prototype.apply = null',
    ],
  ]) {
    const change = changes.join('; ');
    await run(`${change}; undefined`);
    const click = await fails('await page.locator("nothing").click({ timeout: 50 })');
    assert.match(click.text, /Timeout 50ms exceeded/, change);
    assert.match((await fails('throw new Error("mine")')).text, /Error: mine/, change);
    assert.match((await fails('await Promise.reject(new TypeError("own"))')).text, /own/, change);
    assert.equal((await run('[{ a: 1 }, ["b", null]]')).text, '[{"a":1},["b",null]]', change);
    assert.equal((await run('pages().length')).text, before.text, change);
    assert.ok(!(await agent.reset()).isError, change);
  }
});

test('shows a long array of nothing without reading all of it', async () => {
  assert.equal((await run('new Array(2 ** 32 - 1)')).text, '[ <4294967295 empty items> ]');
});

test('lets packages extend promises, and change those of their own', async () => {
  const { text } = await run(`'use strict';
    Promise.delay = (ms) => new Promise((resolve) => setTimeout(resolve, ms, 'waited'));
    Promise.prototype.tap = function (use) { return this.then((value) => (use(value), value)); };
    function Old() {}
    Old.prototype = Object.create(Promise.prototype);
    Old.prototype.constructor = Old;
    Old.prototype.then = function (resolve) { resolve('old'); };
    class Own extends Promise {}
    Own.resolve = (value) => new Own((resolve) => resolve([value]));
    const changed = Promise.resolve(1);
    changed.then = (resolve) => resolve('changed');
    changed.constructor = Own;
    const ofPlaywright = page.title();
    ofPlaywright.then = (resolve) => resolve('its own');
    ofPlaywright.constructor.delay = Promise.delay;
    console.log(Promise.resolve(1));
    [await Promise.delay(1), await Promise.resolve(2).tap((value) => console.log(value)), await new Old(),
      await Own.resolve(3), Own.resolve(4).then(String) instanceof Own, await changed, await ofPlaywright]`);
  assert.match(text, /^Promise \{\s+1\b/);
  assert.equal(text.split('\n').at(-1), '["waited",2,"old",[3],true,"changed","its own"]');
  assert.match((await fails('await Promise.delay(1); throw new Error("mine")')).text, /mine/);
});

test("takes over a tab of the user by its URL and touches none of the user's other tabs", async () => {
  await openTabs(shared.chain, [
    shared.site.url('/other?mine'),
    shared.site.url('/other?untouched'),
  ]);
  await run(`state.own = page; page = pages().find((page) => page.url().endsWith('?mine'))`);
  assert.equal((await run('page.title()')).text, 'Other');
  assert.ok(!(await attachedUrls(shared.chain)).includes(shared.site.url('/other?untouched')));
  await run('page = state.own');
});

test('lists a tab in one line without control characters, whatever its title', async () => {
  await run(
    `state.home = page; page = await context.newPage(); await page.goto('${shared.site.url('/other')}'); await page.evaluate(() => (document.title = 'a\\u001b[31m\\u0007b\\u2028[7] c\\u2029d\\u009b31m\\u202ee'))`,
  );
  for (const { text } of [await run('pages()'), await agent.reset()]) {
    assert.match(text, /^\[\d+\] a.*b.*\[7\] c.*d.*e \| http\S+\/other {2}<- page$/m);
    assert.doesNotMatch(text, /[^\P{Cc}\n]|[\u2028\u2029\u202e]/u);
  }
  await run('await page.close()');
});

test('replaces a tab in use that was closed, and reports it', async () => {
  await run(`state.home = page; page = await context.newPage(); await page.close()`);
  const { text } = await run('page.url()');
  assert.equal(
    text,
    '[The tab in use was closed or is in another browser. `page` is a new, empty tab.]\nabout:blank',
  );
  await run('await page.close(); page = state.home');
});

test('rejects a tool that does not exist', async () => {
  const { client } = await agent.started();
  await assert.rejects(
    client.callTool({ name: 'navigate', arguments: {} }),
    /Available tools: execute, reset/,
  );
});

test('reset reconnects, clears state, and lists the tabs and the page in use', async () => {
  await run(`state.x = 1; globalThis.y = 2; await page.goto('${shared.site.url('/')}')`);
  const { text, isError } = await agent.reset();
  assert.ok(!isError, text);
  assert.match(text, /^Reconnected; `state` is empty\.\npage: http\S+\/\n\d+ pages:\n\[0\]/);
  assert.equal(
    (await run('[state.x ?? 0, typeof y, await page.title()]')).text,
    '[0,"undefined","Form"]',
  );
});

test('reconnects with a state that is huge or contains code, and rebinds the rest of it', async () => {
  const make = '() => ({ get next() { return make() }, get mainFrame() { throw 1 } })';
  await run(`const make = ${make}; state.rows = Array.from({ length: 300_000 }, (_, n) => ({ n }));
    Object.assign(state, { evil: make(), proxy: new Proxy({}, { get() { throw 1 }, ownKeys() { throw 1 } }), frame: { childFrames() {} }, mine: { page } });
    Object.defineProperty(state, 'bad', { enumerable: true, get() { throw new Error('getter!') } }); Object.defineProperty(state, 'endless', { enumerable: true, get: make });
    Object.defineProperty(globalThis, 'noSetter', { enumerable: true, get: () => ({ page }) }); kept = [page];
    await browser.close()`);
  // If this took too long, the server would replace the worker and the state would be gone.
  assert.equal(
    (
      await run(
        '[state.mine.page === page, kept[0] === page, noSetter.page === page, state.rows.length]',
      )
    ).text,
    '[true,true,true,300000]',
  );
  await agent.reset();
});

test('never shows the token in output, logs, command lines or environments', async () => {
  const token = new URL(shared.chain.cdpUrl).searchParams.get('token');
  const { text } = await run(`JSON.stringify(browser._initializer ?? {}) + '${token}'`);
  assert.ok(!text.includes(token));
  const { log, pid } = await agent.started();
  const { stdout: processes } = await promisify(execFile)('ps', [
    'eww',
    '-p',
    `${pid},${await workerOf(pid)}`,
  ]);
  for (const shown of [log(), processes]) {
    assert.ok(!shown.includes(token));
  }
});
