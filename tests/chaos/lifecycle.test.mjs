/**
 * Browsers and relays that are killed again and again: the next request is answered, and in the end
 * no process, profile, file or port is left.
 */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readFile, readdir } from 'node:fs/promises';
import net from 'node:net';
import path from 'node:path';
import { after, test } from 'node:test';
import { promisify } from 'node:util';

import {
  browserPid,
  isBrowserRunning,
  killBrowser,
  tabwire,
  untilBrowserGone,
} from '../harness/launched.mjs';
import { CHROMIUM, isRunning, startRelay, temporaryFolder, until } from '../harness/processes.mjs';
import { startPipe } from '../harness/pipe_client.mjs';
import { connectRaw } from '../harness/raw_client.mjs';
import { times } from './counts.mjs';
import { middleAndWorst, reportRow } from './report.mjs';

const run = promisify(execFile);
const TIMEOUT = { timeout: 600_000 };

/** The folder for temporary files of everything that these tests start. */
const temporary = await temporaryFolder('lifecycle');
process.env.TMPDIR = temporary.path;
after(() => temporary.remove());

const KINDS = { extension: [], 'debugging port': ['--launch-direct'] };

/** The children of a relay: its watchdog, and the browsers that it launched. */
async function childrenOf(pid) {
  const { stdout } = await run('pgrep', ['-P', String(pid)]).catch((error) => error);
  return stdout.split('\n').filter(Boolean).map(Number);
}

/** Whether something listens on a port. */
async function isListening(port) {
  const socket = net.connect({ port, host: '127.0.0.1' });
  const connected = await once(socket, 'connect').then(
    () => true,
    () => false,
  );
  socket.destroy();
  return connected;
}

const untilGone = (pids) =>
  until('all processes are gone', () => !pids.some((pid) => isRunning(pid)));

const untilEmpty = (home) =>
  until('no temporary profile is left', async () => {
    const left = await readdir(path.join(home.path, 'temporary')).catch(() => []);
    return left.length === 0;
  });

/** The folders of temporary browsers that are still paired. */
async function pairedTemporary(home) {
  const text = await readFile(path.join(home.path, 'paired.json'), 'utf8').catch(() => '{}');
  const folders = text.match(/"[^"]*\/temporary\/[^"]*"/g);
  return folders ?? [];
}

/** What a home keeps on purpose. */
const KEPT = ['auth-token', 'launched', 'paired.json', 'paired.lock', 'relay.log', 'temporary'];

/** Fails unless nothing is in the home that does not belong there, and nothing else was left anywhere. */
async function assertOnlyKept(home) {
  const names = await readdir(home.path);
  assert.deepEqual(
    await readdir(temporary.path),
    [path.basename(home.path)],
    'nothing is left among the temporary files',
  );
  assert.deepEqual(
    names.filter((name) => !KEPT.includes(name)),
    [],
    'nothing else is left in the home',
  );
}

/** Fails unless nothing is left of a relay, its children and what it wrote. */
async function assertNothingLeft(home, port, pids) {
  await untilGone(pids);
  await until('the files of the relay are gone', async () => {
    const names = await readdir(home.path);
    return !names.includes('state.json') && !names.includes('cdp-url');
  });
  assert.equal(await isListening(port), false, 'the port is free');
  await untilEmpty(home);
  assert.deepEqual(await pairedTemporary(home), [], 'no temporary browser is paired');
  await assertOnlyKept(home);
}

/** Records that a fault left nothing behind, which was checked each time. */
function reportNothingLeft(fault, measured = []) {
  reportRow({
    fault,
    asked: 'no process, profile, file or port left',
    measured: [...measured, 'nothing left'].join(', '),
    met: true,
  });
}

