/** Several agents, one browser: they take turns by default, or work at the same time with `multi-client`. */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { startAgent } from '../harness/agent.mjs';
import { actOnTab, useChain, userTabs } from '../harness/chain.mjs';
import { startChain, until, untilEqual } from '../harness/processes.mjs';

/** The first button adds an item before the others. The buttons of items put their number into the title. */
const LIST = `<title>List</title><button onclick="add()">Add</button><ul></ul><iframe name="inner" srcdoc="<button onclick='top.document.title = 1'>Inner</button>"></iframe>
  <script>let count = 0; function add() { const n = count++; document.querySelector('ul').insertAdjacentHTML('afterbegin', '<li><button onclick="document.title = ' + n + '">Press</button>'); } add()</script>`;

/** Responses to `/meet`, which are sent when two requests have come. */
const meeting = [];
const shared = useChain({
  pages: {
    '/a': '<title>A</title>',
    '/b': '<title>B</title>',
    '/list': LIST,
    '/x': 'from the site',
    '/meet': (_, response) => {
      if (meeting.push(response) === 2) {
        meeting.forEach((waiting) => waiting.end());
      }
    },
  },
});
const isReleased = (chain = shared.chain) =>
  until('no client is connected', async () => (await chain.relay.status()).clients === 0);

/** Starts agents for `use` and stops them afterwards. */
async function withAgents(chain, argsOfEach, use) {
  const agents = await Promise.all(
    argsOfEach.map((args) => startAgent({ home: chain.relay.home, port: chain.relay.port, args })),
  );
  try {
    await use(...agents);
  } finally {
    await Promise.all(agents.map((agent) => agent.stop()));
    await isReleased(chain);
  }
}

const textOf = async (call) => {
  const { text, isError } = await call;
  assert.ok(!isError, text);
  return text;
};

test('releases the browser when idle, and reconnects with page and state kept', () =>
  withAgents(shared.chain, [['--idle', '0.3']], async (agent) => {
    await textOf(
      agent.execute(
        `await page.goto('${shared.site.url('/a')}'); state.n = 7; state.tabs = { main: page, other: await context.newPage() }`,
      ),
    );
    await isReleased();
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

test('rebinds the browser objects in state after a reconnect', () =>
  withAgents(shared.chain, [['--idle', '0.3']], async (agent) => {
    await textOf(
      agent.execute(`await page.goto('${shared.site.url('/list')}');
      Object.assign(state, { locator: page.getByText('Add'), inFrame: page.frameLocator('iframe'), main: page.mainFrame(), frame: page.frame('inner') });
      state.ofFrame = state.frame.locator('button'); state.map = new Map([['page', page], [page, 'key']]); state.set = new Set([page]); globalThis.kept = [page, context, browser];
      state.frozen = Object.freeze([page])`),
    );
    await isReleased();
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
      /Next: The tab was closed, or this object is from an earlier connection/,
    );
    await textOf(agent.execute('await page.close()'));
  }));

test('reports once that listeners, routes and emulation are gone, and only if there were any', () =>
  withAgents(shared.chain, [['--idle', '0.3']], async (agent) => {
    await textOf(
      agent.execute(
        `await page.goto('${shared.site.url('/a')}'); await page.route('**/x', (route) => route.fulfill({ body: 'from the route' }))`,
      ),
    );
    const request = () =>
      textOf(agent.execute(`page.evaluate(() => fetch('/x').then((response) => response.text()))`));
    assert.equal(await request(), 'from the route');
    await isReleased();
    assert.equal(
      await request(),
      '[Reconnected to the browser: listeners, routes and emulation set by earlier code are gone.]\nfrom the site',
    );
    await isReleased();
    assert.equal(await request(), 'from the site');
    await textOf(agent.execute('await page.close()'));
  }));

test('keeps refs valid after a reconnect, although Playwright would number elements differently', () =>
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
    await isReleased();
    assert.equal(await press(refs(first, 'button "Press"')[0]), '0');
    assert.equal(await press(refs(first, 'button "Inner"')[0]), '1', 'in a frame');
    const second = await textOf(
      agent.execute(
        `await page.getByText('Add').click(); await page.getByText('Add').click(); snapshot()`,
      ),
    );
    await isReleased();
    assert.deepEqual(
      [
        await press(refs(second, 'button "Press"')[0]),
        await press(refs(second, 'button "Press"')[2]),
      ],
      ['2', '0'],
    );
    const third = await textOf(agent.execute(`await page.getByText('Add').click(); snapshot()`));
    assert.equal(new Set(refs(third, '')).size, refs(third, '').length, 'all refs are unique');
    await isReleased();
    assert.equal(
      await textOf(agent.execute('snapshot({ diff: true })')),
      'No changes since the last snapshot.',
    );
    await textOf(agent.execute('await page.close()'));
  }));

