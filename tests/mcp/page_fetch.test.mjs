/** `fetch()` from the page with its cookies, and `networkIdle()`. */

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';

import { useAgent } from '../harness/agent.mjs';
import { useChain } from '../harness/chain.mjs';

const PICTURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 1, 2, 255]);

/** Echoes what it received. */
function echo(request, response) {
  let body = '';
  request.on('data', (data) => (body += data));
  request.on('end', () => {
    const { cookie, 'content-type': type, 'x-own': own } = request.headers;
    response.setHeader('content-type', 'application/json').setHeader('x-answer', '42');
    response.end(JSON.stringify({ method: request.method, cookie, type, own, body }));
  });
}

let pending = [];
const PAGE = `<title>Fetching</title><button onclick="fetch('/hang?1').then(() => fetch('/hang?2')).then(() => (document.title = 'loaded'))">Load</button>
  <button id="stream" onclick="new EventSource('/stream')">Stream</button>`;

const shared = useChain({
  pages: {
    '/': PAGE,
    '/login': (_request, response) =>
      response.setHeader('set-cookie', 'session=abc; HttpOnly').end('<title>In</title>'),
    '/echo': echo,
    '/text': (_request, response) => response.setHeader('content-type', 'text/plain').end('plain'),
    '/big': (_request, response) =>
      response.setHeader('content-type', 'text/plain').end('x'.repeat(100_000)),
    '/my%20picture.png': (_request, response) =>
      response.setHeader('content-type', 'image/png').end(PICTURE),
    '/100%.txt': (_request, response) => response.end('full'),
    '/never': () => {},
    '/hang': (_request, response) => pending.push(response),
    '/stream': (_request, response) =>
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: 1\n\n'),
    '/strict': (_request, response) =>
      response
        .setHeader('content-type', 'text/html')
        .setHeader('content-security-policy', "default-src 'none'")
        .end('<title>Strict</title>'),
  },
});
const { run, fails } = useAgent(shared);
const open = (path = '/') => run(`await page.goto('${shared.site.url(path)}')`);
const value = async (code) => JSON.parse((await run(code)).text);

test('fetch sends a request from the page, with its cookies', async () => {
  await open('/login');
  assert.deepEqual(await value(`fetch('/echo')`), {
    status: 200,
    type: 'application/json',
    body: { method: 'GET', cookie: 'session=abc', body: '' },
  });
  const { body } = await value(`fetch('/echo', { body: { a: 1 }, headers: { 'X-Own': 'yes' } })`);
  assert.deepEqual(body, {
    method: 'POST',
    cookie: 'session=abc',
    type: 'application/json',
    own: 'yes',
    body: '{"a":1}',
  });
  const form = await value(`fetch('/echo', { body: new URLSearchParams({ a: '1 2' }) })`);
  assert.deepEqual(
    [form.body.type, form.body.body],
    ['application/x-www-form-urlencoded', 'a=1+2'],
  );
  const put = await value(`fetch('/echo', { method: 'PUT', body: 'raw' })`);
  assert.deepEqual([put.body.method, put.body.body], ['PUT', 'raw']);
});

test('the response works like that of the web, and prints little', async () => {
  await open();
  assert.equal(
    (await run(`fetch('/text')`)).text,
    '{"status":200,"type":"text/plain","body":"plain"}',
  );
  assert.equal(
    (
      await run(
        `const r = await fetch('/echo'); [r.ok, r.status, r.headers.get('x-answer'), (await r.json()).method, (await r.text()).length > 10, r.url]`,
      )
    ).text,
    JSON.stringify([true, 200, '42', 'GET', true, shared.site.url('/echo')]),
  );
  const missing = await value(`fetch('/missing')`).catch(() => undefined);
  assert.equal(missing, undefined, 'the failed request is reported too');
  assert.match(
    (await run(`(await fetch('/missing')).ok`)).text,
    /^false\n\[Failed request: GET .* 404\]$/,
  );
});

test('a long body is cut, and a binary one is saved on request', async () => {
  await open();
  const cut = await value(`fetch('/big', { max: 1000 })`);
  assert.deepEqual(
    [cut.body.length, cut.note],
    [1_000, 'cut at 1000 bytes; max sets another limit'],
  );
  const binary = await value(`fetch('/my%20picture.png')`);
  assert.deepEqual(binary, {
    status: 200,
    type: 'image/png',
    bytes: 8,
    note: 'binary; { save: true } writes it to a file',
  });
  const saved = await value(`fetch('/my%20picture.png', { save: true })`);
  assert.deepEqual([saved.name, saved.bytes], ['my picture.png', 8]);
  assert.deepEqual(await readFile(saved.path), PICTURE);
  const oddly = await value(`fetch('/100%.txt', { save: true })`);
  assert.equal(oddly.name, '100%.txt', 'an address that is not encoded as it should be');
  const named = await value(`fetch('/text', { save: '../other.txt' })`);
  assert.equal(named.name, 'other.txt');
});

test('fetch says why it failed, and what to do', async () => {
  await open('/strict');
  const strict = await fails(`await fetch('/text')`);
  assert.match(
    strict.text,
    /\/strict cannot load \/text \(Failed to fetch\): .*context\.request\.fetch\(url\)/,
  );
  await open();
  const other = shared.site.url('/text', 'localhost');
  assert.match(
    (await fails(`await fetch('${other}')`)).text,
    /another site that does not allow it/,
  );
  assert.equal((await run(`(await context.request.fetch('${other}')).text()`)).text, 'plain');
  assert.match(
    (await fails(`await fetch('/never', { timeout: 200 })`)).text,
    /\/never did not respond in time/,
  );
  assert.match((await fails(`await fetch('/text', { retries: 1 })`)).text, /no option 'retries'/);
});

test('networkIdle waits for what the page loads, and names what is still loading', async () => {
  await open();
  pending = [];
  const first = shared.site.nextRequest('/hang');
  await run(`await page.getByText('Load').click()`);
  await first;
  assert.deepEqual(await value('networkIdle({ timeout: 300 })'), [
    `GET ${shared.site.url('/hang?1')}`,
  ]);
  const second = shared.site.nextRequest('/hang');
  const waiting = run('const rest = await networkIdle(); [rest.length, await page.title()]');
  pending[0].end();
  await second;
  pending[1].end();
  assert.equal((await waiting).text, '[0,"loaded"]');
});

test('networkIdle does not wait for streams, nor for requests of an earlier document', async () => {
  await open();
  pending = [];
  await run(`await page.locator('#stream').click(); await page.getByText('Load').click()`);
  await open('/text');
  assert.equal((await run('networkIdle({ timeout: 3000 })')).text, '[]');
  await open();
  await run(`await page.locator('#stream').click()`);
  assert.equal((await run('networkIdle({ timeout: 3000 })')).text, '[]');
  assert.match((await fails('await networkIdle({ quiet: 1 })')).text, /no option 'quiet'/);
});
