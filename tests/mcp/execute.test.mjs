/** `execute` as an agent meets it: what is in scope, what comes back, and how faults are told. */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import { promisify } from 'node:util';

import { startAgent, useAgent, workerOf } from '../harness/agent.mjs';
import { attachedUrls, inExtension, openTabs, useChain } from '../harness/chain.mjs';

const FORM = `<title>Form</title><h1>Order</h1><label>Name <input></label>
  <button onclick="document.querySelector('output').textContent = 'Thanks, ' + document.querySelector('input').value">Send</button>
  <output></output><iframe srcdoc="<button>Inner</button>"></iframe>
  <ul>${Array.from({ length: 20 }, (_, i) => `<li>Thing ${i}`).join('')}</ul>`;
const TALL = `<body style="margin:0">${Array.from({ length: 300 }, (_, i) => `<div style="height:40px;background:hsl(${i * 7} 90% 50%)">${i}</div>`).join('')}`;

const box = (left, top, width, height) =>
  `position:absolute;left:${left}px;top:${top}px;width:${width}px;height:${height}px;border:0;background:#fff`;
const LABELLED = `<body style="margin:0"><button style="${box(100, 100, 80, 30)}"></button>
  <iframe style="${box(200, 200, 200, 100)};border:10px solid #ccc;padding:7px" srcdoc='<body style="margin:0"><button style="${box(20, 30, 60, 20)}"></button>'></iframe>`;
/** Noise does not compress: a picture of it is as large as it can be. */
const NOISE = `<body style="margin:0"><canvas width=600 height=300></canvas><script>const c = document.querySelector('canvas').getContext('2d'); const i = c.createImageData(600, 300);
  for (let k = 0; k < i.data.length; k++) i.data[k] = k % 4 === 3 ? 255 : Math.random() * 256; c.putImageData(i, 0, 0)</script>`;

const shared = useChain({
  pages: {
    '/labelled': LABELLED,
    '/noise': NOISE,
    '/': FORM,
    '/tall': TALL,
    '/other': '<title>Other</title>other',
    '/never': () => {},
  },
});
const agent = useAgent(shared);
const { run, fails } = agent;

test('code that uses no page opens no tab; the first that does gets one in the background, and it is kept', async () => {
  const count = () => run('pages().length').then(({ text }) => Number(text));
  const there = await count();
  assert.equal(
    (await run(`await page.goto('${shared.site.url('/')}'); page.title()`)).text,
    'Form',
  );
  assert.equal(await count(), there + 1);
  assert.equal((await run('return page.url()')).text, shared.site.url('/'));
  const inFront = await inExtension(shared.chain, async () =>
    (await chrome.tabs.query({ active: true })).map((tab) => tab.url),
  );
  assert.ok(!inFront.includes(shared.site.url('/')), 'the person goes on seeing their own tab');
});

test('the value of the last expression comes back, or what is returned, in one statement or many', async () => {
  for (const [code, text] of [
    ['1 + 1', '2'],
    ['const a = 1;\nconst b = await Promise.resolve(2);\n({ a, b })', '{"a":1,"b":2}'],
    ['if (true) { return "early" }\n"late"', 'early'],
    ['(async () => 5)()', '5'],
    ['"text" // with a comment', 'text'],
    ['let x = 1; x', '1'],
    ['let y = 1;', 'Done; no value.'],
    ['[new Map([[1, 2]]), undefined]', '[ Map(1) { 1 => 2 }, undefined ]'],
    ['const loop = { n: 1 }; loop.self = loop; loop', '<ref *1> { n: 1, self: [Circular *1] }'],
    ['(x) => x', '[function (anonymous): it was returned, not called]'],
  ]) {
    assert.equal((await run(code)).text, text, code);
  }
});

test('console output is captured, before the value', async () => {
  const { text } = await run(
    'console.log("a", { b: 1 }); console.warn("careful"); console.error("bad"); "value"',
  );
  assert.equal(text, 'a { b: 1 }\n[warn] careful\n[error] bad\nvalue');
});

