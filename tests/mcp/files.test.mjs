/** Files: downloads and what is said about them, uploads, and PDF. */

import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { readFile, readdir, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, test } from 'node:test';

import { runnerFolder, startAgent, useAgent } from '../harness/agent.mjs';
import { useChain } from '../harness/chain.mjs';
import { temporaryFolder } from '../harness/processes.mjs';

const attachment = (name, content) => (_request, response) =>
  response.setHeader('content-disposition', `attachment; filename="${name}"`).end(content);

/** Sends a part of a file, and the rest when it is told to. */
let finish;
const slow = (_request, response) => {
  response.setHeader('content-type', 'application/octet-stream');
  response.setHeader('content-disposition', 'attachment; filename="slow.bin"');
  response.write('x'.repeat(100_000));
  finish = () => response.end('last');
};

const PAGE = `<title>Files: a/b</title><a id="report" href="/report">Report</a>
  <a id="popup" href="/report" target="_blank">In a new tab</a><a id="slow" href="/slow">Slow</a>
  <a id="text" href="/text">Text</a>
  <a id="long" href="data:text/plain,long" download="${'\u{1f600}'.repeat(100)}.txt">Long</a>
  <label for="input">Pick</label><input type="file" id="input" multiple>
  <button onclick="document.querySelector('#input').click()">Choose</button>`;

const shared = useChain({
  pages: {
    '/': PAGE,
    '/report': attachment('../re:port.csv', 'a,b\n1,2\n'),
    '/slow': slow,
    '/text': 'no download',
  },
});
const { run, fails } = useAgent(shared);
const open = () => run(`await page.goto('${shared.site.url('/')}')`);
const folder = () => path.join(shared.chain.relay.home.path, 'files');

let files;
before(async () => {
  files = await temporaryFolder('upload');
  await writeFile(path.join(files.path, 'a.txt'), 'first');
});
after(() => files.remove());

test('download saves the file that a click or code starts, for the user alone', async () => {
  await open();
  const first = JSON.parse((await run(`download(page.locator('#report'))`)).text);
  assert.deepEqual(first, { path: path.join(folder(), first.name), name: first.name, bytes: 8 });
  assert.match(first.name, /^[^/:]*re.port\.csv$/);
  assert.equal(await readFile(first.path, 'utf8'), 'a,b\n1,2\n');
  assert.equal((await stat(folder())).mode & 0o777, 0o700);
  assert.equal((await stat(first.path)).mode & 0o077, 0);
  const second = JSON.parse(
    (await run(`download(() => page.goto('${shared.site.url('/report')}'))`)).text,
  );
  assert.equal(second.name, first.name.replace('.csv', ' (1).csv'), 'nothing is replaced');
  const [third] = (await run(`download('#popup')`)).text.split('\n');
  assert.match(JSON.parse(third).name, /\(2\)\.csv$/);
});

test('each of several that wait gets a download of its own', async () => {
  const { Downloads } = await import(path.join(await runnerFolder(), 'downloads.mjs'));
  const context = new EventEmitter();
  const saved = { save: async (name) => ({ path: `/files/${name}`, name, bytes: 1 }) };
  const downloads = new Downloads(saved, () => {});
  downloads.watch(context);
  const waiting = [1, 2].map(() => downloads.from(() => {}, 1_000, 1_000));
  for (const name of ['a.txt', 'b.txt']) {
    context.emit('download', { suggestedFilename: () => name });
  }
  const names = (await Promise.all(waiting)).map(({ name }) => name);
  assert.deepEqual(names, ['a.txt', 'b.txt']);
});

test('a name of many bytes is shortened', async () => {
  await open();
  const { name } = JSON.parse((await run(`download('#long')`)).text);
  assert.match(name, /^\u{1f600}+\.txt$/u);
});

test('download says that nothing began, and what was wrong with its arguments', async () => {
  await open();
  const late = await fails(`await download('#text', { timeout: 300 })`);
  assert.match(late.text, /No download began within 0\.3 s/);
  await open();
  assert.match((await fails('await download(5)')).text, /download takes a locator or a selector/);
  assert.match((await fails(`await download('#report', { name: 'x' })`)).text, /has no option/);
  assert.match(
    (await fails(`await download(() => { throw new Error('my own') })`)).text,
    /my own/,
    'an error of the code comes at once',
  );
});

const CLICK = `await Promise.all([page.waitForEvent('download'), page.locator('#report').click()]); 1`;

/** The path in the announcement of a download, which a later call has if the machine is slow. */
async function announcedPath(result) {
  let { text } = result;
  while (!text.includes('Downloaded')) {
    assert.match(text, /^1(\n\[Downloading .*csv\. To wait for it: await download\(\)\])?$/);
    ({ text } = await run('await new Promise((resolve) => setTimeout(resolve, 100)); 1'));
  }
  const [, file] = /^1\n\[Downloaded (\/.*\.csv) \(8 bytes\)\]$/.exec(text) ?? assert.fail(text);
  return file;
}

