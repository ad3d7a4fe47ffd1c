/** Nothing hangs: code that does not end is ended, and the agent is told what was lost. */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { memoryOf, startAgent, useAgent, workerOf } from '../harness/agent.mjs';
import { useChain } from '../harness/chain.mjs';
import { isRunning, until } from '../harness/processes.mjs';

const shared = useChain({
  args: ['--client-mode', 'multi-client'],
  pages: { '/': '<title>Here</title>here', '/never': () => {}, '/begun': '' },
});
const agent = useAgent(shared, ['--memory', '400']);
const { run, fails } = agent;

/** Code that says when it has begun, and then does `what`. */
const begun = (what) => `await fetch('${shared.site.url('/begun')}'); ${what}`;
const prepare = () => run(`state.kept = 1; await page.goto('${shared.site.url('/')}')`);
/** After a worker was replaced: the page is the one in use before, and the state is empty. */
async function assertReplaced() {
  assert.equal((await run('[state.kept ?? 0, await page.title()]')).text, '[0,"Here"]');
}

test('code that never returns, and a loop that never ends, are ended at their timeout', async () => {
  for (const code of ['await new Promise(() => {})', 'while (true) {}']) {
    await prepare();
    const began = performance.now();
    const { text, error } = await fails(`console.log('so far'); ${code}`, { timeout: 0.7 });
    assert.ok(performance.now() - began < 10_000);
    assert.equal(error.kind, 'timeout');
    assert.match(
      text,
      /^so far\nError: The code did not finish within 0\.7 s and was stopped\.\nNext: `state` and variables are lost; `page` is kept/,
    );
    assert.ok(!text.includes('reset'), 'the worker is as new already');
    await assertReplaced();
  }
});

test('a page that never loads gives up before the call is ended, so nothing is lost', async () => {
  await prepare();
  const { text } = await fails(`await page.goto('${shared.site.url('/never')}')`, { timeout: 5 });
  assert.match(text, /page\.goto: Timeout 4000ms exceeded/);
  assert.match(text, /Next: The page does not finish loading/);
  assert.equal((await run('state.kept')).text, '1');
});

test('a dialog is dismissed; one that the code takes and never answers does not block for ever', async () => {
  await prepare();
  assert.equal((await run('page.evaluate(() => confirm("sure?"))')).text, 'false');
  const { text } = await fails('page.on("dialog", () => {}); await page.evaluate(() => alert(1))', {
    timeout: 0.7,
  });
  assert.match(text, /may be showing a dialog/);
  await run(`page = await context.newPage(); await page.goto('${shared.site.url('/')}')`);
});

test('a page that hangs, or has shown a dialog, stays the page in use, and no tab is opened in its place', async () => {
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
  const { text } = await fails('await snapshot()', { timeout: 4 });
  await run('await page.close()'); // whatever it said: the other tests need one that answers
  assert.match(
    text,
    /Timeout 3200ms exceeded[\s\S]*Next: The page does not answer: it is busy, or shows a dialog/,
  );
});

test('a worker that says what cannot be read is ended at once, and not at its timeout', async () => {
  for (const bytes of ['[123, 10]', '[255, 10]']) {
    await prepare();
    const { text, error } = await fails(
      `fetch.constructor('return process')().stdout.write(new Uint8Array(${bytes})); await new Promise(() => {})`,
      { timeout: 50 },
    );
    assert.equal(error.kind, 'worker');
    assert.match(text, /stopped after unparseable output[\s\S]*`page` is kept/);
    await assertReplaced();
  }
});

