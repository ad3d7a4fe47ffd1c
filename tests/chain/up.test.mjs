/** `tabwire up` as a new user meets it: what it prints works as printed, and it leaves nothing behind. */

import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { CHROMIUM, TABWIRE, endProcess, temporaryFolder, until } from '../harness/processes.mjs';

const QUIET = ['--disable-background-networking', '--disable-component-update', '--disable-sync'];

async function startUp({ args = [], browserArgs = QUIET } = {}) {
  const home = await temporaryFolder('up');
  const child = spawn(TABWIRE, ['up', '--port', '0', '--headless', ...args, '--', ...browserArgs], {
    env: { ...process.env, TABWIRE_HOME: home.path },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let printed = '';
  child.stdout.on('data', (data) => (printed += data));
  child.stderr.on('data', (data) => (printed += data));
  return { home, child, printed: () => printed };
}

const exists = (pid) => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

test('the three lines that `up` prints work as printed, and Ctrl-C ends relay and browser', async () => {
  const up = await startUp({ args: ['--browser', CHROMIUM] });
  try {
    await until(
      `it is ready: ${up.printed()}`,
      () => up.printed().includes('Ctrl-C to stop both'),
      30_000,
    );
    const lines = up.printed().split('\n');
    const first = lines.findIndex((line) => line.startsWith('import '));
    // Beside the tests' packages, where a user would have run npm install.
    const folder = await mkdtemp(path.join(path.dirname(fileURLToPath(import.meta.url)), '.try-'));
    try {
      const script = path.join(folder, 'try.mjs');
      await writeFile(script, lines.slice(first, first + 3).join('\n'));
      const { stdout } = await promisify(execFile)('node', [script], { timeout: 30_000 });
      assert.equal(stdout.trim(), "[ '' ]", 'one blank tab');
    } finally {
      await rm(folder, { recursive: true });
    }
    assert.ok(!up.printed().includes('token='), 'the token is in the file, not on the screen');
    const browserPid = Number(await childOf(up.child.pid));
    assert.ok(exists(browserPid));
    up.child.kill('SIGINT');
    const [code] = await once(up.child, 'exit');
    assert.equal(code, 0);
    assert.ok(!exists(browserPid));
    assert.ok(!existsSync(path.join(up.home.path, 'state.json')));
  } finally {
    await endProcess(up.child);
    await up.home.remove();
  }
});

async function childOf(pid) {
  const { stdout } = await promisify(execFile)('pgrep', ['-P', String(pid)]);
  return stdout.trim().split('\n')[0];
}

test('the extension gets into the browser over its debugging pipe too, as branded Chrome wants it', async () => {
  const up = await startUp({ args: ['--browser', CHROMIUM, '--load-by', 'pipe'] });
  try {
    await until(
      `it is ready: ${up.printed()}`,
      () => up.printed().includes('Ready: relay'),
      30_000,
    );
  } finally {
    await endProcess(up.child);
    await up.home.remove();
  }
});

test('a browser that is not there is said to be missing, with what to do', async () => {
  const up = await startUp({ args: ['--browser', 'no-such-browser'] });
  const [code] = await once(up.child, 'exit');
  assert.equal(code, 1);
  assert.match(up.printed(), /No browser 'no-such-browser' found\. Run `tabwire browsers`/);
  await up.home.remove();
});

test('a browser that ends at once is reported, and the relay ends too', async () => {
  const up = await startUp({ args: ['--browser', '/bin/false'] });
  const [code] = await once(up.child, 'exit');
  assert.equal(code, 1);
  assert.match(up.printed(), /The browser exited before its extension connected/);
  assert.ok(!existsSync(path.join(up.home.path, 'state.json')));
  await up.home.remove();
});