test('a download is announced with its path when it is complete', async () => {
  await open();
  const file = await announcedPath(await run(CLICK));
  assert.equal(await readFile(file, 'utf8'), 'a,b\n1,2\n');
  assert.equal((await run('1')).text, '1', 'only once');
});

test('downloads are announced after a reconnect, too', async () => {
  await open();
  await run('await browser.close()');
  const file = await announcedPath(await run(CLICK));
  assert.equal(await readFile(file, 'utf8'), 'a,b\n1,2\n');
});

test('a download that is not complete is announced as such, and can be waited for', async () => {
  await open();
  const begun = await run(
    `await Promise.all([page.waitForEvent('download'), page.locator('#slow').click()]); 1`,
  );
  assert.equal(begun.text, '1\n[Downloading slow.bin. To wait for it: await download()]');
  assert.equal((await run('1')).text, '1', 'only once');
  const waited = await fails('await download()', { timeout: 1 });
  assert.match(
    waited.text,
    /The download goes on\. Wait for it with download\(\), in a call with a/,
  );
  finish();
  const saved = JSON.parse((await run('download()')).text.split('\n')[0]);
  assert.deepEqual([saved.name, saved.bytes], ['slow.bin', 100_004]);
});

test('a download that fails is announced, and leaves no file', async () => {
  await open();
  const before = await readdir(folder());
  const { text } = await run(
    `const [download] = await Promise.all([page.waitForEvent('download'), page.locator('#slow').click()]); await download.cancel(); 1`,
  );
  assert.match(text, /^1\n\[The download of slow\.bin failed: .*cancel/);
  assert.deepEqual(await readdir(folder()), before);
});

const CHOSEN = `page.evaluate(async () => Promise.all([...document.querySelector('#input').files].map(async (f) => f.name + ':' + f.type + ':' + await f.text())))`;
const chosen = async (code) => JSON.parse((await run(`${code}; ${CHOSEN}`)).text.split('\n')[0]);

test('upload sets files of an input, its label, or a file chooser', async () => {
  const file = JSON.stringify(path.join(files.path, 'a.txt'));
  for (const target of [`'#input'`, `page.getByText('Pick')`, `page.getByText('Choose')`]) {
    await open();
    assert.deepEqual(await chosen(`await upload(${target}, ${file})`), ['a.txt:text/plain:first']);
  }
  assert.deepEqual(
    await chosen(
      `await upload('#input', [{ name: 'b.csv', content: '1,2', type: 'text/csv' }, { name: 'c.json', content: { a: 1 }, type: 'application/json' }])`,
    ),
    ['b.csv:text/csv:1,2', 'c.json:application/json:{"a":1}'],
  );
  const [name] = await chosen(`await upload('#input', await download('#report'))`);
  assert.match(name, /\.csv:text\/csv:a,b\n1,2\n$/);
});

test('upload says what is wrong with its arguments', async () => {
  await open();
  for (const [code, message] of [
    [`await upload('#input', '/nowhere/x')`, /There is no file \/nowhere\/x\./],
    [`await upload('#input', [])`, /at least one file/],
    [`await upload('#input', { name: 'x' })`, /a path or \{ name, content, type \}, not/],
    [`await upload(5, '/etc/hostname')`, /upload takes a locator or a selector/],
  ]) {
    assert.match((await fails(code)).text, message);
  }
});

test('pdf prints a page to a file', async () => {
  await open();
  const { path: file, name, bytes } = JSON.parse((await run(`pdf({ landscape: true })`)).text);
  assert.equal(name, 'Files a b.pdf');
  const content = await readFile(file, 'latin1');
  assert.equal(content.length, bytes);
  assert.match(content, /^%PDF-/);
  const [, width, height] = /\/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]/.exec(content);
  assert.ok(Number(width) > Number(height), 'landscape');
  assert.match((await fails('await pdf({ path: 1 })')).text, /pdf has no option 'path'/);
  assert.match((await fails(`await pdf('body')`)).text, /pdf prints whole pages/);
});

test('the user can choose the folder', async () => {
  await run('await browser.close()');
  const agent = await startAgent({
    home: shared.chain.relay.home,
    port: shared.chain.relay.port,
    args: ['--files', path.join(files.path, 'new')],
  });
  try {
    const { text } = await agent.execute(
      `await page.goto('${shared.site.url('/')}'); download('#report')`,
    );
    assert.equal(path.dirname(JSON.parse(text).path), path.join(files.path, 'new'));
  } finally {
    await agent.stop();
  }
});
