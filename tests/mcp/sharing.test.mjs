/** Several agents, one browser: taking turns with nothing set up, or all at once in `multi-client`. */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { startAgent } from '../harness/agent.mjs';
import { useChain } from '../harness/chain.mjs';
import { startChain, until } from '../harness/processes.mjs';

/** The upper button adds an item before the others; the lower ones say in the title who was pressed. */
const LIST = `<title>List</title><button onclick="add()">Add</button><ul></ul><iframe name="inner" srcdoc="<button onclick='top.document.title = 1'>Inner</button>"></iframe>
  <script>let count = 0; function add() { const n = count++; document.querySelector('ul').insertAdjacentHTML('afterbegin', '<li><button onclick="document.title = ' + n + '">Press</button>'); } add()</script>`;

const shared = useChain({
  pages: { '/a': '<title>A</title>', '/b': '<title>B</title>', '/list': LIST, '/x': 'of the site' },
});
const isLetGo = () =>
  until('the slot is free', async () => (await shared.chain.relay.status()).clients === 0);

/** Agents on a chain, stopped when the test is done. */
async function withAgents(chain, argsOfEach, use) {
  const agents = await Promise.all(
    argsOfEach.map((args) => startAgent({ home: chain.relay.home, port: chain.relay.port, args })),
  );
  try {
    await use(...agents);
  } finally {
    await Promise.all(agents.map((agent) => agent.stop()));
    await until('the slot is free', async () => (await chain.relay.status()).clients === 0);
  }
}

const textOf = async (call) => {
  const { text, isError } = await call;
  assert.ok(!isError, text);
  return text;
};

test('an idle server lets go of the browser, and takes it back with page and state as they were', () =>
  withAgents(shared.chain, [['--idle', '0.3']], async (agent) => {
    await textOf(
      agent.execute(
        `await page.goto('${shared.site.url('/a')}'); state.n = 7; state.tabs = { main: page, other: await context.newPage() }`,
      ),
    );
    await isLetGo();
    assert.equal(
      await textOf(
        agent.execute(
          '[state.n, await page.title(), state.tabs.main === page, await state.tabs.other.evaluate(() => 1)]',
        ),
      ),
      '[7,"A",true,1]',
    );
    await textOf(agent.execute('await state.tabs.other.close(); await page.close()'));
  }));

test('what the state holds of the browser is good again after it was let go', () =>
  withAgents(shared.chain, [['--idle', '0.3']], async (agent) => {
    await textOf(
      agent.execute(`await page.goto('${shared.site.url('/list')}');
      Object.assign(state, { locator: page.getByText('Add'), inFrame: page.frameLocator('iframe'), main: page.mainFrame(), frame: page.frame('inner') });
      state.ofFrame = state.frame.locator('button'); state.map = new Map([['page', page], [page, 'key']]); state.set = new Set([page]); globalThis.kept = [page, context, browser];
      state.frozen = Object.freeze([page])`),
    );
    await isLetGo();
    for (const [code, text] of [
      ['state.locator.innerText()', 'Add'],
      ['state.inFrame.getByRole("button").innerText()', 'Inner'],
      [
        '[await state.main.title(), state.frame.name(), await state.ofFrame.innerText()]',
        '["List","inner","Inner"]',
      ],
      [
        '[state.map.get("page") === page, state.map.get(page), state.map.size, state.set.has(page)]',
        '[true,"key",2,true]',
      ],
      ['[kept[0] === page, kept[1] === context, kept[2] === browser]', '[true,true,true]'],
    ]) {
      assert.equal(await textOf(agent.execute(code, { timeout: 5 })), text, code);
    }
    assert.match(
      (await agent.execute('state.frozen[0].title()')).text,
      /Next: That tab is gone, or the object is of an earlier connection/,
    );
    await textOf(agent.execute('await page.close()'));
  }));

test('listeners, routes and emulation that went with the connection are told of once, and only if there were any', () =>
  withAgents(shared.chain, [['--idle', '0.3']], async (agent) => {
    await textOf(
      agent.execute(
        `await page.goto('${shared.site.url('/a')}'); await page.route('**/x', (route) => route.fulfill({ body: 'of the route' }))`,
      ),
    );
    const ask = () =>
      textOf(agent.execute(`page.evaluate(() => fetch('/x').then((response) => response.text()))`));
    assert.equal(await ask(), 'of the route');
    await isLetGo();
    assert.equal(
      await ask(),
      '[The connection to the browser is a new one: listeners, routes and emulation that the code had set are gone.]\nof the site',
    );
    await isLetGo();
    assert.equal(await ask(), 'of the site');
    await textOf(agent.execute('await page.close()'));
  }));

test('refs of a snapshot hold after the browser was let go, under whatever numbers Playwright would give them now', () =>
  withAgents(shared.chain, [['--idle', '0.3']], async (agent) => {
    const press = (ref) =>
      textOf(
        agent.execute(`await page.locator('aria-ref=${ref}').click(); page.title()`, {
          timeout: 5,
        }),
      );
    const refs = (text, role) =>
      [...text.matchAll(new RegExp(`${role} .*\\[ref=(\\w+)\\]`, 'g'))].map(([, ref]) => ref);
    const first = await textOf(
      agent.execute(`await page.goto('${shared.site.url('/list')}'); snapshot()`),
    );
    await isLetGo();
    assert.equal(await press(refs(first, 'button "Press"')[0]), '0');
    assert.equal(await press(refs(first, 'button "Inner"')[0]), '1', 'in a frame');
    const second = await textOf(
      agent.execute(
        `await page.getByText('Add').click(); await page.getByText('Add').click(); snapshot()`,
      ),
    );
    await isLetGo();
    assert.deepEqual(
      [
        await press(refs(second, 'button "Press"')[0]),
        await press(refs(second, 'button "Press"')[2]),
      ],
      ['2', '0'],
    );
    const third = await textOf(agent.execute(`await page.getByText('Add').click(); snapshot()`));
    assert.equal(new Set(refs(third, '')).size, refs(third, '').length, 'no number is given twice');
    await isLetGo();
    assert.equal(
      await textOf(agent.execute('snapshot({ diff: true })')),
      'no change since the last snapshot',
    );
    await textOf(agent.execute('await page.close()'));
  }));