test("the console is Node's own, with all of its methods", async () => {
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

test("the code and Playwright agree about what is an error and what is an array of bytes, and Node's names are there", async () => {
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

test('state is kept between calls, variables are not', async () => {
  await run('state.seen = [1]; const gone = 2;');
  assert.equal((await run('state.seen.push(2); state.seen')).text, '[1,2]');
  assert.match(
    (await fails('gone')).text,
    /gone is not defined[\s\S]*Variables of earlier calls are gone; `state` is kept/,
  );
});

test('`page = …` takes another tab into use, and only a page is taken', async () => {
  await run(
    `state.first = page; page = await context.newPage(); await page.goto('${shared.site.url('/other')}')`,
  );
  assert.equal((await run('page.title()')).text, 'Other');
  assert.match((await run('pages()')).text, /\[\d+\] Other \| http\S+\/other {2}<- page/);
  assert.match((await fails('page = context.newPage()')).text, /not a promise: await it/);
  await run('await page.close(); page = state.first');
  assert.equal((await run('page.title()')).text, 'Form');
});

test('names that code has overwritten are as they were in the next call; its state and names of its own stay', async () => {
  await run(
    'pages = pages(); snapshot = await snapshot(); console = null; output = screenshot = 5; context = browser = null; state = { kept: 1 }; mine = 2',
  );
  const { text, images } = await run(
    'console.log(pages().length); await screenshot(); [typeof output, typeof context.pages, typeof browser.contexts, typeof (await snapshot()), state.kept, mine]',
  );
  assert.match(text, /^\d+\n\["function","function","function","string",1,2\]$/);
  assert.equal(images.length, 1);
});

test('a tab of the person is taken over by its address, and no other tab is touched', async () => {
  await openTabs(shared.chain, [
    shared.site.url('/other?mine'),
    shared.site.url('/other?untouched'),
  ]);
  await run(`state.own = page; page = pages().find((page) => page.url().endsWith('?mine'))`);
  assert.equal((await run('page.title()')).text, 'Other');
  assert.ok(!(await attachedUrls(shared.chain)).includes(shared.site.url('/other?untouched')));
  await run('page = state.own');
});

test('a tab is told in one line that steers no terminal, whatever it calls itself', async () => {
  await run(
    `state.home = page; page = await context.newPage(); await page.goto('${shared.site.url('/other')}'); await page.evaluate(() => (document.title = 'a\\u001b[31m\\u0007b\\u2028[7] c\\u2029d\\u009b31me'))`,
  );
  for (const { text } of [await run('pages()'), await agent.reset()]) {
    assert.match(text, /^\[\d+\] a.*b.*\[7\] c.*d.*e \| http\S+\/other {2}<- page$/m);
    assert.doesNotMatch(text, /[^\P{Cc}\n]|[\u2028\u2029]/u);
  }
  await run('await page.close()');
});

test('a tab in use that was closed is told of, and replaced', async () => {
  await run(`state.home = page; page = await context.newPage(); await page.close()`);
  const { text } = await run('page.url()');
  assert.equal(text, '[The tab in use was closed: `page` is a new, empty tab.]\nabout:blank');
  await run('await page.close(); page = state.home');
});

test('a snapshot gives refs that locators take; of one element; and only what changed', async () => {
  await run(`await page.goto('${shared.site.url('/')}')`);
  const { text } = await run('snapshot()');
  const ref = (role) => new RegExp(`- ${role} [^\\n]*\\[ref=(\\w+)\\]`).exec(text)[1];
  assert.match(text, /heading "Order"/);
  assert.match(text, /button "Inner" \[ref=f\d+e\d+\]/, 'frames are in it');
  const part = (await run(`snapshot(page.getByRole('button', { name: 'Send' }))`)).text;
  assert.ok(part.endsWith(`- button "Send" [ref=${ref('button "Send"')}]`), part);
  await run(
    `await page.locator('aria-ref=${ref('textbox')}').fill('Ann'); await page.locator('aria-ref=${ref('button "Send"')}').click()`,
  );
  const changed = (await run('snapshot({ diff: true })')).text;
  assert.match(changed, /^\+ .*Thanks, Ann/m);
  assert.ok(!changed.includes('Thing'), changed);
  assert.equal((await run('snapshot({ diff: true })')).text, 'no change since the last snapshot');
  assert.match(
    (await fails(`await page.locator('aria-ref=e999').click({ timeout: 200 })`)).text,
    /Next: Refs are of the latest snapshot only/,
  );
});

test('a snapshot is also of a selector or a frame, takes its options second, and of each depth has its own difference', async () => {
  await run(
    `await page.goto('${shared.site.url('/')}'); await page.locator('li').nth(2).waitFor(); await snapshot()`,
  );
  const unchanged = 'no change since the last snapshot';
  assert.equal((await run('snapshot(undefined, { diff: true })')).text, unchanged);
  assert.equal((await run('snapshot(null, { diff: true })')).text, unchanged);
  assert.match((await run(`snapshot('h1')`)).text, /\n- heading "Order" \[level=1\] \[ref=\w+\]$/);
  assert.match(
    (await run('snapshot(page.frames()[1])')).text,
    /\n- button "Inner" \[ref=f\d+e\d+\]$/,
  );
  assert.notEqual(
    (await run('snapshot({ depth: 1, diff: true })')).text,
    unchanged,
    'there was none of this depth',
  );
  assert.equal((await run('snapshot({ diff: true })')).text, unchanged);
  for (const wrong of ['5', "await page.$('h1')"]) {
    assert.match(
      (await fails(`await snapshot(${wrong})`)).text,
      /TypeError: snapshot and screenshot take a locator, selector, frame or page, and then options, not/,
    );
  }
});

/** Width and height of a PNG, from its head. */
const sizeOf = ({ data }) => [
  Buffer.from(data, 'base64').readUInt32BE(16),
  Buffer.from(data, 'base64').readUInt32BE(20),
];

test('a screenshot is a picture; of one element; with labels that leave the page as it was', async () => {
  const plain = await run('await screenshot()');
  assert.equal(plain.images[0].mimeType, 'image/png');
  const part = await run(
    `await screenshot(page.getByRole('button', { name: 'Send' })); page.locator('button').evaluate((b) => b.offsetWidth)`,
  );
  assert.ok(Math.abs(sizeOf(part.images[0])[0] - Number(part.text)) <= 1);
  const before = (await run('page.content()')).text;
  const labelled = await run('await screenshot({ labels: true })');
  assert.notEqual(labelled.images[0].data, plain.images[0].data);
  assert.deepEqual(sizeOf(labelled.images[0]), sizeOf(plain.images[0]));
  assert.equal((await run('page.content()')).text, before);
  assert.equal(
    (await run('page.screenshot()')).images.length,
    1,
    'a picture that is returned is one too',
  );
});

test('a label is at its element, also in a frame with an edge', async () => {
  const {
    images: [plain, labelled],
  } = await run(
    `await page.goto('${shared.site.url('/labelled')}'); await screenshot(); await screenshot({ labels: true })`,
  );
  const { PNG } = createRequire(import.meta.url)('playwright-core/lib/utilsBundle');
  const colourAt = ({ data }) => {
    const picture = PNG.sync.read(Buffer.from(data, 'base64'));
    return (x, y) =>
      [
        ...picture.data.subarray((y * picture.width + x) * 4, (y * picture.width + x) * 4 + 3),
      ].join();
  };
  // The corner that no label covers: below, to the left.
  for (const [x, y] of [
    [100, 129],
    [200 + 10 + 7 + 20, 200 + 10 + 7 + 30 + 19],
  ]) {
    assert.equal(colourAt(plain)(x, y), '255,255,255');
    assert.notEqual(colourAt(labelled)(x, y), '255,255,255', 'the outline');
    assert.equal(colourAt(labelled)(x + 1, y - 1), '255,255,255', 'the inside');
    assert.equal(colourAt(labelled)(x - 1, y + 1), '255,255,255', 'the outside');
  }
});

test('pictures that do not all fit into one answer are left out, and it is said', async () => {
  const { images, text } = await run(
    `await page.goto('${shared.site.url('/noise')}'); const picture = await page.screenshot(); for (let i = 0; i < 20; i++) await screenshot(); picture.length`,
  );
  const bytes = images.reduce((sum, { data }) => sum + data.length, 0);
  assert.ok(bytes > 3_000_000 && bytes <= 6_000_000, `${images.length} pictures of ${bytes}`);
  assert.match(
    text,
    new RegExp(
      `\\[${20 - images.length} more pictures do not fit into one answer\\. Take them in another call, or smaller`,
    ),
  );
  assert.equal((await run('await screenshot()')).images.length, 1, 'the next call has room again');
});

test('pictures that are too large are scaled, and it is said', async () => {
  const small = await startAgent({
    home: shared.chain.relay.home,
    port: shared.chain.relay.port,
    args: ['--image-limit', '20000', '--idle', '0'],
  });
  try {
    await agent.reset();
    await agent.execute('await browser.close()');
    const { images, text } = await small.execute(
      `await page.goto('${shared.site.url('/tall')}'); await screenshot({ fullPage: true })`,
    );
    assert.equal(images[0].mimeType, 'image/jpeg');
    assert.ok(Buffer.from(images[0].data, 'base64').length <= 20_000);
    assert.match(text, /the page is 12000 pixels tall; this is its beginning/);
    assert.match(text, /the picture is \d+x\d+, scaled from \d+x8000/);
    await small.execute('await page.close()');
  } finally {
    await small.stop();
  }
});

test('a JPEG with too long an edge is scaled too, and of the types only those that can be are taken', async () => {
  for (const code of [
    `await screenshot(page.locator('body'), { type: 'jpeg', quality: 20 })`,
    `page.screenshot({ type: 'jpeg', quality: 20, fullPage: true })`,
  ]) {
    const {
      images: [{ data, mimeType }],
      text,
    } = await run(`await page.goto('${shared.site.url('/tall')}'); ${code}`);
    assert.equal(mimeType, 'image/jpeg');
    const { jpegjs } = createRequire(import.meta.url)('playwright-core/lib/utilsBundle');
    assert.equal(jpegjs.decode(Buffer.from(data, 'base64')).height, 8_000);
    assert.match(text, /the picture is \d+x8000, scaled from \d+x12000/);
  }
  const small = await run(`await screenshot({ type: 'jpeg' })`);
  assert.deepEqual(
    [small.images[0].mimeType, small.text.includes('scaled')],
    ['image/jpeg', false],
  );
  assert.match(
    (await fails(`await screenshot({ type: 'webp' })`)).text,
    /TypeError: screenshot takes the types png and jpeg, not webp/,
  );
  assert.match(
    (await run('Buffer.from([0xff, 0xd8, 0xff, 0xe0])')).text,
    /^<Buffer ff d8 ff e0>$/,
    'the beginning alone is no picture',
  );
});

test('what is longer than the limit is cut, and the rest can be asked for', async () => {
  const { text } = await run(`"0123456789".repeat(3000)`);
  assert.match(text, /\[cut: 20000 of 30000 characters\. The rest: output\(20000\)/);
  assert.equal(text.indexOf('\n'), 20_000);
  assert.equal((await run('output(20000)')).text.length, 10_000);
});

test('no character is cut in two, and half of one is told as what it is', async () => {
  const { text } = await run('"a" + "😀".repeat(15_000)', { timeout: 5 });
  assert.equal(text.indexOf('\n'), 19_999);
  assert.match(text, /😀\n\[cut: 19999 of 30001 characters\. The rest: output\(19999\)/);
  assert.equal((await run('output(19999)')).text, '😀'.repeat(5_001));
  assert.equal(
    (await run('console.log("a\\ud83d"); "\\ude00b"', { timeout: 5 })).text,
    'a\ufffd\n\ufffdb',
  );
  assert.match((await fails('throw new Error("\\ud83d")', { timeout: 5 })).text, /Error: \ufffd/);
});

test('one line of any length is kept in its beginning, and an error is cut like all the rest', async () => {
  const { text } = await run('"x".repeat(20_000_000)');
  assert.match(text, /^x{20000}\n\[cut: 20000 of 16777216 characters\./);
  assert.match(text, /\[what came after the first 16777216 characters was not kept\]$/);
  for (const thrown of ['new Error("x".repeat(5_000_000))', '"x".repeat(5_000_000)']) {
    const failed = await fails(`throw ${thrown}`);
    assert.ok(
      failed.text.length < 21_000 && failed.error.message.length < 21_000,
      `${failed.text.length} characters`,
    );
  }
  assert.match(
    (await fails('throw new Error("x".repeat(30_000))')).text,
    /x\n\[cut: 20000 of 30\d+ characters\]\nNext: /,
  );
});

test('a syntax error is told with its line and a caret, and nothing was run', async () => {
  const { text, error } = await fails('state.ran = true;\nconst x = ;');
  assert.equal(error.kind, 'syntax');
  assert.ok(text.includes('line 2, column 11:\n  const x = ;\n            ^'), text);
  assert.equal((await run('state.ran ?? "not run"')).text, 'not run');
  assert.match((await fails(`import fs from 'fs'`)).text, /There are no modules here/);
});

test('errors say what happened, where in the code, and the next step', async () => {
  for (const [code, ...expected] of [
    ['const a = 1;\nnull.x', /Cannot read properties of null/, /at line 2: null\.x/],
    [
      'await page.click("#nothing", { timeout: 100 })',
      /Timeout 100ms exceeded/,
      /Next: It was not there in time: `snapshot\(\)`/,
    ],
    ['await page.locator("*").click()', /strict mode violation/, /Next: Several elements match/],
    ['await page.goto("http://127.0.0.1:1/")', /ERR_/, /Next: The address could not be loaded/],
    [
      'await page.goto("data:text/html,x")',
      /Next: Chrome lets no extension open a `data:` address/,
    ],
    ['throw { code: 7 }', /thrown: \{ code: 7 \}/, /Next: Correct the code and call again/],
    [
      'await page.locator("h1").screenshot({ timeout: 0.5 })',
      /Timeout 0\.5ms exceeded/,
      /Next: It was not there in time/,
    ],
    [
      'await (await context.newCDPSession(page)).send("Browser.crash")',
      /Next: Chrome gives extensions no such command/,
    ],
  ]) {
    const { text, error } = await fails(code);
    expected.forEach((pattern) => assert.match(text, pattern));
    assert.ok(!/reset/.test(text), `reset does not help here: ${text}`);
    assert.ok(error.kind && error.message);
  }
});

test('whatever is thrown is told of with the next step, and what was printed before it', async () => {
  for (const [thrown, words] of [
    ['new Proxy({}, { has() { throw 1 } })', /thrown: \{\}/],
    ['new Proxy({}, { getPrototypeOf() { throw 1 }, get() { throw 1 } })', /thrown: \{\}/],
    ['Object.assign(new Error("x"), { name: Symbol("q") })', /Symbol\(q\): x/],
    ['{ message: Object.create(null) }', /thrown: \{ message: \[Object: null prototype\] \{\} \}/],
    [
      '{ get message() { throw 1 }, [Symbol.for("nodejs.util.inspect.custom")]() { throw 1 } }',
      /thrown: what cannot be described/,
    ],
    ['null', /thrown: null/],
  ]) {
    const { text, error } = await fails(`console.log("said before"); throw ${thrown}`);
    assert.equal(error.kind, 'code');
    assert.match(text, /^said before\n/);
    assert.match(text, words);
    assert.match(text, /\nNext: Correct the code and call again/);
  }
  assert.equal((await run('5')).text, '5', 'and nothing of it in the next answer');
  await fails(
    'state.reads = 0; throw { get message() { state.reads += 1; return "x".repeat(30_000) } }',
  );
  assert.equal(
    (await run('state.reads')).text,
    '1',
    'a long one is read once, and not for each next step that there is',
  );
  const { text } = await run(
    'Promise.reject(new Proxy({}, { has() { throw 1 }, get() { throw 1 } })); await new Promise((r) => setTimeout(r, 50)); 5',
  );
  assert.equal(text, '[a promise was rejected, left behind by the code: thrown: {}]\n5');
});

test('a promise that was left behind ends nothing, and is told of', async () => {
  const { text } = await run(
    'Promise.reject(new Error("forgotten")); setTimeout(() => { throw new Error("late") }, 1); await new Promise((r) => setTimeout(r, 50)); 5',
  );
  assert.match(text, /a promise was rejected, left behind by the code: Error: forgotten/);
  assert.match(text, /an error was thrown, left behind by the code: Error: late/);
  assert.match(text, /5$/);
});

test('a tool that is not there is said not to be', async () => {
  const { client } = await agent.started();
  await assert.rejects(
    client.callTool({ name: 'navigate', arguments: {} }),
    /Available tools: execute, reset/,
  );
});

test('reset connects anew, empties the state, and reports the tabs and the page in use', async () => {
  await run(`state.x = 1; globalThis.y = 2; await page.goto('${shared.site.url('/')}')`);
  const { text, isError } = await agent.reset();
  assert.ok(!isError, text);
  assert.match(text, /^Reconnected; `state` is empty\.\npage: http\S+\/\n\d+ pages:\n\[0\]/);
  assert.equal(
    (await run('[state.x ?? 0, typeof y, await page.title()]')).text,
    '[0,"undefined","Form"]',
  );
});

test('a state with code in it, or very large, keeps nobody from the browser, and the rest of it is renewed', async () => {
  const make = '() => ({ get next() { return make() }, get mainFrame() { throw 1 } })';
  await run(`const make = ${make}; state.rows = Array.from({ length: 300_000 }, (_, n) => ({ n }));
    Object.assign(state, { evil: make(), proxy: new Proxy({}, { get() { throw 1 }, ownKeys() { throw 1 } }), frame: { childFrames() {} }, mine: { page } });
    Object.defineProperty(state, 'bad', { enumerable: true, get() { throw new Error('getter!') } }); Object.defineProperty(state, 'endless', { enumerable: true, get: make });
    Object.defineProperty(globalThis, 'noSetter', { enumerable: true, get: () => ({ page }) }); kept = [page];
    await browser.close()`);
  const began = performance.now();
  assert.equal(
    (
      await run(
        '[state.mine.page === page, kept[0] === page, noSetter.page === page, state.rows.length]',
      )
    ).text,
    '[true,true,true,300000]',
  );
  assert.ok(performance.now() - began < 10_000);
  await agent.reset();
});

test('the token is in nothing that the code or the server says', async () => {
  const token = new URL(shared.chain.cdpUrl).searchParams.get('token');
  const { text } = await run(`JSON.stringify(browser._initializer ?? {}) + '${token}'`);
  assert.ok(!text.includes(token));
  const { log, pid } = await agent.started();
  const { stdout: processes } = await promisify(execFile)('ps', [
    'eww',
    '-p',
    `${pid},${await workerOf(pid)}`,
  ]);
  for (const said of [log(), processes]) {
    assert.ok(!said.includes(token));
  }
});