test('rejects stale refs of a changed page before anything runs', () =>
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
    await isReleased();
    const { text: message } = await agent.execute(`await page.locator('aria-ref=${ref}').click()`, {
      timeout: 20,
    });
    assert.match(
      message,
      /The refs of the last snapshot are stale.*Nothing was run\.\nNext: Refs are valid as long as their elements exist/,
    );
    const { text: gone } = await agent.execute('await state.press.click()');
    assert.match(
      gone,
      new RegExp(`Ref ${ref} \\(button "Press"\\) is gone.* Closest now: button "Press"`),
    );
    assert.ok(!gone.includes(`[ref=${ref}]`), `the number is not used again: ${gone}`);
    assert.equal(await textOf(agent.execute('page.title()')), 'List');
    await textOf(agent.execute('await page.close()'));
  }));

test('closes a tab that it opened for code which then used another', () =>
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
    assert.match(
      await take('/nowhere'),
      /\["",\d+\]$/,
      'if no tab matches, the code gets a new one',
    );
    await textOf(agent.execute('await page.close()'));
  }));

test('two servers take turns: the second waits until the first is idle', () =>
  withAgents(
    shared.chain,
    [
      ['--idle', '2'],
      ['--idle', '0.3'],
    ],
    async (first, second) => {
      await textOf(second.execute('"its worker has started, so it connects without delay"'));
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
        /^waiting for the browser, in use by tests 1( \(.*\))?, connected for \d+ s$/,
      );
      assert.equal(await textOf(first.execute('[state.who, await page.title()]')), '["first","A"]');
      assert.equal(
        await textOf(second.execute('[state.who, await page.title()]')),
        '["second","B"]',
      );
    },
  ));

test('reports the client that keeps the browser busy, and works once it disconnects', () =>
  withAgents(
    shared.chain,
    [
      ['--idle', '60'],
      ['--standby', '0.6'],
    ],
    async (holder, waiting) => {
      await textOf(holder.execute('1'));
      const { text, isError, error } = await waiting.execute('2');
      assert.ok(isError);
      assert.equal(error.kind, 'busy');
      assert.match(
        text,
        new RegExp(
          'Another client is using the browser: tests 1 \\(.*node.*\\), connected for \\d+ s\\. It did not disconnect within 0\\.6 s',
        ),
      );
      assert.match(text, /Next: Call again later/);
      await holder.stop();
      assert.equal(await textOf(waiting.execute('2')), '2');
    },
  ));

test('with multi-client, two servers work at the same time, each with its own page and state', async () => {
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
            `await fetch('${shared.site.url('/meet')}'); [state.path, await page.title(), pages().length]`,
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

test('actions and navigations time out as the options say', () => {
  const options = ['--action-timeout', '0.4', '--navigation-timeout', '0.7'];
  return withAgents(shared.chain, [options], async (agent) => {
    const { text: action } = await agent.execute(`await page.locator('#nothing').click()`);
    assert.match(action, /Timeout 400ms exceeded/);
    const { text: navigation } = await agent.execute(
      `await page.route('**/*', () => {}); await page.goto('${shared.site.url('/list')}')`,
    );
    assert.match(navigation, /Timeout 700ms exceeded/);
    await textOf(agent.execute('await page.close()'));
  });
});

test('by default, actions time out after 5 seconds and navigations after 30, but always before the call', () =>
  withAgents(shared.chain, [[]], async (agent) => {
    const timeouts = (timeout) =>
      textOf(
        agent.execute(
          'const { _timeoutSettings: settings } = page.context(); [settings.timeout({}).timeout, settings.navigationTimeout({}).timeout]',
          { timeout },
        ),
      );
    assert.equal(await timeouts(), '[5000,30000]');
    assert.equal(await timeouts(10), '[5000,8000]');
    await textOf(agent.execute('await page.close()'));
  }));

test('closes the tabs that the agent opened when it leaves, unless it keeps them', async () => {
  const { relay } = shared.chain;
  // It leaves after the browser was released, as agents mostly do.
  const agent = await startAgent({ home: relay.home, port: relay.port, args: ['--idle', '0.5'] });
  const url = (name) => shared.site.url(`/list?${name}`);
  await agent.execute(`await page.goto('${url('own')}')`);
  await agent.execute(
    `const kept = await context.newPage(); await kept.goto('${url('kept')}'); keep(kept)`,
  );
  await agent.execute(`await (await context.newPage()).goto('${url('second')}')`);
  await agent.execute(
    `const [popup] = await Promise.all([page.waitForEvent('popup'), page.evaluate((url) => { open(url); }, '${url('popup')}')]); await popup.waitForLoadState()`,
  );
  await isReleased();
  await agent.stop();
  const open = async () =>
    (await userTabs(shared.chain))
      .map((tab) => tab.url)
      .filter((each) => each.includes('/list?'))
      .sort();
  await untilEqual('only what the agent kept is open', open, [url('kept')]);
  await actOnTab(shared.chain, url('kept'), 'remove');
});
