/** `script()`: a session as a script, which has the same effect when it runs on its own. */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmod, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';

import { runnerFolder, startAgent } from '../harness/agent.mjs';
import { useChain } from '../harness/chain.mjs';
import { ROOT, temporaryFolder, until } from '../harness/processes.mjs';

const { toScript } = await import(path.join(await runnerFolder(), 'script.mjs'));

const PASSWORD = 'correct horse battery';
const ORDER = `<title>Order</title><form action="/sent">
  <label>Name <input name="name"></label><label>Password <input name="password" type="password"></label>
  <button type="button" onclick="this.form.note.value = confirm('Sure?') ? 'yes' : 'no'; this.remove()">Check</button>
  <input name="note" type="hidden"><button>Send</button></form><button onclick="">More</button>
  <button onclick="document.forms[0].name.value += ' and more'">More</button>
  <iframe srcdoc="<button onclick='parent.document.forms[0].name.value += &quot; from a frame&quot;'>Sign</button>"></iframe>`;

const received = [];
const shared = useChain({
  pages: {
    '/': ORDER,
    '/sent': (request, response) => {
      received.push(Object.fromEntries(new URL(request.url, 'http://x').searchParams));
      response.setHeader('content-type', 'text/html').end('<title>Sent</title>');
    },
    '/files': `<title>Files</title><a download="report.txt" href="/report.txt">Report</a><input type="file">
      <p>Total: 3</p>`,
    '/report.txt': (request, response) => {
      received.push({ report: request.headers.accept !== undefined });
      response.setHeader('content-type', 'text/plain').end('all is well');
    },
    '/data': (request, response) => {
      received.push({ asked: request.method });
      response.setHeader('content-type', 'application/json').end('{"total":3}');
    },
  },
});

const refOf = (text, name) => new RegExp(`"${name}".*?\\[ref=(\\w+)\\]`).exec(text)[1];

/** Runs a script with the packages of these tests, and without the agent. */
async function runScript(script, env) {
  const folder = await temporaryFolder('script');
  try {
    await symlink(path.join(ROOT, 'tests/node_modules'), path.join(folder.path, 'node_modules'));
    const file = path.join(folder.path, 'script.mjs');
    await writeFile(file, script);
    const { stdout } = await promisify(execFile)('node', [file], {
      cwd: folder.path,
      env: { ...process.env, TABWIRE_HOME: shared.chain.relay.home.path, ...env },
      timeout: 30_000,
    });
    return stdout;
  } finally {
    await folder.remove();
  }
}

test('a session runs again as a script, with the secret from the environment', async () => {
  const { home, port } = shared.chain.relay;
  const secrets = path.join(home.path, 'script-secrets');
  await writeFile(secrets, `PASSWORD=${PASSWORD}\n`);
  await chmod(secrets, 0o600);
  const agent = await startAgent({ home, port, args: ['--secrets', secrets, '--idle', '0.2'] });
  const run = async (code) => {
    const { text, isError } = await agent.execute(code);
    assert.ok(!isError, text);
    return text;
  };
  const tabs = async () => JSON.parse(await run('pages().map((tab) => tab.url())'));
  try {
    const before = await tabs();
    const snapshot = await run(`await page.goto('${shared.site.url('/')}'); snapshot()`);
    await run(`who = 'Ada'; state.field = 'Name'`);
    await run(
      `const field = page.getByLabel(state.field); await field.fill(who); if (who) return field.inputValue()`,
    );
    await agent.execute(`await page.locator('#missing').click({ timeout: 100 })`);
    await run(`page.locator('aria-ref=${refOf(snapshot, 'Password')}').fill(secret('PASSWORD'))`);
    const [, second] = [...snapshot.matchAll(/"More".*?\[ref=(\w+)\]/g)].map(([, ref]) => ref);
    await run(`await page.locator('aria-ref=${second}').click()`);
    await run(
      `dialogs.next = 'accept'; await page.locator('aria-ref=${refOf(snapshot, 'Check')}').click()`,
    );
    await run(`await page.click('aria-ref=${refOf(snapshot, 'Sign')}'); await screenshot()`);
    await run(
      `await page.getByRole('button', { name: 'Send' }).click(); await page.waitForURL('**/sent*'); page.title()`,
    );
    const script = await run('script()');
    assert.equal(received.length, 1);
    assert.ok(!script.includes(PASSWORD) && !script.includes('aria-ref'), script);
    assert.ok(script.includes('process.env.PASSWORD') && script.includes('connectOverCDP'), script);
    assert.ok(
      script.includes(`page.getByRole('textbox', { name: 'Password', exact: true }).fill(`),
      script,
    );
    assert.match(script, /1 call that failed/);
    assert.ok(!script.includes('#missing') && !script.includes('screenshot'), script);
    const token = new URL(shared.chain.relay.cdpUrl).searchParams.get('token');
    assert.ok(!script.includes(token), 'the token is not in it');
    await agent.execute('await page.close()');
    const slot = async () => (await fetch(`http://127.0.0.1:${port}/client-slot`)).json();
    await until('the browser is released', async () => !(await slot()).busy);
    assert.match(await runScript(script, { PASSWORD }), /^Sent$/m);
    assert.equal(received.length, 2);
    assert.deepEqual(received[1], received[0]);
    assert.deepEqual(received[0], {
      name: 'Ada and more from a frame',
      password: PASSWORD,
      note: 'yes',
    });
    assert.deepEqual(await tabs(), before, 'the script leaves no tab behind');
  } finally {
    await agent.stop();
  }
});

