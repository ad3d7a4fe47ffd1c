/**
 * Installs what a client needs beyond the packages of the tests, when it is run for the first time or what
 * it needs has changed: a virtual environment for Python, a folder of npm packages, a Rust program.
 */

import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { ROOT } from '../../harness/processes.mjs';

const run = promisify(execFile);
const TARGET = path.join(process.env.CARGO_TARGET_DIR ?? path.join(ROOT, 'target'), 'battery');
const pathOf = (file) => fileURLToPath(new URL(file, import.meta.url));

/** Runs `install` unless the installed folder is for the content of this file. */
async function once(folder, file, install) {
  const stamp = path.join(folder, '.installed-for');
  const wanted = createHash('sha256')
    .update(await readFile(file))
    .digest('hex');
  if ((await readFile(stamp, 'utf8').catch(() => '')) === wanted) {
    return;
  }
  await install();
  await writeFile(stamp, wanted);
}

/** A virtual environment in `target/battery/NAME` with what `requirements/NAME.txt` lists. */
export function pythonWith(name) {
  const folder = path.join(TARGET, name);
  const requirements = pathOf(`requirements/${name}.txt`);
  const python = path.join(folder, 'bin/python');
  const quietly = ['--quiet', '--no-compile', '--disable-pip-version-check'];
  return {
    python,
    install: () =>
      once(folder, requirements, async () => {
        await rm(folder, { recursive: true, force: true });
        await run('python3', ['-m', 'venv', folder]);
        await run(python, ['-m', 'pip', 'install', ...quietly, '--requirement', requirements]);
      }),
  };
}

/** The packages of `packages/NAME`, in its own `node_modules`. */
export function packagesOf(name) {
  const folder = pathOf(`packages/${name}`);
  const quietly = ['--ignore-scripts', '--no-fund', '--no-audit', '--loglevel=error'];
  return {
    folder,
    install: () =>
      once(path.join(folder, 'node_modules'), path.join(folder, 'package-lock.json'), () =>
        run('npm', ['ci', ...quietly], { cwd: folder }),
      ),
  };
}

/** The Rust program in `drivers/NAME`. Cargo itself knows whether there is something to build. */
export function cargoProgram(name) {
  const folder = path.join(TARGET, name);
  const manifest = pathOf(`drivers/${name}/Cargo.toml`);
  const args = ['build', '--locked', '--quiet', '--manifest-path', manifest];
  return {
    program: path.join(folder, 'debug', `${name}-driver`),
    install: () => run('cargo', [...args, '--target-dir', folder]),
  };
}
