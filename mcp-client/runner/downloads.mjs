/**
 * Downloads of the pages that an agent uses. Every file is saved where the agent can read it: what Playwright has is gone when
 * it disconnects. Each is announced when it is complete.
 */

/** @import { BrowserContext, Download } from 'playwright-core' */
/** @import { Files, SavedFile } from './files.mjs' */

import { within } from './timing.mjs';

/** How long a call waits at its end, so that a small file is announced by the call that started it. */
const GRACE_MS = 1_000;

export class Downloads {
  #files;
  #announce;
  /** Those that are not complete, and when they have been announced. @type {Map<Download, Promise<void>>} */
  #pending = new Map();
  /** Those of them that the agent knows to be under way. @type {WeakSet<Download>} */
  #known = new WeakSet();
  /** @type {SavedFile | undefined} */
  #last;
  /** Whoever waits for a download to begin, the first one first. @type {Set<(saved: { file: Promise<SavedFile> }) => void>} */
  #waiting = new Set();

  /**
   * @param {Files} files
   * @param {(notice: string, known?: string) => void} announce
   */
  constructor(files, announce) {
    this.#files = files;
    this.#announce = announce;
  }

  /** Follows a connection, from its start. @param {BrowserContext} context */
  watch(context) {
    context.on('download', (download) => this.#onDownload(download));
  }

  /** @param {Download} download */
  #onDownload(download) {
    const name = download.suggestedFilename();
    const file = this.#files.save(name, (place) => download.saveAs(place));
    // Each download belongs to one of them, so that several can wait at the same time.
    const [start] = this.#waiting;
    if (start) {
      this.#waiting.delete(start);
      start({ file });
    }
    /** @param {string} notice @param {string} [known] */
    const end = (notice, known) => {
      this.#pending.delete(download);
      this.#announce(notice, known);
    };
    const announced = file.then(
      (saved) => {
        this.#last = saved;
        end(`Downloaded ${saved.path} (${saved.bytes} bytes)`, saved.path);
      },
      (error) => end(`The download of ${name} failed: ${messageOf(error)}`),
    );
    this.#pending.set(download, announced);
  }

  /** A call ends. */
  async settle() {
    const fresh = () => [...this.#pending].filter(([download]) => !this.#known.has(download));
    const begun = fresh().map(([, announced]) => announced);
    if (begun.length > 0) {
      await within(GRACE_MS, Promise.allSettled(begun));
    }
    for (const [download] of fresh()) {
      this.#known.add(download);
      const name = download.suggestedFilename();
      this.#announce(`Downloading ${name}. To wait for it: await download()`);
    }
  }

  /**
   * The file that an action downloads.
   * @param {() => unknown} action
   * @param {number} timeoutMs until the download begins
   * @param {number} mostMs until it is complete
   * @returns {Promise<SavedFile>}
   */
  async from(action, timeoutMs, mostMs) {
    /** @type {(saved: { file: Promise<SavedFile> }) => void} */
    let start = () => {};
    /** @type {Promise<{ file: Promise<SavedFile> }>} */
    const started = new Promise((resolve) => (start = resolve));
    this.#waiting.add(start);
    try {
      // `page.goto` fails with an address that is downloaded. In an object, because a promise of a promise would wait for both.
      const acted = Promise.resolve(action()).catch((error) => {
        if (!/Download is starting/.test(messageOf(error))) {
          throw error;
        }
      });
      const begun = await within(timeoutMs, Promise.all([started, acted]));
      if (!begun) {
        throw new Error(`No download began within ${timeoutMs / 1_000} s.`);
      }
      return await complete(begun[0].file, mostMs);
    } finally {
      this.#waiting.delete(start);
    }
  }

  /** Waits for the downloads under way, and returns the last one. @param {number} mostMs @returns {Promise<SavedFile>} */
  async last(mostMs) {
    await complete(Promise.allSettled(this.#pending.values()), mostMs);
    if (!this.#last) {
      throw new Error(
        'No download was completed. Pass download() what starts one: a locator or a function.',
      );
    }
    return this.#last;
  }
}

/** @template T @param {Promise<T>} file @param {number} mostMs @returns {Promise<T>} */
async function complete(file, mostMs) {
  const saved = await within(mostMs, file);
  if (saved === undefined) {
    throw new Error(
      'The download goes on. Wait for it with download(), in a call with a longer timeout.',
    );
  }
  return saved;
}

/** @param {any} error @returns {string} */
const messageOf = (error) => String(error?.message ?? error).split('\n')[0] ?? '';
