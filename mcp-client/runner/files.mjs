/**
 * The folder for files that an agent gets from the browser, and the files that it gives to pages. Never replaces a file.
 */

import { chmod, mkdir, open, rm, stat } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';

import { isPlain, show } from './output.mjs';

/** @typedef {{ path: string, name: string, bytes: number }} SavedFile */

/** Of a file name, in characters. File systems accept 255 bytes, and a character may have four. */
const MAX_NAME = 60;
const MAX_COPIES = 1_000;

export class Files {
  /** Set before anything is saved. */
  folder = '';

  /**
   * Creates a file and lets `write` fill it.
   * @param {string} name as a page or site suggests it
   * @param {(file: string) => Promise<unknown>} write
   * @returns {Promise<SavedFile>}
   */
  async save(name, write) {
    const file = await this.#reserve(safeName(name));
    try {
      await write(file);
      // A copy has the permissions of its source.
      await chmod(file, 0o600);
      return { path: file, name: path.basename(file), bytes: (await stat(file)).size };
    } catch (error) {
      await rm(file, { force: true });
      throw error;
    }
  }

  /** Makes sure that the folder exists. What is in it is nobody else's business. */
  async create() {
    await mkdir(this.folder, { recursive: true, mode: 0o700 });
  }

  /** Finds a free name and takes it. @param {string} name */
  async #reserve(name) {
    await this.create();
    const { name: stem, ext } = path.parse(name);
    for (let copy = 0; copy < MAX_COPIES; copy += 1) {
      const file = path.join(this.folder, copy === 0 ? name : `${stem} (${copy})${ext}`);
      try {
        await (await open(file, 'wx', 0o600)).close();
        return file;
      } catch (error) {
        if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'EEXIST') {
          throw error;
        }
      }
    }
    throw new Error(
      `There are too many files like ${name} in ${this.folder}. Remove some of them.`,
    );
  }

  /**
   * Files to upload, as Playwright takes them.
   * @param {any} given a path, `{ name, content, type }`, or a list of these
   */
  async toUpload(given) {
    const files = await Promise.all([given].flat().map((file) => this.#toUpload(file)));
    if (files.length === 0) {
      throw new TypeError('upload takes at least one file');
    }
    const paths = files.filter((file) => typeof file === 'string');
    const payloads = files.filter((file) => typeof file === 'object');
    if (paths.length > 0 && payloads.length > 0) {
      throw new TypeError('upload takes paths or contents, not both in one call');
    }
    return paths.length > 0 ? paths : payloads;
  }

  /** @param {any} file */
  async #toUpload(file) {
    if (typeof file === 'string') {
      return this.#find(file);
    }
    const { path: place, name, content, buffer = content, type, mimeType = type } = Object(file);
    if (isSaved(file)) {
      return this.#find(place);
    }
    if (!name || buffer === undefined) {
      throw new TypeError(`upload takes a path or { name, content, type }, not ${show(file)}`);
    }
    const isData = isPlain(Object(buffer)) || Array.isArray(buffer);
    const bytes = Buffer.from(isData ? JSON.stringify(buffer) : buffer);
    return { name: String(name), mimeType: mimeType ?? 'application/octet-stream', buffer: bytes };
  }

  /** @param {string} file relative to the home or to the folder, or absolute */
  resolve(file) {
    return path.resolve(this.folder, file.replace(/^~(?=\/)/, os.homedir()));
  }

  /** @param {string} file */
  async #find(file) {
    const found = this.resolve(file);
    await stat(found).catch(() => {
      throw new Error(`There is no file ${found}. Pass its absolute path.`);
    });
    return found;
  }
}

/** What `download()` and `pdf()` return. @param {any} file */
const isSaved = (file) => typeof file?.path === 'string' && typeof file.bytes === 'number';

/** A name without folders, or what would hide the file or confuse a terminal. @param {string} name */
function safeName(name) {
  const plain = name
    .replace(/[\p{C}/\\:*?"<>|]+/gu, ' ')
    .replace(/\s+/g, ' ')
    .trim();
  const { name: stem, ext } = path.parse(plain.replace(/^[\s.]+/, ''));
  const end = [...ext].slice(0, MAX_NAME / 4);
  return [...[...stem].slice(0, MAX_NAME - end.length), ...end].join('') || 'file';
}
