/** `tabwire exec`, `tabs`, `snapshot` and `screenshot` in a shell. */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';

import { prepareRunner } from '../harness/agent.mjs';
import { inExtension, openTabs, useChain } from '../harness/chain.mjs';
import { TABWIRE, temporaryFolder } from '../harness/processes.mjs';

const shared = useChain({
  pages: {
    '/one': '<title>One</title><button>Press</button>',
    '/two': '<title>Two</title>',
    '/tall':
      '<title>Tall</title><body style="margin: 0"><button>Top</button><div style="height: 12000px">',
  },
});

/** Runs a command in the home of the chain, with `input` on stdin. */
async function tabwire(
  args,
  { input = '', interruptAt = undefined, home = shared.chain.relay.home } = {},
) {
  await prepareRunner(home);
  const child = spawn(TABWIRE, args, { env: { ...process.env, TABWIRE_HOME: home.path } });
  const printed = { stdout: '', stderr: '' };
  child.stdout.on('data', (data) => (printed.stdout += data));
  child.stderr.on('data', (data) => (printed.stderr += data));
  child.stdin.on('error', () => {}); // A command that rejects its arguments may exit first.
  child.stdin.end(input);
  interruptAt?.then(() => child.kill('SIGINT'));
  const [code] = await once(child, 'close');
  return { code, ...printed };
}

/** What only an agent can do, or what only an agent has. */
const FOR_AGENTS = /call again|ask the user|`state`/i;

const openUrls = () =>
  inExtension(shared.chain, async () => (await chrome.tabs.query({})).map((tab) => tab.url).sort());

test('runs code from the command line, a file or stdin, and prints its value', async () => {
  const folder = await temporaryFolder('shell');
  await writeFile(path.join(folder.path, 'code.js'), 'console.log("from a file");\nreturn 1 + 1;');
  assert.deepEqual(await tabwire(['exec', '-e', '6 * 7']), { code: 0, stdout: '42\n', stderr: '' });
  assert.equal(
    (await tabwire(['exec', path.join(folder.path, 'code.js')])).stdout,
    'from a file\n2\n',
  );
  assert.equal((await tabwire(['exec', '-'], { input: '"from stdin"' })).stdout, 'from stdin\n');
  await folder.remove();
});

test('closes the tabs that it opened', async () => {
  const before = await openUrls();
  assert.equal(
    (await tabwire(['exec', '-e', `await page.goto('${shared.site.url('/one')}'); page.title()`]))
      .stdout,
    'One\n',
  );
  assert.deepEqual(await openUrls(), before);
  await tabwire(['exec', '--timeout', '1', '-e', 'await page.title(); for (;;) {}']);
  assert.deepEqual(await openUrls(), before, 'even if the code was stopped');
  const code = `await page.goto('${shared.site.url('/two')}'); await new Promise(() => {})`;
  assert.equal(
    (await tabwire(['exec', '-e', code], { interruptAt: shared.site.nextRequest('/two') })).code,
    4,
  );
  assert.deepEqual(await openUrls(), before, 'or interrupted');
});

test('prints the whole output, and fails if even a shell cannot have all of it', async () => {
  for (const length of [300_000, 30_000_000]) {
    assert.equal(
      (await tabwire(['exec', '-e', `"x".repeat(${length})`])).stdout.length,
      length + 1,
    );
  }
  const { code, stdout, stderr } = await tabwire(['exec', '-e', '"x".repeat(70_000_000)']);
  assert.equal(code, 1);
  assert.ok(stdout.startsWith('x'.repeat(64 << 20)));
  assert.match(
    stderr,
    /^Error: RangeError: The output is longer than 67108864 characters; the rest was discarded\.\nNext: /,
  );
});

