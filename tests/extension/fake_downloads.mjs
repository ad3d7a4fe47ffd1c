/**
 * The downloads of a fake browser. As in Chrome, a download gets its file name only when every
 * listener has been asked, the name is announced when the file has been moved there, and a file can
 * be removed only when it is complete.
 */

import { FakeEvent } from './fake_event.mjs';

export class FakeDownloads {
  /** @type {Map<number, any>} By id, as `chrome.downloads` describes them. */
  items = new Map();
  #lastId = 0;
  #events = {
    onCreated: new FakeEvent(),
    onDeterminingFilename: new FakeEvent(),
    onChanged: new FakeEvent(),
  };

  get isWatched() {
    return Object.values(this.#events).some((event) => event.hasListeners);
  }

  makeApi(api) {
    const get = (id, state) => {
      const item = this.items.get(id);
      if (item?.state !== state) {
        throw new Error('Download must be in another state');
      }
      return item;
    };
    return {
      ...this.#events,
      search: api('search', ({ id, state }) =>
        structuredClone(
          [...this.items.values()].filter(
            (item) => item.id === (id ?? item.id) && item.state === (state ?? item.state),
          ),
        ),
      ),
      cancel: api('cancel', (id) => {
        if (this.items.get(id)?.state === 'in_progress') {
          this.interrupt(id);
        }
      }),
      removeFile: api('removeFile', (id) => {
        get(id, 'complete').exists = false;
      }),
      erase: api('erase', ({ id }) => (this.items.delete(id) ? [id] : [])),
    };
  }

  /** Chrome creates a download and asks for its file name. Returns its id. */
  start(url, { suggested = 'report.txt', asks = true, moves = true, ...more } = {}) {
    const id = (this.#lastId += 1);
    const item = {
      id,
      url,
      finalUrl: url,
      filename: '',
      state: 'in_progress',
      bytesReceived: 0,
      totalBytes: 38,
      exists: true,
      ...more,
    };
    this.items.set(id, item);
    this.#events.onCreated.fire({ ...item });
    if (asks) {
      this.askForName(id, suggested, moves);
    }
    return id;
  }

  /** Without a listener that answers later, Chrome chooses the name itself. */
  askForName(id, suggested, moves = true) {
    const item = this.items.get(id);
    const choose = (suggestion) => {
      item.filename = `/home/user/Downloads/${suggestion?.filename ?? suggested}`;
      if (moves) {
        this.move(id);
      }
    };
    const answers = this.#events.onDeterminingFilename.fire(
      { ...item, filename: suggested },
      choose,
    );
    if (!answers.includes(true)) {
      choose();
    }
  }

  /** What there is of the file is moved to its place. */
  move(id) {
    const { filename } = this.items.get(id);
    this.#events.onChanged.fire({ id, filename: { previous: '', current: filename } });
  }

  complete(id) {
    const item = this.items.get(id);
    Object.assign(item, { state: 'complete', bytesReceived: item.totalBytes });
    this.#change(id, 'complete');
  }

  interrupt(id) {
    this.items.get(id).state = 'interrupted';
    this.#change(id, 'interrupted');
  }

  #change(id, state) {
    this.#events.onChanged.fire({ id, state: { previous: 'in_progress', current: state } });
  }
}
