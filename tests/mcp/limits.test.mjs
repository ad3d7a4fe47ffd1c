/** Limits of time and memory, cancelling and reset: nothing hangs, and the agent learns what was lost. */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { memoryOf, startAgent, useAgent, workerOf } from '../harness/agent.mjs';
import { useChain } from '../harness/chain.mjs';
import { isRunning, until } from '../harness/processes.mjs';

let finish;
const shared = useChain({
  args: ['--client-mode', 'multi-client'],
  pages: {
    '/': '<title>Here</title>here',
    '/never': () => {},
    '/started': '',
    '/finish': (_, response) => (finish = () => response.end()),
  },
});
const agent = useAgent(shared, ['--memory', '400']);
const { run, fails } = agent;

/** Code that requests `/started`, and then runs `code`. */
const announced = (code) => `await fetch('${shared.site.url('/started')}'); ${code}`;
const prepare = () => run(`state.kept = 1; await page.goto('${shared.site.url('/')}')`);
/** After the worker was replaced, the page in use is the same and the state is empty. */
async function assertReplaced() {
  assert.equal((await run('[state.kept ?? 0, await page.title()]')).text, '[0,"Here"]');
}

test('stops code that never returns or loops forever at its timeout', async () => {
  for (const code of ['await new Promise(() => {})', 'while (true) {}']) {
    await prepare();
    const { text, error } = await fails(`console.log('before'); ${code}`, { timeout: 0.7 });
    assert.equal(error.kind, 'timeout');
    assert.match(
      text,
      /^before\nError: The code did not finish within 0\.7 s and was stopped\.\nNext: `state` and variables are lost; `page` is kept/,
    );
    assert.ok(!text.includes('reset'), 'the worker is new already');
    await assertReplaced();
  }
});

test('times out the loading of a page before the call, so that no state is lost', async () => {
  await prepare();
  const { text } = await fails(`await page.goto('${shared.site.url('/never')}')`, { timeout: 5 });
  assert.match(text, /page\.goto: Timeout 4000ms exceeded/);
  assert.match(text, /Next: The page did not finish loading/);
  assert.equal((await run('state.kept')).text, '1');
});