for (const [kind, args] of Object.entries(KINDS)) {
  const cycles = times({ short: 2, full: 25 });

  test(
    `${cycles} times: a browser with the ${kind} is killed and launched again`,
    TIMEOUT,
    async () => {
      const home = await temporaryFolder('chaos');
      const relay = await startRelay({
        home,
        args: ['--launch', CHROMIUM, ...args],
        env: { DISPLAY: '' },
      });
      const pids = new Set([relay.child.pid]);
      const client = await connectRaw(relay.cdpUrl);
      const answered = [];
      for (let cycle = 0; cycle < cycles; cycle += 1) {
        const from = performance.now();
        const { targetInfos } = await client.send('Target.getTargets');
        if (cycle > 0) answered.push(performance.now() - from);
        assert.ok(targetInfos.length > 0, `cycle ${cycle}`);
        const pid = await browserPid(home);
        assert.ok(!pids.has(pid), `cycle ${cycle}: a new browser`);
        pids.add(pid);
        await killBrowser(pid);
        await until('the relay notices', async () => !(await relay.status()).extension);
      }
      for (const pid of await childrenOf(relay.child.pid)) {
        pids.add(pid);
      }
      client.kill();
      await relay.stop({ keepHome: true });
      await assertNothingLeft(home, relay.port, [...pids]);
      await home.remove();
      const { middle, worst } = middleAndWorst(answered);
      reportNothingLeft(`browser with the ${kind} killed and launched again, ${cycles}×`, [
        `next command answered ${middle.toFixed(0)} ms after it was sent (worst ${worst.toFixed(0)} ms)`,
      ]);
    },
  );

  const kills = times({ short: 1, full: 10 });

  test(`${kills} times: a relay with browsers with the ${kind} is killed`, TIMEOUT, async () => {
    const home = await temporaryFolder('chaos');
    const direct = args.length > 0 ? ['--direct'] : [];
    for (let kill = 0; kill < kills; kill += 1) {
      const relay = await startRelay({
        home,
        args: ['--browsers', 'many'],
        env: { DISPLAY: '' },
      });
      // The same names each time: they have to be free again, and the kept profile closed.
      const browsers = [];
      for (const profile of [
        ['--name', 'work', '--temp'],
        ['--name', 'kept'],
      ]) {
        const launched = await tabwire(home, 'launch', CHROMIUM, ...profile, ...direct, '--json');
        const { pid, ownership } = JSON.parse(launched.stdout);
        assert.equal(ownership, 'launched', `kill ${kill}: ${profile}`);
        assert.ok(isBrowserRunning(pid));
        browsers.push(pid);
      }
      const pids = [relay.child.pid, ...(await childrenOf(relay.child.pid))];
      assert.ok(pids.length >= 4, 'relay, watchdog and browsers');
      relay.child.kill('SIGKILL');
      await Promise.all(browsers.map(untilBrowserGone));
      await assertNothingLeft(home, relay.port, pids);
      const kept = await readdir(path.join(home.path, 'launched'));
      assert.deepEqual(kept, ['kept'], 'the profile that is kept');
    }
    await home.remove();
    reportNothingLeft(
      `relay killed with 2 browsers with the ${kind}, ${kills}×, one with a temporary profile`,
    );
  });
}

const pipes = times({ short: 1, full: 20 });

test(`${pipes} times: a pipe with a browser is killed`, TIMEOUT, async () => {
  const home = await temporaryFolder('chaos');
  for (let kill = 0; kill < pipes; kill += 1) {
    const { child, send } = startPipe({ home });
    assert.match((await send('Browser.getVersion')).product, /Chrome/);
    const browser = await browserPid(home);
    const pids = [child.pid, browser, ...(await childrenOf(child.pid))];
    assert.equal(new Set(pids).size, 3, 'pipe, watchdog and browser');
    child.kill('SIGKILL');
    await untilBrowserGone(browser);
    await untilGone(pids);
    await untilEmpty(home);
    await assertOnlyKept(home);
  }
  await home.remove();
  reportNothingLeft(`pipe killed with its browser, ${pipes}×`);
});
