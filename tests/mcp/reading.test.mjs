/** Reading a page: `markdown()`, `find()`, and `help()`, which names everything that the code can call. */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { useAgent } from '../harness/agent.mjs';
import { useChain } from '../harness/chain.mjs';
import { html } from '../harness/site.mjs';

const ARTICLE = (site) => `<title>On tests</title><header>Example Times</header>
  <nav><ul><li><a href="/sport">Sport</a><li><a href="/arts">Arts</a></ul></nav>
  <main><h1>On <em>tests</em></h1>
  <p>First <b>bold</b>, <a href="/next">a link</a>, <a href="https://example.org/a(b)">another</a>, <code>run()</code>.<br>Second line.</p>
  <ul><li>one<li>two<ul><li>nested</ul></ul><ol start="3"><li>three<li>four</ol>
  <pre><code class="language-js">const a = 1;\n  b();</code></pre>
  <blockquote><p>Quoted<p>Twice</blockquote>
  <table><caption>Prices</caption><tr><th>Name<th>Price<tr><td>A|B<td>5<tr><td colspan="2">both</table>
  <table role="presentation"><tr><td>left<td>right</table>
  <dl><dt>Term<dd>Meaning</dl><img alt="A cat"><img>
  <p hidden>hidden</p><p style="visibility:hidden">invisible</p><span aria-hidden="true">icon</span>
  <details><summary>More</summary>closed</details><script>1</script>
  <a href="/card" style="display:block"><h3>Card</h3><p>Its text</p></a>
  <div style="display:flex"><div>$5</div><div><button>Buy</button></div></div>
  <label><input type="checkbox" checked> Agree</label> <input value="typed"> <input type="password" value="hunter2">
  <select><option>a<option selected>b</select><div id="host"></div>
  <iframe width="200" height="100" src="${site.url('/frame', 'localhost')}"></iframe></main>
  <footer>Imprint</footer>
  <script>host.attachShadow({ mode: 'open' }).innerHTML = '<p>In the shadow</p>'</script>`;

const EXPECTED = (site) => `On tests (${site.url('/article')})

# On *tests*

First **bold**, [a link](/next), [another](https://example.org/a%28b%29), \`run()\`.
Second line.

- one
- two
  - nested

3. three
4. four

\`\`\`js
const a = 1;
  b();
\`\`\`

> Quoted
> 
> Twice

Prices

| Name | Price |
| --- | --- |
| A\\|B | 5 |
| both |  |

left

right

- **Term**
  Meaning

![A cat]

More

### [Card](/card)

Its text

$5 [Buy]

[x] Agree [typed] [] [b]

In the shadow

[Frame ${site.url('/frame', 'localhost')}]

Framed text

[End of frame]

[Left out: 33 characters around the main content (header, navigation, footer). markdown({ all: true }) has them.]`;

const LONG = `<title>Long</title><main>${Array.from({ length: 900 }, (_, i) => `<p>Paragraph number ${i} of a long text.</p>`).join('')}</main>`;

const ROWS = Array.from(
  { length: 40 },
  (_, i) => `<tr><td>Order ${i}<td><button>Cancel</button></tr>`,
).join('');
const ORDERS = `<title>Orders</title><main><h2>Your orders</h2><table aria-label="Orders">${ROWS}</table>
  <h2>Totals</h2><p id="total">Total: <b>17</b> euros</p><p hidden>Order 1000</p></main>
  <script>document.querySelectorAll('button').forEach((b, i) => b.onclick = () => document.title = 'cancelled ' + i)</script>`;

const shared = useChain({
  pages: {
    '/article': html(ARTICLE),
    '/frame': '<p>Framed text',
    '/long': LONG,
    '/picture.svg': (_request, response) =>
      response
        .setHeader('content-type', 'image/svg+xml')
        .end('<svg xmlns="http://www.w3.org/2000/svg"><text y="20">Drawn text</text></svg>'),
    '/orders': ORDERS,
    '/plain': '<title>Plain</title><nav>Menu</nav><h1>Heading</h1>Text<footer>End</footer>',
    '/modal':
      '<main><p>Behind it is a long text.</main><div role="dialog">Accept cookies? <button>Yes</button></div>',
  },
});
const { run, fails } = useAgent(shared);
const open = (path) => run(`await page.goto('${shared.site.url(path)}')`);

