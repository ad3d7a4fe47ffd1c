/** A WebSocket whose other end is the test: nothing is on the network, and nothing happens by itself. */

export class FakeSocket {
  /** @type {FakeSocket[]} Every socket since `reset`, oldest first. */
  static all = [];

  static reset() {
    FakeSocket.all = [];
  }

  static get last() {
    return FakeSocket.all.at(-1);
  }

  /** The frames that were sent, as text. */
  frames = [];
  isClosed = false;

  constructor(url) {
    this.url = url;
    FakeSocket.all.push(this);
  }

  send(frame) {
    this.frames.push(frame);
  }

  /** The messages that were sent, whichever frames they shared. */
  get messages() {
    return this.frames.flatMap((frame) => JSON.parse(frame));
  }

  /** Chrome tells of the end later, so this does not call `onclose`. */
  close() {
    this.isClosed = true;
  }

  // ---- the test's end ----

  opens() {
    this.onopen();
  }

  receives(message) {
    this.onmessage({ data: typeof message === 'string' ? message : JSON.stringify(message) });
  }

  /** The other end has closed, or was never there. */
  ends() {
    this.onclose();
  }
}