test('functions of the scope have counterparts in a script', async () => {
  const { home, port } = shared.chain.relay;
  const agent = await startAgent({ home, port, args: ['--idle', '0.2'] });
  const codes = [
    `await page.goto('${shared.site.url('/files')}'); await networkIdle()`,
    `const { name } = await download(page.getByText('Report')); console.log('got', name)`,
    `const { body } = await fetch('/data', { body: { a: 1 } }); console.log('total', body.total)`,
    `await upload('input', { name: 'a.txt', content: 'x' }); console.log('chosen', await page.inputValue('input'))`,
    `const [found] = await find('Total'); console.log('says', await found.locator.innerText())`,
    `await markdown()`,
  ];
  const EXPECTED = /got report\.txt\n[^]*total 3\nchosen .*a\.txt\nsays Total: 3/;
  try {
    const shown = [];
    for (const code of codes) {
      const { text, isError } = await agent.execute(code);
      assert.ok(!isError, text);
      shown.push(text);
    }
    assert.match(shown.join('\n'), EXPECTED);
    const { text: script } = await agent.execute('script()');
    assert.ok(!script.includes('markdown'), script);
    await agent.execute('await page.close()');
    const slot = async () => (await fetch(`http://127.0.0.1:${port}/client-slot`)).json();
    await until('the browser is released', async () => !(await slot()).busy);
    received.length = 0;
    assert.match(await runScript(script, {}), EXPECTED);
    assert.ok(
      received.some(({ asked }) => asked === 'POST'),
      JSON.stringify(received),
    );
  } finally {
    await agent.stop();
  }
});

const NAMES = [
  'page',
  'context',
  'browser',
  'console',
  'pages',
  'keep',
  'state',
  'secret',
  'logs',
  'snapshot',
];
const written = (codes, session = {}) => {
  const calls = codes.map((code) => ({ code, refs: new Map() }));
  const transcript = { calls, forgotten: 0, failed: 0 };
  return toScript(transcript, { names: NAMES, browser: null, ...session });
};

test('a script contains what it uses and nothing else', async () => {
  const plain = await written([`page = pages()[0]; await page.reload()`, 'snapshot()']);
  assert.ok(plain.includes('let page;') && !plain.includes('newPage'), plain);
  assert.ok(plain.includes('const pages =') && !plain.includes('const state'), plain);
  assert.ok(!plain.includes('snapshot') && !plain.includes('ownPage'), plain);
  const kept = await written([`await page.goto('about:blank'); keep()`]);
  assert.ok(kept.includes('if (!kept.has(ownPage)) await ownPage.close();'), kept);
  const other = await written([`const found = logs(); console.log(found)`]);
  assert.match(other, /logs exists only in Tabwire/);
  const named = await written(['1'], { browser: 'my browser' });
  assert.ok(named.includes('connectOverCDP(`${url}&browser=my%20browser`)'), named);
});

test('each call keeps its own variables and its value', async () => {
  const script = await written([
    'const a = 1; a',
    'const a = 2; ({ a })',
    '{ b: 3 }',
    'counter = 1; counter++',
    'secret(name)',
    `state['page'] = await page.title()`,
    `page.goto('about:blank')`,
  ]);
  for (const part of [
    '{\nconst a = 1; print(await a);\n}',
    '{\nconst a = 2; print(await (({ a })));\n}',
    'print(await (({ b: 3 }',
    'let counter;',
    'counter = 1; counter++',
    'print(await secret(name));',
    `\nawait page.goto('about:blank')`,
    'throw new Error(`Set the variable ${name}.`)',
  ]) {
    assert.ok(script.includes(part), `${part}\n${script}`);
  }
});
