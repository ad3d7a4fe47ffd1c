/** Secrets: the page gets them, and the agent never does. */

import assert from 'node:assert/strict';
import { chmod, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';

import { startAgent } from '../harness/agent.mjs';
import { useChain } from '../harness/chain.mjs';

const PASSWORD = 'correct "horse" & battery';
const PIN = '97351';
const LOGIN = `<title>Log in</title><form action="/welcome">
  <input id="user" name="user"><input id="password" name="password"><button>Log in</button></form>`;

const received = [];
const echo = (request, response) => {
  const parts = [];
  request.on('data', (part) => parts.push(part));
  request.on('end', () => {
    const body = Buffer.concat(parts).toString();
    received.push([request.headers.authorization, body]);
    response.setHeader('content-type', 'text/plain').end(`received ${body}`);
  });
};
const shared = useChain({
  pages: {
    '/': LOGIN,
    '/echo': echo,
    '/welcome': (request, response) => {
      received.push(new URL(request.url, 'http://x').searchParams.get('password'));
      response.setHeader('content-type', 'text/html').end('<title>Welcome</title>');
    },
  },
});

async function withAgent(options, use) {
  const agent = await startAgent({
    home: shared.chain.relay.home,
    port: shared.chain.relay.port,
    ...options,
  });
  try {
    await use(agent);
  } finally {
    await agent.stop();
  }
}

async function secretsFile(content, mode = 0o600) {
  const file = path.join(shared.chain.relay.home.path, 'agent-secrets');
  await writeFile(file, content);
  await chmod(file, mode);
  return file;
}

test('a secret is typed into the page and masked everywhere else', async () => {
  const file = await secretsFile(`# for the test\nPASSWORD=${PASSWORD}\n`);
  const options = { args: ['--secrets', file], env: { TABWIRE_SECRET_PIN: PIN } };
  await withAgent(options, async (agent) => {
    const run = (code) => agent.execute(code);
    await run(`await page.goto('${shared.site.url('/')}')`);
    for (const code of [
      `await page.locator('#password').fill(secret('PASSWORD')); page.inputValue('#password')`,
      'snapshot()',
      `throw new Error(await page.inputValue('#password'))`,
      `console.log({ it: await page.inputValue('#password') }); [await page.inputValue('#password')]`,
      `await page.locator('#missing').fill(secret('PASSWORD'), { timeout: 100 })`,
      `'x'.repeat(19_990) + await page.inputValue('#password')`,
      `await page.evaluate(() => confirm('y'.repeat(90) + document.querySelector('#password').value))`,
      `await page.evaluate(() => console.error('z'.repeat(112) + document.querySelector('#password').value))`,
      `dialogs.next = secret('PASSWORD'); page.evaluate(() => prompt('which?'))`,
    ]) {
      const { text } = await run(code);
      assert.ok(!/correct|horse|battery/.test(text), text);
      assert.match(text, /<secret|Timeout 100ms/, code);
    }
    const { text: typed } = await run(
      `await page.locator('#user').click(); await page.keyboard.insertText(secret('PIN')); page.locator('#user').evaluate((input) => input.value === '97' + '351')`,
    );
    assert.equal(typed, 'true');
    const { text } = await run(
      `await page.locator('button').click(); await page.waitForURL('**/welcome*'); page.url()`,
    );
    assert.deepEqual(received, [PASSWORD]);
    received.length = 0;
    assert.ok(!/correct|horse|battery/.test(text), text);
    await run('await page.close()');
  });
});

test('a secret can be sent in the headers and the body of a request, as its format wants it', async () => {
  const file = await secretsFile(`PASSWORD=${PASSWORD}\nPIN=${PIN}\n`);
  const json = JSON.stringify({ password: PASSWORD });
  const form = new URLSearchParams({ password: PASSWORD }).toString();
  const decoded = (text) => Object.fromEntries(new URLSearchParams(text));
  const url = shared.site.url('/echo');
  await withAgent({ args: ['--secrets', file] }, async (agent) => {
    await agent.execute(`await page.goto('${shared.site.url('/')}')`);
    for (const [code, body, authorization] of [
      [`fetch('/echo', { body: { password: secret('PASSWORD') } })`, json],
      [`fetch('/echo', { body: JSON.stringify({ password: secret('PASSWORD') }) })`, json],
      [`fetch('/echo', { body: new URLSearchParams({ password: secret('PASSWORD') }) })`, form],
      [
        `fetch('/echo', { body: 'x', headers: { Authorization: 'Bearer ' + secret('PIN') } })`,
        'x',
        `Bearer ${PIN}`,
      ],
      [`context.request.post('${url}', { data: { password: secret('PASSWORD') } })`, json],
      [`context.request.post('${url}', { form: { password: secret('PASSWORD') } })`, form],
      [`context.request.post('${url}', { data: 'it is ' + secret('PIN') })`, `it is ${PIN}`],
      [
        `context.request.post('${url}', { data: 'x', headers: { Authorization: secret('PIN') } })`,
        'x',
        PIN,
      ],
    ]) {
      received.length = 0;
      const { text, isError } = await agent.execute(`await (await ${code}).text()`);
      assert.ok(!isError, text);
      assert.ok(!/horse|97351/.test(text), text);
      const [[header, sent]] = received;
      assert.equal(header, authorization, code);
      assert.deepEqual(body === form ? decoded(sent) : sent, body === form ? decoded(form) : body);
    }
    received.length = 0;
    await agent.execute('await page.close()');
  });
});

test('a secret anywhere else is refused, and its placeholder is not sent', async () => {
  const file = await secretsFile(`PASSWORD=${PASSWORD}\n`);
  const url = shared.site.url('/echo');
  await withAgent({ args: ['--secrets', file] }, async (agent) => {
    await agent.execute(`await page.goto('${shared.site.url('/')}')`);
    received.length = 0;
    for (const code of [
      `page.goto('${url}?p=' + secret('PASSWORD'))`,
      `page.goto('${url}?p=' + encodeURIComponent(secret('PASSWORD')))`,
      `fetch('/echo?p=' + secret('PASSWORD'))`,
      `context.request.get('${url}', { params: { p: secret('PASSWORD') } })`,
      `context.request.get('${url}', { headers: { Authorization: 'Basic ' + btoa('u:' + secret('PASSWORD')) } })`,
      `page.evaluate((text) => { document.title = text }, { text: [secret('PASSWORD')] })`,
      `page.setContent('<p>' + secret('PASSWORD'))`,
      `page.getByText(secret('PASSWORD')).click()`,
    ]) {
      const { text, isError } = await agent.execute(`await ${code}`);
      assert.ok(isError, `${code}: ${text}`);
      assert.match(
        text,
        /secret\('(PASSWORD|…)'\) can be typed .* or sent in the headers or the body/,
      );
    }
    assert.deepEqual(received, []);
    const { text: title } = await agent.execute('page.title()');
    assert.equal(title, 'Log in');
    await agent.execute('await page.close()');
  });
});

test('a secret that is a part of another, or a word of the protocol, leaks and breaks nothing', async () => {
  const file = await secretsFile(
    'A=pass\nB=password123\nC=output\nD=text\nE=secret\nF=event\nG=code\nH=page\n',
  );
  await withAgent({ args: ['--secrets', file] }, async (agent) => {
    const { text } = await agent.execute(
      `console.log('password123, pass, output'); 'text; password1234; event'`,
    );
    assert.equal(text, '<secret B>, <secret A>, <secret C>\n<secret D>; <secret B>4; <secret F>');
    const failed = await agent.execute(`throw new Error('password123 and secret')`);
    assert.match(failed.text, /<secret B> and <secret E>/);
    await agent.execute(`await page.goto('${shared.site.url('/')}')`);
    const { text: title } = await agent.execute('page.title()');
    assert.equal(title, 'Log in');
    await agent.execute('await page.close()');
  });
});

test('a secret is masked however it is written, and where two of them overlap', async () => {
  const value = `pa/ss+wo&rd "ü" 'x'`;
  const file = await secretsFile(`LONG=${value}\nA=abcdef\nB=defghi\nC=xyxyx\n`);
  const forms = {
    'in Base64': [0, 1, 2].map((before) => btoaUtf8('u'.repeat(before) + value + 'tail')),
    'in Base64 for addresses': [Buffer.from(`u:${value}`).toString('base64url')],
    'as a header': [`Basic ${btoaUtf8(`user:${value}`)}`],
    'in Base64 in an address': [encodeURIComponent(btoaUtf8(value))],
    'in an address': [
      encodeURIComponent(value),
      encodeURIComponent(value).toLowerCase(),
      encodeURI(value),
    ],
    'in an address, with everything escaped': [
      [...Buffer.from(value)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join(''),
    ],
    'in an address twice': [encodeURIComponent(encodeURIComponent(value))],
    'in a form': [new URLSearchParams({ value }).toString()],
    'in JSON': [JSON.stringify({ value }), JSON.stringify(JSON.stringify({ value }))],
    'in HTML': [value.replaceAll('&', '&amp;').replaceAll('"', '&#34;').replaceAll("'", '&#x27;')],
  };
  await withAgent({ args: ['--secrets', file] }, async (agent) => {
    for (const [how, texts] of Object.entries(forms)) {
      for (const text of texts) {
        // The code has the text reversed: otherwise an error would repeat it.
        const reversed = JSON.stringify([...text].reverse().join(''));
        const { text: shown } = await agent.execute(`[...${reversed}].reverse().join('')`);
        assert.match(shown, /<secret LONG>/, `${how}: ${shown}`);
        assert.ok(!/pa.?.?.?ss|wo&|rd|cGEvc3|Ev|NzK/.test(shown), `${how}: ${shown}`);
      }
    }
    const { text } = await agent.execute(`'1abcdefghi2 abcdefabcdef xyxyxyx defghiabcdef'`);
    assert.equal(
      text,
      '1<secret A><secret B>2 <secret A><secret A> <secret C> <secret B><secret A>',
    );
  });
});

test('a secret is masked where a page divides it, changes its letters, or is read in parts', async () => {
  const value = 'Tr0ub4dor&3';
  const file = await secretsFile(`PASSWORD=${value}\n`);
  const shown = `Your key: <b>Tr0ub</b>4dor&amp;3, <i>Tr0u&shy;b4</i>dor&#8203;&amp;3, <span style="text-transform:uppercase">Tr0ub4dor&amp;3</span>`;
  const long = `${'x'.repeat(170)} Tr0ub4dor&amp;3 ${'y'.repeat(200)}`;
  await withAgent({ args: ['--secrets', file] }, async (agent) => {
    const shows = async (code, expected) => {
      const { text } = await agent.execute(code);
      assert.ok(!/tr0|b4|dor|r&3/i.test(text), `${code}: ${text}`);
      assert.match(text, expected, code);
    };
    const set = (html) => `await page.setContent(${JSON.stringify(html)})`;
    // The code must not have the secret, as its errors would.
    await agent.execute(set(`<p>${shown}</p>`));
    await shows('markdown()', /\*\*<secret PASSWORD>, \*<secret PASSWORD>, <secret PASSWORD>/);
    await shows(`page.innerText('p')`, /<secret PASSWORD>, <secret PASSWORD>, <secret PASSWORD>/);
    await agent.execute(set(`<main><button>${long}</button></main>`));
    await shows('find(/y/)', /…/);
    for (const length of [175, 178, 181]) {
      await shows(`markdown('main', { max: ${length} })`, /\[Characters 0 to \d+ of \d+/);
      await shows(`markdown('main', { offset: ${length} })`, /\[Characters \d+ to \d+ of \d+/);
    }
    await agent.execute('await page.close()');
  });
});

const btoaUtf8 = (text) => Buffer.from(text).toString('base64');

test('the code itself has only a placeholder, which a page cannot guess', async () => {
  const file = await secretsFile('PASSWORD=something long\n');
  await withAgent({ args: ['--secrets', file] }, async (agent) => {
    const { text } = await agent.execute(`secret('PASSWORD')`);
    assert.match(text, /^<secret PASSWORD \w{8}>$/);
    const guessed = await agent.execute(
      `await page.goto('${shared.site.url('/')}'); await page.fill('#user', '<secret PASSWORD>'); page.inputValue('#user')`,
    );
    assert.equal(guessed.text, '<secret PASSWORD>');
    const unknown = await agent.execute(`secret('PIN')`);
    assert.match(unknown.text, /There is no secret 'PIN'\. There are: PASSWORD\./);
    await agent.execute('await page.close()');
  });
});

test('a file that others can read is refused', async () => {
  const file = await secretsFile('PASSWORD=something long\n', 0o644);
  await assert.rejects(withAgent({ args: ['--secrets', file] }, () => {}));
});