test(
  'text of a page cannot control the terminal, and programs get it as it is',
  { skip: process.platform !== 'linux' },
  async () => {
    const code = [
      'await page.setContent("<title>T \\u009b2J</title><p>\\u202e</p>")',
      'console.log(await page.title(), await page.textContent("p"))',
      'console.log("\\x1b]0;E\\x07")',
    ].join('; ');
    const piped = await tabwire(['exec', '-e', code]);
    assert.equal(piped.stdout, 'T \u009b2J \u202e\n\x1b]0;E\x07\n');

    const onTerminal = async (...args) => {
      const command = [TABWIRE, ...args].map((word) => `'${word}'`).join(' ');
      const env = { ...process.env, TABWIRE_HOME: shared.chain.relay.home.path };
      const terminal = spawn('script', ['-qec', command, '/dev/null'], { env, stdio: 'pipe' });
      let shown = '';
      terminal.stdout.setEncoding('utf8').on('data', (data) => (shown += data));
      await once(terminal, 'close');
      return shown.replaceAll('\r\n', '\n');
    };
    const shown = await onTerminal('exec', '-e', code);
    assert.ok(shown.includes('T \\u009b2J \\u202e\n'), JSON.stringify(shown));
    assert.ok(shown.includes('\\u001b]0;E\\u0007'), JSON.stringify(shown));
    assert.doesNotMatch(shown, /[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]/);
    const json = await onTerminal('exec', '--json', '-e', '"\\u009b \\u202e"');
    assert.ok(json.includes('\\u009b \\u202e'), JSON.stringify(json));
    assert.equal(JSON.parse(json).text, '\u009b \u202e\n'.trimEnd());
  },
);

test('exits with different codes for errors in the code, in the set-up, and timeouts', async () => {
  const thrown = await tabwire(['exec', '-e', 'throw new Error("mine")']);
  assert.equal(thrown.code, 1);
  assert.match(thrown.stderr, /Error: mine/);
  assert.equal((await tabwire(['exec', '-e', 'const = 1'])).code, 1);
  assert.equal((await tabwire(['exec', '--tab', 'no such tab', '-e', '1'])).code, 3);
  assert.equal((await tabwire(['exec', '--timeout', '0.3', '-e', 'for (;;) {}'])).code, 4);
  assert.equal((await tabwire(['exec', '--timeout', 'soon'])).code, 2);
});

test('suggests next steps for a shell user, not for an agent', async () => {
  for (const [code, next] of [
    ['throw new Error("mine")', /Fix the code and try again\. What it did before/],
    ['const = 1', /Nothing was run\. Fix the code and try again\./],
    ['nothing', /In scope: page, .* Nothing is kept from earlier runs\./],
    [
      'await page.click("#nothing", { timeout: 100 })',
      /Timed out\. Print `await snapshot\(\)` before this step/,
    ],
    [
      'await page.locator("aria-ref=e1").click({ timeout: 100 })',
      /Refs are valid only after `snapshot\(\)` in the same run\./,
    ],
    [
      'const closed = page; await closed.close(); await closed.title()',
      /The tab was closed\. Use an open tab/,
    ],
  ]) {
    const { stderr } = await tabwire(['exec', '-e', code]);
    const [, printed] = /\nNext: (.*)\n$/.exec(stderr) ?? assert.fail(stderr);
    assert.match(printed, next);
    assert.doesNotMatch(printed, FOR_AGENTS);
  }
});

test('--json prints one object, and images are written to files', async () => {
  const folder = await temporaryFolder('shell');
  const { stdout } = await tabwire([
    'exec',
    '--json',
    '--images',
    folder.path,
    '-e',
    'await page.setContent("<p>x"); await screenshot(); ({ a: 1 })',
  ]);
  const { ok, text, images, error } = JSON.parse(stdout);
  assert.deepEqual([ok, text, error], [true, '{"a":1}', null]);
  assert.equal((await readFile(images[0])).subarray(1, 4).toString(), 'PNG');
  const failed = JSON.parse((await tabwire(['exec', '--json', '-e', 'nothing'])).stdout);
  assert.equal(failed.ok, false);
  assert.equal(failed.error.kind, 'code');
  await folder.remove();
});

test('--json prints an object even if nothing could be run', async () => {
  const unusable = await temporaryFolder('shell');
  await writeFile(path.join(unusable.path, 'auth-token'), 'no token');
  const nothing = path.join(unusable.path, 'nothing.js');
  const failures = [
    [['exec', '--json', nothing], 2, 'unreadable'],
    [['snapshot', '--json', 'no such tab'], 3, 'no-such-tab'],
    [['screenshot', '--json', 'no such tab'], 3, 'no-such-tab'],
    [['tabs', '--json'], 3, 'home', unusable],
    [['exec', '--json', '-e', '1'], 3, 'home', unusable],
    [['tabs', '--json', '--port', '9'], 3, 'relay-elsewhere'],
  ];
  for (const [args, expected, kind, home] of failures) {
    const { code, stdout } = await tabwire(args, { home });
    const { ok, error } = JSON.parse(stdout);
    assert.deepEqual([code, ok, error.kind], [expected, false, kind], args.join(' '));
    assert.ok(error.message && error.next);
  }
  const { code, stdout, stderr } = await tabwire(['exec', nothing]);
  assert.deepEqual([code, stdout], [2, '']);
  assert.match(
    stderr,
    /^Error: Cannot read \S+nothing\.js: No such file.*\nNext: Pass a file with the code/,
  );
  await unusable.remove();
});

