/** An event of a Chrome API. The test triggers it with `fire`. */
export class FakeEvent {
  #listeners = new Set();

  addListener(listener) {
    this.#listeners.add(listener);
  }

  removeListener(listener) {
    this.#listeners.delete(listener);
  }

  get hasListeners() {
    return this.#listeners.size > 0;
  }

  /** Returns what the listeners return. */
  fire(...args) {
    return [...this.#listeners].map((listener) => listener(...args));
  }
}
