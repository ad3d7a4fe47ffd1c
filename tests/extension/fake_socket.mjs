/**
 * A WebSocket whose remote end is the test. Nothing goes over the network, and nothing happens by
 * itself.
 */

export class FakeSocket {
  /** @type {FakeSocket[]} Every socket since `reset`, oldest first. */
  static all = [];

  static reset() {
    FakeSocket.all = [];
  }

  static get last() {
    return FakeSocket.all.at(-1);
  }

  /** The text of each frame sent. */
  frames = [];
  isClosed = false;

  constructor(url) {
    this.url = url;
    FakeSocket.all.push(this);
  }

  send(frame) {
    this.frames.push(frame);
  }

  /** The messages sent, regardless of how they were framed. */
  get messages() {
    return this.frames.flatMap((frame) => JSON.parse(frame));
  }

  /** Does not call `onclose`: Chrome fires it later. */
  close() {
    this.isClosed = true;
  }

  // ---- remote end ----

  receive(message) {
    const data = typeof message === 'string' ? message : JSON.stringify(message);
    this.onmessage?.({ data });
  }

  /** The relay closes the connection, or dies. */
  drop(code = 1006) {
    this.onclose?.({ code });
  }
}