test('memory that grows without bound ends the code, in the heap and outside of it', async () => {
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

test('memory that grows between calls, by what code has left running, ends the worker, and the next call is told', async () => {
  await prepare();
  const { pid } = await agent.started();
  const worker = await workerOf(pid);
  await run('state.all = []; setInterval(() => state.all.push(Buffer.alloc(2e7, 1)), 20); 0');
  await until('the worker is ended', () => !isRunning(worker));
  const { text } = await run('page.title()');
  assert.equal(
    text,
    '[Something that earlier code left running used more than 400 MiB of memory and was stopped. `state` and variables are lost; `page` is kept. Anything the code started in the page may have taken effect.]\nHere',
  );
});

test('the memory that large code took in the server is soon given back', async () => {
  const large = await startAgent({ home: shared.chain.relay.home, port: shared.chain.relay.port });
  try {
    await large.execute('1');
    const before = await memoryOf(large.pid);
    assert.equal((await large.execute(`"${'x'.repeat(5e6)}".length`)).text, '5000000');
    // The buffer of the longest line so far stays.
    await until(
      'the rest is given back',
      async () => (await memoryOf(large.pid)) < before + 24,
      6_000,
    );
  } finally {
    await large.stop();
  }
});

test('code with half a character in it, as a text has that was cut, is run', async () => {
  assert.equal((await run(`"${'😀'.slice(0, 1)} ${'😀'}"`)).text, '\ufffd 😀');
});

test('arguments that execute does not take are an error that says so; nothing is run or lost by it', async () => {
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

test('a reset does not wait for code that runs: that is ended, and both it and what waited behind it say why', async () => {
  await prepare();
  const isBegun = shared.site.asked('/begun');
  const running = agent.fails(begun('await new Promise(() => {})'), { timeout: 50 });
  await isBegun;
  const waiting = agent.fails('state.kept = 3', { timeout: 50 });
  const began = performance.now();
  const { text } = await agent.reset();
  assert.ok(performance.now() - began < 15_000);
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

test('a reset that is cancelled is not told of as code that was given up', async () => {
  await prepare();
  const { pid } = await agent.started();
  const worker = await workerOf(pid);
  const abort = new AbortController();
  const reset = agent.reset({ signal: abort.signal });
  await until(
    'it has begun: the new worker is there',
    async () => ![undefined, worker].includes(await workerOf(pid)),
  );
  abort.abort();
  await assert.rejects(reset);
  await assertReplaced();
});

test('a cancelled call is ended at once, and the next one is told what was lost', async () => {
  await prepare();
  const { pid } = await agent.started();
  const worker = await workerOf(pid);
  const abort = new AbortController();
  const isBegun = shared.site.asked('/begun');
  const call = agent.execute(begun('while (true) {}'), { signal: abort.signal });
  isBegun.then(() => abort.abort());
  await assert.rejects(call);
  await until('the worker is ended', () => !isRunning(worker));
  const { text } = await run('page.title()');
  assert.equal(
    text,
    '[The last call was cancelled and its code was stopped. `state` and variables are lost; `page` is kept. Anything the code started in the page may have taken effect.]\nHere',
  );
});

test('a worker that was killed is replaced, in a call and between calls', async () => {
  await prepare();
  const { pid } = await agent.started();
  process.kill(await workerOf(pid), 'SIGKILL');
  const { text } = await run('page.title()');
  assert.match(
    text,
    /^\[The process that runs the code had exited\. `state` and variables are lost.*\]\nHere$/,
  );
  const isBegun = shared.site.asked('/begun');
  const dying = agent.fails(begun('await new Promise(() => {})'), { timeout: 20 });
  await isBegun;
  process.kill(await workerOf(pid), 'SIGKILL');
  assert.match((await dying).text, /exited \(signal: 9 \(SIGKILL\)\)[\s\S]*Call again/);
  await assertReplaced();
});

test('an agent that asks for progress gets it, and is answered other things meanwhile', async () => {
  const messages = [];
  const { client } = await agent.started();
  const isBegun = shared.site.asked('/begun');
  let isDone = false;
  const onprogress = ({ progress, message }) => messages.push([progress, message]);
  const call = run(begun('await new Promise((resolve) => setTimeout(resolve, 2_300))'), {
    onprogress,
  }).then(() => (isDone = true));
  await isBegun;
  assert.equal((await client.listTools()).tools.length, 2);
  assert.equal(isDone, false);
  await call;
  assert.deepEqual(messages.slice(0, 2), [
    [1, 'running for 1 s'],
    [2, 'running for 2 s'],
  ]);
});

test('a server that was killed leaves no worker behind, even one that loops', async () => {
  const doomed = await startAgent({ home: shared.chain.relay.home, port: shared.chain.relay.port });
  await doomed.execute('1');
  const worker = await workerOf(doomed.pid);
  const isBegun = shared.site.asked('/begun');
  const call = doomed.execute(begun('while (true) {}'), { timeout: 50 }).catch(() => {});
  await isBegun;
  process.kill(doomed.pid, 'SIGKILL');
  await until('the worker is ended', () => !isRunning(worker));
  await call;
});

test('an agent that leaves in the middle of a call leaves nothing behind', async () => {
  const leaving = await startAgent({
    home: shared.chain.relay.home,
    port: shared.chain.relay.port,
  });
  await leaving.execute('1');
  const worker = await workerOf(leaving.pid);
  const isBegun = shared.site.asked('/begun');
  leaving.execute(begun('while (true) {}'), { timeout: 50 }).catch(() => {});
  await isBegun;
  await leaving.stop();
  await until('server and worker are ended', () => !isRunning(worker) && !isRunning(leaving.pid));
});