test('markdown has the main content of a page, and says what it left out', async () => {
  await open('/article');
  assert.equal((await run('markdown()')).text, EXPECTED(shared.site));
  const { text } = await run('markdown({ all: true })');
  assert.match(text, /Example Times\n\n- \[Sport\]\(\/sport\)\n- \[Arts\]\(\/arts\)\n\n# On/);
  assert.match(text, /Imprint$/);
  assert.equal((await run(`markdown(page.locator('ol'))`)).text, '3. three\n4. four');
  assert.equal((await run('markdown(page.frames()[1])')).text, 'Framed text');
});

test('markdown finds the main content without a main element, and shows open dialogs', async () => {
  await open('/plain');
  assert.equal(
    (await run('markdown()')).text,
    `Plain (${shared.site.url('/plain')})\n\n# Heading\n\nText\n\n[Left out: 7 characters around the main content (navigation, footer). markdown({ all: true }) has them.]`,
  );
  await open('/modal');
  assert.match((await run('markdown()')).text, /Accept cookies\? \[Yes\]\n\nBehind it/);
});

test('markdown reads documents that are not HTML', async () => {
  await open('/picture.svg');
  assert.match((await run('markdown()')).text, /\.svg\)\n\nDrawn text$/);
});

test('a long page comes in parts that together have all of it', async () => {
  await open('/long');
  const parts = [];
  let next = 0;
  while (next !== undefined) {
    const { text } = await run(`markdown({ offset: ${next} })`);
    assert.ok(text.length <= 20_000);
    assert.ok(!text.includes('[Truncated'), text.slice(-200));
    parts.push(...text.matchAll(/Paragraph number (\d+) of a long text\./g));
    const rest = /For the rest, add \{ offset: (\d+) \}/.exec(text)?.[1];
    next = rest && Number(rest);
  }
  assert.deepEqual(
    parts.map(([, number]) => Number(number)),
    Array.from({ length: 900 }, (_, i) => i),
  );
  assert.match((await run('(await markdown({ max: 100 })).length < 250')).text, /true/);
});

test('find returns elements that can be acted on, and where they are', async () => {
  await open('/orders');
  const { text } = await run(`find('Order 17')`);
  const [found, ...others] = JSON.parse(text);
  assert.equal(others.length, 0);
  const { ref, ...rest } = found;
  assert.deepEqual(rest, {
    role: 'cell',
    text: 'Order 17',
    in: 'main > table "Orders" > row',
    under: 'Your orders',
  });
  assert.equal((await run(`page.locator('aria-ref=${ref}').innerText()`)).text, 'Order 17');
  const clicked = await run(
    `const buttons = await find('cancel', { max: 5 }); await buttons[3].locator.click(); page.title()`,
  );
  assert.match(clicked.text, /^\[5 of 40 elements\. .*\]\ncancelled 3$/);
});

test('find understands text in several elements, regular expressions, and text that is not there', async () => {
  await open('/orders');
  const found = async (code) => JSON.parse((await run(code)).text);
  assert.deepEqual(
    (await found(`find('total: 17  euros')`)).map(({ role, under }) => [role, under]),
    [['paragraph', 'Totals']],
  );
  assert.equal((await found('find(/^order (3|4)$/i)')).length, 2);
  assert.match(
    (await run(`find('Order 1000')`)).text,
    /^\[No visible element has it, but 1 hidden/,
  );
  assert.equal((await run(`find('Order 2000')`)).text, '[It is not on this page.]\n[]');
  assert.match((await fails('find()')).text, /find takes a text or a regular expression/);
});

test('help lists every name in scope, and has more about one of them', async () => {
  const { text } = await run('help()');
  const documented = text.split('\n').map((line) => /^\w+/.exec(line)[0]);
  const inScope = JSON.parse(
    (await run(`Object.keys(globalThis).filter((name) => name !== 'globalThis')`)).text,
  );
  assert.ok(inScope.includes('markdown'));
  assert.deepEqual(
    inScope.filter((name) => !documented.includes(name)),
    [],
  );
  assert.deepEqual(
    documented.slice(0, -1).filter((name) => !inScope.includes(name)),
    [],
  );
  assert.ok(text.length < 2_500, `${text.length} characters`);
  const { text: one } = await run(`help('fetch')`);
  assert.match(one, /^fetch\(url, options\?\): .*\n.*JSON/);
  assert.equal((await run('help(fetch)')).text, one);
  assert.match((await fails(`help('fly')`)).text, /There is no help on 'fly'\. There is: page, /);
});

test('unknown options are errors', async () => {
  await open('/plain');
  for (const [code, message] of [
    ['markdown({ full: 1 })', "markdown has no option 'full'. Options: all, offset, max."],
    [`find('x', { limit: 1 })`, "find has no option 'limit'. Options: max."],
  ]) {
    assert.ok((await fails(code)).text.includes(message), code);
  }
});