test('prints the value even if an image cannot be written', async () => {
  const code = 'await page.setContent("<p>x"); await screenshot(); "the value"';
  const {
    stdout,
    stderr,
    code: status,
  } = await tabwire(['exec', '--images', '/nowhere/at/all', '-e', code]);
  assert.deepEqual([status, stdout], [5, 'the value\n']);
  assert.match(
    stderr,
    /^Error: Cannot write an image to \/nowhere\/at\/all: No such file.*\nNext: /,
  );
  const result = JSON.parse(
    (await tabwire(['exec', '--json', '--images', '/nowhere/at/all', '-e', code])).stdout,
  );
  assert.deepEqual(
    [result.ok, result.text, result.images, result.error.kind],
    [false, 'the value', [], 'unwritable'],
  );
});

test('exits quietly when its output is no longer read', async () => {
  const { home } = shared.chain.relay;
  await prepareRunner(home);
  for (const args of [['tabs'], ['exec', '-e', '"line\\n".repeat(100_000)']]) {
    // The pipe is closed before the command writes to it.
    const child = spawn(TABWIRE, args, { env: { ...process.env, TABWIRE_HOME: home.path } });
    child.stdout.destroy();
    let printed = '';
    child.stderr.on('data', (data) => (printed += data));
    const [code] = await once(child, 'close');
    assert.deepEqual([code, printed], [0, ''], args[0]);
  }
});

test('saves screenshots of the whole page in the format of the file name', async () => {
  await openTabs(shared.chain, [shared.site.url('/tall')]);
  const folder = await temporaryFolder('shell');
  const take = async (name, ...more) => {
    const file = path.join(folder.path, name);
    assert.deepEqual(await tabwire(['screenshot', '/tall', '--full-page', ...more, '-o', file]), {
      code: 0,
      stdout: `${file}\n`,
      stderr: '',
    });
    return readFile(file);
  };
  const png = await take('shot.png');
  assert.equal(png.subarray(1, 4).toString(), 'PNG');
  assert.ok(png.readUInt32BE(20) >= 12_000, `${png.readUInt32BE(20)} pixels tall`);
  for (const options of [[], ['--labels']]) {
    assert.equal((await take('shot.jpg', ...options)).readUInt16BE(0), 0xffd8);
  }
  assert.equal(
    (await tabwire(['screenshot', '/tall', '-o', path.join(folder.path, 'shot.webp')])).code,
    2,
  );
  await folder.remove();
});

test('tabs, snapshot and screenshot find a tab by index or part of its URL', async () => {
  await openTabs(shared.chain, [shared.site.url('/one'), shared.site.url('/two')]);
  const folder = await temporaryFolder('shell');
  const listed = await tabwire(['tabs']);
  const [, index] =
    /\[(\d+)\] One \| http\S+\/one/.exec(listed.stdout) ?? assert.fail(JSON.stringify(listed));
  const tabs = JSON.parse((await tabwire(['tabs', '--json'])).stdout);
  assert.equal(tabs[index].title, 'One');
  assert.match((await tabwire(['snapshot', index])).stdout, /\nbutton "Press" \[ref=e\d+\]/);
  assert.match((await tabwire(['snapshot'])).stderr, /There are \d tabs:[\s\S]*Next: Name one tab/);
  const file = path.join(folder.path, 'shot.png');
  const taken = await tabwire(['screenshot', '/two', '--labels', '--full-page', '-o', file]);
  assert.deepEqual([taken.code, taken.stdout], [0, `${file}\n`]);
  assert.equal((await readFile(file)).subarray(1, 4).toString(), 'PNG');
  await folder.remove();
});