test('dismisses dialogs, and is not blocked by one that the code leaves open', async () => {
  await prepare();
  assert.match(
    (await run('page.evaluate(() => confirm("sure?"))')).text,
    /^false\n\[Dialog \(confirm\)/,
  );
  const { text } = await fails('page.on("dialog", () => {}); await page.evaluate(() => alert(1))', {
    timeout: 0.7,
  });
  assert.match(text, /may be showing a dialog/);
  await run(`page = await context.newPage(); await page.goto('${shared.site.url('/')}')`);
});

test('keeps a page that hangs or shows a dialog as the page in use', async () => {
  await prepare();
  const here = (await run('[page.url(), pages().length]')).text;
  for (const stuck of [
    'page.on("dialog", () => {}); await page.evaluate(() => alert(1))',
    'await page.evaluate(() => { for (;;); })',
  ]) {
    for (let call = 0; call < 2; call += 1) {
      assert.equal((await fails(stuck, { timeout: 0.7 })).error.kind, 'timeout');
    }
    assert.equal((await run('[page.url(), pages().length]')).text, here);
    assert.match((await run('pages()')).text, / {2}<- page/);
  }
  const { text } = await fails('await snapshot()');
  await run('await page.close()'); // The other tests need one that responds.
  assert.match(
    text,
    /Timeout [345]\d{3}ms exceeded[\s\S]*Next: The page does not respond: it is busy or shows a dialog/,
  );
});

test('stops a worker that writes garbage without waiting for the timeout', async () => {
  for (const bytes of ['[123, 10]', '[255, 10]']) {
    await prepare();
    const { text, error } = await fails(
      `setTimeout.constructor('return process')().stdout.write(new Uint8Array(${bytes})); await new Promise(() => {})`,
      { timeout: 50 },
    );
    assert.equal(error.kind, 'worker');
    assert.match(text, /stopped after unparseable output[\s\S]*`page` is kept/);
    await assertReplaced();
  }
});

test('stops code that uses too much memory, in the heap or outside of it', async () => {
  for (const code of [
    'const all = []; for (;;) all.push(new Array(100000).fill(all.length));',
    'const all = []; for (;;) { all.push(Buffer.alloc(2e7, 1)); await 0; }',
  ]) {
    await prepare();
    const { text, error } = await fails(code);
    assert.equal(error.kind, 'memory', text);
    assert.match(text, /more than 400 MiB of memory/);
    await assertReplaced();
  }
});

test('stops a worker whose memory grows between calls, and reports it in the next call', async () => {
  await prepare();
  const { pid } = await agent.started();
  const worker = await workerOf(pid);
  await run('state.all = []; setInterval(() => state.all.push(Buffer.alloc(2e7, 1)), 20); 0');
  await until('the worker has exited', () => !isRunning(worker));
  const { text } = await run('page.title()');
  assert.equal(
    text,
    '[Something that earlier code left running used more than 400 MiB of memory and was stopped. `state` and variables are lost; `page` is kept. Anything the code started in the page may have taken effect.]\nHere',
  );
});

test('frees the memory that large code takes in the server', async () => {
  const large = await startAgent({ home: shared.chain.relay.home, port: shared.chain.relay.port });
  try {
    await large.execute('1');
    const before = await memoryOf(large.pid);
    assert.equal((await large.execute(`"${'x'.repeat(5e6)}".length`)).text, '5000000');
    // The buffer of the longest line stays.
    await until('the rest is freed', async () => (await memoryOf(large.pid)) < before + 24);
  } finally {
    await large.stop();
  }
});

test('runs code that contains a lone surrogate', async () => {
  assert.equal((await run(`"${'😀'.slice(0, 1)} ${'😀'}"`)).text, '\ufffd 😀');
});

test('rejects invalid arguments of execute, without running or losing anything', async () => {
  await prepare();
  const { client } = await agent.started();
  const wrong = [
    undefined,
    {},
    { code: 5 },
    { code: null },
    { code: '1', timeout: 'soon' },
    { code: '1', more: 1 },
    ...[-5, 0, 0.09, 601, 1e308].map((timeout) => ({ code: 'state.kept = 2', timeout })),
  ];
  for (const args of wrong) {
    const { isError, content, structuredContent } = await client.callTool({
      name: 'execute',
      arguments: args,
    });
    assert.ok(isError, JSON.stringify(args));
    assert.equal(structuredContent.error.kind, 'arguments');
    assert.match(
      content[0].text,
      /^Error: Invalid arguments for execute: .+\.\nNext: Nothing was run\. Call again with `code` \(a string\) and optionally `timeout` \(0\.1 to 600 seconds\)\.$/,
    );
  }
  assert.equal(
    (await client.callTool({ name: 'execute', arguments: { code: 'state.kept', timeout: null } }))
      .content[0].text,
    '1',
  );
  const [{ inputSchema }] = (await client.listTools()).tools;
  assert.deepEqual(
    [inputSchema.properties.timeout.minimum, inputSchema.properties.timeout.maximum],
    [0.1, 600],
  );
});

test('a reset stops running code and rejects queued calls, and both report why', async () => {
  await prepare();
  const hasStarted = shared.site.nextRequest('/started');
  const running = agent.fails(announced('await new Promise(() => {})'), { timeout: 50 });
  await hasStarted;
  const waiting = agent.fails('state.kept = 3', { timeout: 50 });
  const { text } = await agent.reset();
  assert.match(text, /^Reconnected; `state` is empty\.\npage: http/);
  assert.match(
    (await running).text,
    /^Error: A reset stopped the code\.\nNext: `state` and variables are lost; `page` is kept/,
  );
  assert.equal((await running).error.kind, 'reset');
  assert.equal(
    (await waiting).text,
    'Error: A reset came first; the code was not run.\nNext: Call again.',
  );
  await assertReplaced();
});

test('a cancelled reset is not reported as cancelled code', async () => {
  await prepare();
  const { pid } = await agent.started();
  const worker = await workerOf(pid);
  const abort = new AbortController();
  const reset = agent.reset({ signal: abort.signal });
  await until(
    'the reset has started a new worker',
    async () => ![undefined, worker].includes(await workerOf(pid)),
  );
  abort.abort();
  await assert.rejects(reset);
  await assertReplaced();
});

test('stops the code of a cancelled call, and reports the loss in the next call', async () => {
  await prepare();
  const { pid } = await agent.started();
  const worker = await workerOf(pid);
  const abort = new AbortController();
  const hasStarted = shared.site.nextRequest('/started');
  const call = agent.execute(announced('while (true) {}'), { signal: abort.signal });
  hasStarted.then(() => abort.abort());
  await assert.rejects(call);
  await until('the worker has exited', () => !isRunning(worker));
  const { text } = await run('page.title()');
  assert.equal(
    text,
    '[The last call was cancelled and its code was stopped. `state` and variables are lost; `page` is kept. Anything the code started in the page may have taken effect.]\nHere',
  );
});

test('replaces a worker that was killed, during a call or between calls', async () => {
  await prepare();
  const { pid } = await agent.started();
  process.kill(await workerOf(pid), 'SIGKILL');
  const { text } = await run('page.title()');
  assert.match(
    text,
    /^\[The process that runs the code had exited\. `state` and variables are lost.*\]\nHere$/,
  );
  const hasStarted = shared.site.nextRequest('/started');
  const dying = agent.fails(announced('await new Promise(() => {})'), { timeout: 20 });
  await hasStarted;
  process.kill(await workerOf(pid), 'SIGKILL');
  assert.match((await dying).text, /exited \(signal: 9 \(SIGKILL\)\)[\s\S]*Call again/);
  await assertReplaced();
});

test('sends progress on request, and answers other requests meanwhile', async () => {
  const messages = [];
  const { client } = await agent.started();
  const hasStarted = shared.site.nextRequest('/finish');
  const call = run(`await fetch('${shared.site.url('/finish')}')`, {
    onprogress: ({ progress, message }) => messages.push([progress, message]),
  });
  await hasStarted;
  assert.equal((await client.listTools()).tools.length, 2);
  await until('two messages have arrived', () => messages.length >= 2);
  finish();
  await call;
  assert.deepEqual(
    messages.slice(0, 2).map(([progress]) => progress),
    [1, 2],
  );
  messages.forEach(([, message]) => assert.match(message, /^running for \d+ s$/));
});

test('a server that was killed leaves no worker behind, even a looping one', async () => {
  const doomed = await startAgent({ home: shared.chain.relay.home, port: shared.chain.relay.port });
  await doomed.execute('1');
  const worker = await workerOf(doomed.pid);
  const hasStarted = shared.site.nextRequest('/started');
  const call = doomed.execute(announced('while (true) {}'), { timeout: 50 }).catch(() => {});
  await hasStarted;
  process.kill(doomed.pid, 'SIGKILL');
  await until('the worker has exited', () => !isRunning(worker));
  await call;
});

test('an agent that disconnects during a call leaves no process behind', async () => {
  const leaving = await startAgent({
    home: shared.chain.relay.home,
    port: shared.chain.relay.port,
  });
  await leaving.execute('1');
  const worker = await workerOf(leaving.pid);
  const hasStarted = shared.site.nextRequest('/started');
  leaving.execute(announced('while (true) {}'), { timeout: 50 }).catch(() => {});
  await hasStarted;
  await leaving.stop();
  await until('server and worker have exited', () => !isRunning(worker) && !isRunning(leaving.pid));
});
