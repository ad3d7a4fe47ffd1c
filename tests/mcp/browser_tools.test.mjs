/**
 * `tabwire mcp --browser-tools`: an agent lists, launches, restarts and stops browsers, and its code runs in the one that it
 * launched.
 */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile, readdir, readlink } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';

import { startAgent } from '../harness/agent.mjs';
import {
  CHROMIUM,
  TABWIRE,
  freePort,
  isRunning,
  startChromium,
  startRelay,
  temporaryFolder,
  until,
  untilEqual,
} from '../harness/processes.mjs';

const run = promisify(execFile);
const TOOLS = [
  'browser_list',
  'browser_status',
  'browser_launch',
  'browser_stop',
  'browser_restart',
];
const WITH_TOOLS = ['--browser-tools'];
const NO_DISPLAY = { DISPLAY: '' };
const TEMPORARY = {
  browser: CHROMIUM,
  headless: true,
  temp: true,
  args: ['--disable-background-networking', '--disable-component-update', '--disable-sync'],
};

/** Calls a tool that must succeed, and returns what it reports. */
async function call(agent, name, args = {}) {
  const result = await agent.call(name, args);
  assert.ok(!result.isError, result.text);
  return JSON.parse(result.text);
}

/** Calls a tool that must fail, and returns its error. */
async function fails(agent, name, args = {}) {
  const result = await agent.call(name, args);
  assert.ok(result.isError, `it succeeded: ${result.text}`);
  assert.equal(result.text, `Error: ${result.error.message}\nNext: ${result.error.next}`);
  return result.error;
}

/** Runs code that must succeed. */
async function execute(agent, code) {
  const result = await agent.execute(code);
  assert.ok(!result.isError, result.text);
  return result.text;
}

/** The processes of browsers whose profile is in this home. */
async function browsersIn(home) {
  const { stdout } = await run('pgrep', ['-f', `user-data-dir=${home.path}`]).catch(
    (error) => error,
  );
  return stdout.split('\n').filter(Boolean).map(Number);
}

/** The main process of the only browser with a temporary profile, which Chromium notes in a link there. */
async function browserPid(home) {
  const folder = path.join(home.path, 'temporary');
  const [profile] = await readdir(folder);
  const holder = await readlink(path.join(folder, profile, 'profile/SingletonLock'));
  return Number(holder.split('-').at(-1));
}

const untilGone = (home) =>
  until('no browser is left', async () => (await browsersIn(home)).length === 0);

/** A relay and agents for `use`. All of them are stopped afterwards, with what they launched. */
async function withRelay(args, use) {
  const home = await temporaryFolder('tools');
  const relay = await startRelay({ home, args, env: NO_DISPLAY });
  const agents = [];
  const newAgent = async (...options) => {
    agents.push(await startAgent({ home, args: options }));
    return agents.at(-1);
  };
  try {
    await use(relay, newAgent);
  } finally {
    await Promise.all(agents.map((agent) => agent.stop()));
    await relay.stop({ keepHome: true });
    await untilGone(home);
    await home.remove();
  }
}

/** The user's own browser, for `use`. */
async function withOwnBrowser(relay, use) {
  const own = await startChromium({ relay, name: 'mine' });
  try {
    await relay.waitForExtension();
    await use(own);
  } finally {
    await own.stop();
  }
}

test('offers five more tools, in few characters, only if the user wants them', () =>
  withRelay([], async (_relay, newAgent) => {
    const list = async (agent) => (await agent.client.listTools()).tools;
    const plain = await newAgent();
    const without = await list(plain);
    assert.deepEqual(
      without.map(({ name }) => name),
      ['execute', 'reset'],
    );
    await assert.rejects(
      plain.call('browser_list'),
      /Unknown tool 'browser_list'\. Available tools: execute, reset\./,
    );

    const agent = await newAgent(...WITH_TOOLS);
    const [execute, reset, ...tools] = await list(agent);
    assert.deepEqual([execute, reset], without, 'the others are the same');
    assert.deepEqual(
      tools.map(({ name }) => name),
      TOOLS,
    );
    assert.ok(JSON.stringify(tools).length < 1_500, `${JSON.stringify(tools).length} characters`);
    const hints = tools.map(({ annotations }) => [
      annotations.readOnlyHint === true,
      annotations.destructiveHint === true,
    ]);
    const [looks, changes] = [
      [true, false],
      [false, true],
    ];
    assert.deepEqual(hints, [looks, looks, changes, changes, changes]);
    await assert.rejects(
      agent.call('browser_paint'),
      /Available tools: execute, reset, browser_list/,
    );
  }));

