/** Several agents, one browser: taking turns with nothing set up, or all at once in `multi-client`. */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { startAgent } from '../harness/agent.mjs';
import { useChain } from '../harness/chain.mjs';
import { startChain, until } from '../harness/processes.mjs';

const shared = useChain({ pages: { '/a': '<title>A</title>', '/b': '<title>B</title>' } });

/** Agents on a chain, stopped when the test is done. */
async function withAgents(chain, argsOfEach, use) {
  const agents = await Promise.all(argsOfEach.map((args) => startAgent({ home: chain.relay.home, port: chain.relay.port, args })));
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
    await textOf(agent.execute(`await page.goto('${shared.site.url('/a')}'); state.n = 7; state.tabs = { main: page, other: await context.newPage() }`));
    await until('the slot is free', async () => (await shared.chain.relay.status()).clients === 0);
    assert.equal(await textOf(agent.execute('[state.n, await page.title(), state.tabs.main === page, await state.tabs.other.evaluate(() => 1)]')), '[7,"A",true,1]');
    await textOf(agent.execute('await state.tabs.other.close(); await page.close()'));
  }));

test('two servers take turns: the second waits in standby until the first is idle', () =>
  withAgents(shared.chain, [['--idle', '2'], ['--idle', '0.3']], async (first, second) => {
    await textOf(second.execute('"its worker is there now, so that it can be quick"'));
    await textOf(first.execute(`await page.goto('${shared.site.url('/a')}'); state.who = 'first'`));
    const messages = [];
    const text = await textOf(
      second.execute(`await page.goto('${shared.site.url('/b')}'); state.who = 'second'; page.title()`, { onprogress: ({ message }) => messages.push(message) }),
    );
    assert.equal(text, 'B');
    assert.match(messages[0], /^waiting for the browser: client-\d+, connected for \d+ s has it$/);
    assert.equal(await textOf(first.execute('[state.who, await page.title()]')), '["first","A"]');
    assert.equal(await textOf(second.execute('[state.who, await page.title()]')), '["second","B"]');
  }));

test('a slot that stays busy is an error that names its holder, and nothing is lost by it', () =>
  withAgents(shared.chain, [['--idle', '60'], ['--standby', '0.6']], async (holder, waiting) => {
    await textOf(holder.execute('1'));
    const { activeClientId } = await (await fetch(`http://127.0.0.1:${shared.chain.relay.port}/client-slot`)).json();
    const began = performance.now();
    const { text, isError, error } = await waiting.execute('2');
    assert.ok(isError && performance.now() - began > 600);
    assert.equal(error.kind, 'busy');
    assert.match(text, new RegExp(`another client has the browser: ${activeClientId}, connected for \\d+ s; it did not leave within 0\\.6 s`));
    assert.match(text, /Next: Call again later/);
    await holder.stop();
    assert.equal(await textOf(waiting.execute('2')), '2');
  }));

test('in multi-client two servers work at once, each with its own page and state', async () => {
  const chain = await startChain({ args: ['--client-mode', 'multi-client'] });
  try {
    await withAgents(chain, [[], []], async (first, second) => {
      const go = (agent, path) => textOf(agent.execute(`await page.goto('${shared.site.url(path)}'); state.path = '${path}'; page.title()`));
      assert.deepEqual(await Promise.all([go(first, '/a'), go(second, '/b')]), ['A', 'B']);
      const both = [first, second].map((agent) => textOf(agent.execute('await new Promise((r) => setTimeout(r, 300)); [state.path, await page.title(), pages().length]')));
      assert.deepEqual(await Promise.all(both), ['["/a","A",3]', '["/b","B",3]']);
      assert.equal((await chain.relay.status()).clients, 2);
    });
  } finally {
    await chain.stop();
  }
});