test('refs into a page that has changed meanwhile press nothing else, and are told of at once', () =>
  withAgents(shared.chain, [['--idle', '0.3']], async (agent) => {
    const text = await textOf(
      agent.execute(`await page.goto('${shared.site.url('/list')}'); snapshot()`),
    );
    const [, ref] = /button "Press" .*\[ref=(\w+)\]/.exec(text);
    await textOf(
      agent.execute(
        `state.press = page.locator('aria-ref=${ref}'); await page.getByText('Add').click()`,
      ),
    );
    await isLetGo();
    const began = performance.now();
    const { text: told } = await agent.execute(`await page.locator('aria-ref=${ref}').click()`, {
      timeout: 20,
    });
    assert.match(
      told,
      /the refs of the last snapshot do not hold any more.*Nothing was run\nNext: Refs are of the latest snapshot only/,
    );
    assert.ok(performance.now() - began < 10_000);
    assert.match(
      (await agent.execute('await state.press.click({ timeout: 500 })')).text,
      /Timeout 500ms exceeded[\s\S]*Next: Refs are of the latest snapshot only/,
    );
    assert.equal(await textOf(agent.execute('page.title()')), 'List');
    await textOf(agent.execute('await page.close()'));
  }));

test('code that may take another tab, and does, leaves none behind that was opened for it', () =>
  withAgents(shared.chain, [[]], async (agent) => {
    await textOf(
      agent.execute(
        `const other = await context.newPage(); await other.goto('${shared.site.url('/b')}')`,
      ),
    );
    const take = (path) =>
      textOf(
        agent.execute(
          `const found = pages().find((page) => page.url().endsWith('${path}')); if (found) page = found; [await page.title(), pages().length]`,
        ),
      );
    const before = Number(await textOf(agent.execute('pages().length')));
    assert.match(await take('/b'), /^\["B",\d+\]$/);
    assert.equal(Number(await textOf(agent.execute('pages().length'))), before);
    await textOf(agent.execute('await page.close()'));
    assert.match(await take('/nowhere'), /\["",\d+\]$/, 'and without one it gets a new tab');
    await textOf(agent.execute('await page.close()'));
  }));

test('two servers take turns: the second waits in standby until the first is idle', () =>
  withAgents(
    shared.chain,
    [
      ['--idle', '2'],
      ['--idle', '0.3'],
    ],
    async (first, second) => {
      await textOf(second.execute('"its worker is there now, so that it can be quick"'));
      await textOf(
        first.execute(`await page.goto('${shared.site.url('/a')}'); state.who = 'first'`),
      );
      const messages = [];
      const text = await textOf(
        second.execute(
          `await page.goto('${shared.site.url('/b')}'); state.who = 'second'; page.title()`,
          { onprogress: ({ message }) => messages.push(message) },
        ),
      );
      assert.equal(text, 'B');
      assert.match(
        messages[0],
        /^waiting for the browser, in use by client-\d+, connected for \d+ s$/,
      );
      assert.equal(await textOf(first.execute('[state.who, await page.title()]')), '["first","A"]');
      assert.equal(
        await textOf(second.execute('[state.who, await page.title()]')),
        '["second","B"]',
      );
    },
  ));

test('a slot that stays busy is an error that names its holder, and nothing is lost by it', () =>
  withAgents(
    shared.chain,
    [
      ['--idle', '60'],
      ['--standby', '0.6'],
    ],
    async (holder, waiting) => {
      await textOf(holder.execute('1'));
      const { activeClientId } = await (
        await fetch(`http://127.0.0.1:${shared.chain.relay.port}/client-slot`)
      ).json();
      const began = performance.now();
      const { text, isError, error } = await waiting.execute('2');
      assert.ok(isError && performance.now() - began > 600);
      assert.equal(error.kind, 'busy');
      assert.match(
        text,
        new RegExp(
          `Another client is using the browser: ${activeClientId}, connected for \\d+ s\\. It did not disconnect within 0\\.6 s`,
        ),
      );
      assert.match(text, /Next: Call again later/);
      await holder.stop();
      assert.equal(await textOf(waiting.execute('2')), '2');
    },
  ));

test('in multi-client two servers work at once, each with its own page and state', async () => {
  const chain = await startChain({ args: ['--client-mode', 'multi-client'] });
  try {
    await withAgents(chain, [[], []], async (first, second) => {
      const go = (agent, path) =>
        textOf(
          agent.execute(
            `await page.goto('${shared.site.url(path)}'); state.path = '${path}'; page.title()`,
          ),
        );
      assert.deepEqual(await Promise.all([go(first, '/a'), go(second, '/b')]), ['A', 'B']);
      const both = [first, second].map((agent) =>
        textOf(
          agent.execute(
            'await new Promise((r) => setTimeout(r, 300)); [state.path, await page.title(), pages().length]',
          ),
        ),
      );
      assert.deepEqual(await Promise.all(both), ['["/a","A",3]', '["/b","B",3]']);
      assert.equal((await chain.relay.status()).clients, 2);
    });
  } finally {
    await chain.stop();
  }
});