test('launches, uses, restarts and stops a browser', () =>
  withRelay([], async ({ home, port, child }, newAgent) => {
    const agent = await newAgent(...WITH_TOOLS);
    const launched = await call(agent, 'browser_launch', { ...TEMPORARY, name: 'work' });
    assert.equal(launched.name, 'work');
    assert.equal(launched.ownership, 'launched');
    assert.equal(launched.headless, true);
    assert.match(launched.note, /`execute` now runs in this browser/);

    assert.equal(
      await execute(
        agent,
        'state.n = 1; await page.setContent("<title>Before</title>"); page.title()',
      ),
      'Before',
    );
    const status = await call(agent, 'browser_status');
    assert.deepEqual(status.relay, { port, pid: child.pid, mode: 'single-active' });
    const [browser, ...others] = status.browsers;
    assert.deepEqual(others, []);
    assert.deepEqual([browser.name, browser.ownership, browser.tabs], ['work', 'launched', 2]);
    const [client] = browser.clients;
    assert.match(client.name, /^tests 1/);
    // A title arrives a moment after it has changed.
    await untilEqual(
      'the tab in use is shown',
      async () => {
        const { browsers } = await call(agent, 'browser_status');
        const [{ tabsInUse, tabs }] = browsers[0].clients;
        return { tabsInUse, tabs };
      },
      { tabsInUse: 1, tabs: [{ title: 'Before', url: 'about:blank' }] },
    );

    const again = await call(agent, 'browser_launch', { ...TEMPORARY, name: 'work' });
    assert.match(again.note, /running already/);
    assert.equal(await execute(agent, 'page.title()'), 'Before', 'its page is kept');

    const before = await browserPid(home);
    const restarted = await call(agent, 'browser_restart');
    assert.equal(restarted.name, 'work');
    assert.match(restarted.note, /pages are gone/);
    assert.ok(!isRunning(before));
    assert.equal(
      await execute(
        agent,
        'await page.setContent("<title>After</title>"); [state.n, await page.title()]',
      ),
      '[The tab in use was closed or is in another browser. `page` is a new, empty tab.]\n[1,"After"]',
    );

    const stopped = await call(agent, 'browser_stop', { name: 'work' });
    assert.equal(stopped.stopped, 'work');
    await untilGone(home);
    assert.deepEqual((await call(agent, 'browser_status')).browsers, []);
    const { error } = await agent.execute('1');
    assert.equal(error.kind, 'no-extension');
    assert.match(error.next, /^Call browser_launch to launch a browser/);
  }));

test('lists what `tabwire browsers` lists', () =>
  withRelay([], async (relay, newAgent) => {
    const { home } = relay;
    await withOwnBrowser(relay, async () => {
      const agent = await newAgent(...WITH_TOOLS);
      const { installed, known } = await call(agent, 'browser_list');
      const env = { ...process.env, TABWIRE_HOME: home.path };
      const printed = JSON.parse((await run(TABWIRE, ['browsers', '--json'], { env })).stdout);
      assert.ok(installed.length > 0);
      assert.deepEqual(
        installed.map(({ name, version, path: program }) => [name, version, program]),
        printed.installed.map(({ name, version, path: program }) => [name, version, program]),
      );
      const [paired] = printed.paired;
      assert.deepEqual(known, [{ name: 'mine', product: paired.product, connected: true }]);
    });
    const agent = await newAgent(...WITH_TOOLS);
    await relay.waitForExtension(false);
    const { known } = await call(agent, 'browser_list');
    assert.deepEqual(
      known.map(({ name, connected }) => [name, connected]),
      [['mine', false]],
    );
  }));

