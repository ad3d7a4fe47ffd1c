/**
 * What the whole chain is compared with: the bare bridge. A minimal extension (`bridge/`), the bare
 * pipe that `bench-relay` measures (`pipe.rs`), and a Chromium of their own. Nothing in them is
 * Tabwire's, and nothing in them decides anything, so this is what the way through
 * `chrome.debugger` and a process in between costs at least.
 */

import { spawn } from 'node:child_process';
import { cp, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { endProcess, ROOT, startChromium, temporaryFolder, until } from '../harness/processes.mjs';

const PIPE = process.env.BENCH_RELAY ?? path.join(ROOT, 'target/release/bench-relay');
const EXTENSION = fileURLToPath(new URL('bridge', import.meta.url));

async function startPipe() {
  const home = await temporaryFolder('pipe');
  const child = spawn(PIPE, ['pipe'], {
    env: { ...process.env, TABWIRE_HOME: home.path },
    stdio: 'ignore',
  });
  const file = path.join(home.path, 'port');
  const port = await until('the pipe listens', () => readFile(file, 'utf8').catch(() => ''));
  return {
    port: Number(port),
    async stop() {
      await endProcess(child);
      await home.remove();
    },
  };
}

/** The pipe connects the extension with whoever opens its `url` next. */
export async function startBridge() {
  const pipe = await startPipe();
  const extension = await temporaryFolder('bridge');
  await cp(EXTENSION, extension.path, { recursive: true });
  await writeFile(path.join(extension.path, 'pipe.json'), JSON.stringify({ port: pipe.port }));
  const chromium = await startChromium({ extensions: [extension.path] });
  return {
    chromium,
    url: `ws://127.0.0.1:${pipe.port}/`,
    async stop() {
      await chromium.stop();
      await pipe.stop();
      await extension.remove();
    },
  };
}
