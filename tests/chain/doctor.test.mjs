/**
 * `tabwire doctor` and `tabwire browsers` beside a real Chromium: what its own files say about the
 * extension, and what its policies do. The policies are in a mount namespace of their own, so that
 * nothing on this machine changes.
 */

import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readFile, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';

import { onOwnPort } from '../harness/chain.mjs';
import {
  CHROMIUM,
  EXTENSION_ID,
  TABWIRE,
  capture,
  endProcess,
  startChromium,
  startRelay,
  temporaryFolder,
  until,
} from '../harness/processes.mjs';
import { connectRaw } from '../harness/raw_client.mjs';

const POLICIES = '/etc/chromium';
/** Only root can mount, and only Linux has these namespaces. */
const skip = (process.getuid?.() !== 0 || !existsSync(POLICIES)) && 'needs root and Chromium';

/** Runs a program to its end, also if it fails. */
const run = (program, args, env) =>
  new Promise((resolve) => {
    execFile(program, args, { env: { ...process.env, ...env } }, (error, stdout, stderr) =>
      resolve({ code: error?.code ?? 0, stdout, stderr }),
    );
  });

/** A program and its arguments, in a namespace in which Chromium has these policies. */
const withPolicies = (policies, ...command) => {
  const folder = `${POLICIES}/policies/managed`;
  const script = `mount -t tmpfs none ${POLICIES} && mkdir -p ${folder} && printf %s "$0" > ${folder}/test.json && exec "$@"`;
  return ['unshare', ['-m', 'sh', '-c', script, JSON.stringify(policies), ...command]];
};

/** What `doctor` finds: severity and text. */
async function findings(home, command, env = {}) {
  const [program, args] = command;
  const { stdout } = await run(program, args, { TABWIRE_HOME: home, ...env });
  return JSON.parse(stdout).findings;
}

const UP = [TABWIRE, 'up', '--port', '0', '--headless', '--temp', '--browser', CHROMIUM];
const DOCTOR = [TABWIRE, 'doctor', '--json'];

/** Starts `up` with these policies for `use`, which gets the home and what was printed. */
async function withUp(policies, args, use) {
  const home = await temporaryFolder('doctor');
  const [program, all] = withPolicies(policies, ...UP, ...args);
  const child = spawn(program, all, {
    env: { ...process.env, TABWIRE_HOME: home.path },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  try {
    await use({ home: home.path, child, printed: capture(child) });
  } finally {
    await endProcess(child);
    await home.remove();
  }
}

test('names the policy that forbids the debugger', { skip }, () => {
  const policies = { DeveloperToolsAvailability: 2 };
  return withUp(policies, [], async ({ home, printed }) => {
    await until('`up` is ready', () => /Ctrl-C/.test(printed()), 30_000);
    const url = (await readFile(path.join(home, 'cdp-url'), 'utf8')).trim();
    const client = await connectRaw(url);
    const { targetInfos } = await client.send('Target.getTargets');
    const { targetId } = targetInfos.find(({ type }) => type === 'page');
    const { sessionId } = await client.send('Target.attachToTarget', { targetId, flatten: true });
    const attaching = client.send('Runtime.evaluate', { expression: '1' }, sessionId);
    await assert.rejects(attaching, /Cannot attach to this target.*`tabwire doctor`/s);
    await client.kill();
    const found = await findings(home, withPolicies(policies, ...DOCTOR));
    const own = found.find(({ text }) => text.includes('DeveloperToolsAvailability'));
    assert.equal(own?.severity, 'problem', JSON.stringify(found));
    assert.match(own.text, /chromium: .* keeps every extension from debugging tabs/);
    // Without the policy, the same home has no problem.
    const free = await findings(home, [TABWIRE, ['doctor', '--json']]);
    assert.ok(!free.some(({ severity }) => severity === 'problem'), JSON.stringify(free));
  });
});

test('names the policy that blocks the extension', { skip }, () => {
  const policies = { ExtensionSettings: { '*': { blocked_permissions: ['debugger'] } } };
  return withUp(policies, ['--load-by', 'pipe'], async ({ home, child, printed }) => {
    const [code] = await once(child, 'exit');
    assert.equal(code, 1, printed());
    assert.match(printed(), /is blocked by the administrator/);
    const found = await findings(home, withPolicies(policies, ...DOCTOR));
    const own = found.find(({ text }) => text.includes('ExtensionSettings'));
    assert.equal(own?.severity, 'problem', JSON.stringify(found));
  });
});

/** What Chromium keeps about an extension that the user has loaded from this folder. */
const preferences = (folder) => ({
  extensions: {
    settings: { [EXTENSION_ID]: { path: folder, location: 4, creation_flags: 38 } },
    ui: { developer_mode: true },
  },
});

/** Starts a Chromium whose only profile has loaded the extension. */
async function startWithLoadedExtension(folder) {
  return startChromium({
    prepare: async (userData) => {
      const file = path.join(userData, 'Default/Preferences');
      await writeFile(file, JSON.stringify(preferences(folder)));
    },
  });
}

test('knows the profile of a real browser that has the extension', async (t) => {
  const relay = await startRelay();
  const [folder, config] = await Promise.all(['extension', 'config'].map(temporaryFolder));
  t.after(() => Promise.all([relay.stop(), folder.remove(), config.remove()]));
  const env = { TABWIRE_HOME: relay.home.path, XDG_CONFIG_HOME: config.path };
  const install = ['install-extension', '--to', folder.path, '--port', `${relay.port}`];
  await run(TABWIRE, [...install, '--no-welcome', '--name', 'work'], env);
  const chromium = await startWithLoadedExtension(folder.path);
  t.after(() => chromium.stop());
  await symlink(chromium.profile.path, path.join(config.path, 'chromium'));
  await relay.waitForExtension();
  await onOwnPort({ chromium }, async (_browser, context) => {
    const page = await context.newPage();
    await page.goto('chrome://extensions');
    await page.evaluate((id) => chrome.management.setEnabled(id, false), EXTENSION_ID);
  });
  await relay.waitForExtension(false);
  // Chromium writes its files when it exits.
  await endProcess(chromium.child);
  const { stdout } = await run(TABWIRE, ['browsers', '--json'], env);
  const { installed } = JSON.parse(stdout);
  const { running, profiles } = installed.find(({ name }) => name === 'chromium');
  assert.equal(running, false);
  assert.deepEqual(profiles[0].extension, {
    folder: folder.path,
    version: '0.1.0',
    off: 'user',
    paired: true,
    pairedAs: ['work'],
  });
  const found = await findings(relay.home.path, [TABWIRE, ['doctor', '--json']], env);
  const own = found.find(({ text }) => text.includes('is loaded in chromium, profile'));
  assert.match(own?.text ?? '', /but it is switched off/, JSON.stringify(found));
});