test('switches from the user’s browser to another one, and back', () =>
  withRelay([], (relay, newAgent) =>
    withOwnBrowser(relay, async (own) => {
      const agent = await newAgent(...WITH_TOOLS);
      await execute(agent, 'await page.setContent("<title>Mine</title>")');
      const error = await fails(agent, 'browser_stop', { name: 'mine' });
      assert.equal(error.kind, 'not-launched');

      await call(agent, 'browser_launch', { ...TEMPORARY, name: 'work' });
      assert.equal(await execute(agent, 'pages().length'), '1', 'it is another browser');
      assert.equal(
        await execute(agent, 'await page.title()'),
        '[The tab in use was closed or is in another browser. `page` is a new, empty tab.]',
      );
      const { browsers } = await call(agent, 'browser_status');
      assert.deepEqual(
        browsers.map(({ name }) => name),
        ['work'],
      );

      const { note } = await call(agent, 'browser_stop');
      assert.match(note, /may be the user's own/);
      assert.ok(isRunning(own.child.pid));
      await relay.waitForExtension();
      assert.equal(
        await execute(agent, '(await Promise.all(pages().map((p) => p.title()))).includes("Mine")'),
        'true',
      );
    }),
  ));

test('with several browsers, code runs in the one that its own agent launched', () =>
  withRelay(['--browsers', 'many'], (relay, newAgent) =>
    withOwnBrowser(relay, async () => {
      const [first, second] = [await newAgent(...WITH_TOOLS), await newAgent(...WITH_TOOLS)];
      await execute(first, 'await page.setContent("<title>Mine</title>")');
      await call(first, 'browser_launch', { ...TEMPORARY, name: 'first' });
      const pid = await browserPid(relay.home);
      await execute(first, 'await page.setContent("<title>First</title>")');
      await call(second, 'browser_launch', { ...TEMPORARY, name: 'second' });
      await execute(second, 'await page.setContent("<title>Second</title>")');
      const titles = '(await Promise.all(pages().map((p) => p.title()))).filter(Boolean).join()';
      await first.reset();
      assert.equal(await execute(first, titles), 'First');
      assert.equal(await execute(second, titles), 'Second');

      process.kill(pid, 'SIGKILL');
      await until('the relay has noticed', async () => {
        const { browsers } = await call(first, 'browser_status');
        return !browsers.some(({ name }) => name === 'first');
      });
      const again = await execute(first, `${titles} || 'empty'`);
      assert.equal(again, 'empty', 'not in another browser, but in it again');

      // The tool stops the agent's own browser, not the other one's.
      assert.equal((await call(first, 'browser_stop')).stopped, 'first');
      assert.equal(await execute(second, titles), 'Second');
      assert.equal((await call(second, 'browser_stop')).stopped, 'second');
      assert.equal(await execute(first, titles), 'Mine');
    }),
  ));

test('releases a browser that was running before, and does not restart it', () =>
  withRelay([], async (_relay, newAgent) => {
    const agent = await newAgent(...WITH_TOOLS);
    const open = await startChromium();
    try {
      const options = { browser: CHROMIUM, profile: open.profile.path, direct: true, name: 'open' };
      assert.equal((await call(agent, 'browser_launch', options)).ownership, 'attached');
      const { message } = await fails(agent, 'browser_restart', { name: 'open' });
      assert.match(message, /'open' was running before Tabwire/);
      const { released, stopped, note } = await call(agent, 'browser_stop', { name: 'open' });
      assert.deepEqual([released, stopped], ['open', undefined]);
      assert.match(note, /^It was running before Tabwire, so it stays open\. /);
      assert.ok(isRunning(open.child.pid));
    } finally {
      await open.stop();
    }
  }));

test('errors name the agent’s next step', () =>
  withRelay([], async (_relay, newAgent) => {
    const agent = await newAgent(...WITH_TOOLS);
    const unknown = await fails(agent, 'browser_launch', { browser: 'netscape' });
    assert.equal(unknown.kind, 'unknown-browser');
    assert.equal(unknown.message, "No browser 'netscape' found on this machine.");
    assert.match(unknown.next, /^Call browser_list, then call again/);

    const { error } = await agent.execute('1');
    assert.equal(error.kind, 'no-extension');
    assert.match(error.next, /browser_restart if you have launched one that is gone/);

    for (const tool of ['browser_stop', 'browser_restart']) {
      const nothing = await fails(agent, tool);
      assert.equal(nothing.kind, 'not-launched');
      assert.match(nothing.message, /Tabwire has launched no browser/);
      assert.match(nothing.next, /browser_launch to launch one/);
    }

    for (const tool of TOOLS) {
      const argument = await fails(agent, tool, { colour: 'red' });
      assert.equal(argument.kind, 'arguments');
      assert.match(argument.message, new RegExp(`Invalid arguments for ${tool}: .*\`colour\``));
      assert.match(argument.next, /^Nothing was run\. Call again with /);
    }
    const both = await fails(agent, 'browser_launch', { temp: true, profile: '/nowhere' });
    assert.match(both.message, /both `profile` and `temp`/);

    const exits = await fails(agent, 'browser_launch', { browser: '/bin/false', temp: true });
    assert.equal(exits.kind, 'browser-refused');
    assert.match(exits.message, /The browser exited before/);
    assert.match(exits.next, /ask the user to run `tabwire doctor`/);
  }));

test('starts a relay if none is running, and an agent whose browser is gone gets another one', async () => {
  const home = await temporaryFolder('tools');
  const port = await freePort();
  const agent = await startAgent({ home, port, args: WITH_TOOLS, env: NO_DISPLAY });
  const stateFile = path.join(home.path, 'state.json');
  const relayPid = async () => JSON.parse(await readFile(stateFile, 'utf8')).pid;
  try {
    await call(agent, 'browser_launch', { ...TEMPORARY, name: 'work' });
    assert.equal(await execute(agent, '6 * 7'), '42');
    const pid = await relayPid();
    process.kill(pid);
    await until('the relay has exited', () => !isRunning(pid));
    assert.equal((await call(agent, 'browser_status')).relay, null);
    assert.equal((await fails(agent, 'browser_restart')).kind, 'not-launched');

    await call(agent, 'browser_launch', { ...TEMPORARY, name: 'other' });
    assert.equal(await execute(agent, 'pages().length'), '1');
    process.kill(await browserPid(home), 'SIGKILL');
    await untilGone(home);
    assert.equal(await execute(agent, '6 * 7'), '42', 'it is launched again');
    await call(agent, 'browser_restart');
    assert.equal(await execute(agent, '6 * 7'), '42');
  } finally {
    await agent.stop();
    const pid = await relayPid();
    process.kill(pid);
    await until('the relay has exited', () => !isRunning(pid));
    await untilGone(home);
    await home.remove();
  }
});
