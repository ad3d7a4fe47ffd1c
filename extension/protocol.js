/**
 * The protocol between extension and relay: how messages are written and read. Never touches
 * sockets or Chrome. `fixtures/wire/` has an example of each message. The tests of this module and
 * of the relay both check them.
 */

/** The protocol version, sent in `challenge` and `hello`. */
export const PROTOCOL = 2;

// The codes with which the relay closes a connection that it does not want.
export const CLOSE_NOT_PAIRED = 4401;
export const CLOSE_WRONG_PROOF = 4403;
export const CLOSE_OTHER_VERSION = 4406;
/** After `busy`; and in mid-connection, when another browser takes over. */
export const CLOSE_SLOT_TAKEN = 4409;

/**
 * @typedef {{ id?: number, method: string, params?: Record<string, any> }} Call
 * @typedef {{ tabId: number, url: string, title: string, targetId?: string, status?: string,
 *   openerTabId?: number, windowId: number, attached: boolean, frames?: RemoteFrame[],
 *   restricted?: boolean, pdf?: boolean }} TabReport
 * @typedef {{ targetId: string, url: string }} RemoteFrame A frame in a process of its own.
 * @typedef {{ name: string, tabs: number[] }} Agent A connected client, and the tabs it uses.
 * @typedef {{ port: number, until: number }} OpenPort A port of the relay that needs no token. It closes
 *   at this time, in milliseconds since 1970.
 * @typedef {{ name?: string, agents: Agent[], openPort?: OpenPort }} RelayStatus
 */

/** @param {number} id @param {unknown} result */
export function reply(id, result) {
  return JSON.stringify({ id, result: result ?? {} });
}

/** @param {number} id @param {unknown} error */
export function errorReply(id, error) {
  return JSON.stringify({ id, error: describeError(error) });
}

/** CDP's code for parameters that cannot be accepted. */
export const INVALID_PARAMS = -32602;

/**
 * An error that reaches the client with this code, as Chrome's own errors do.
 * @param {string} message
 * @param {number} [code]
 * @param {string} [data]
 */
export function cdpError(message, code = -32000, data) {
  return new Error(JSON.stringify({ code, message, data }));
}

/** @param {string} method @param {object} [params] */
export function event(method, params) {
  return JSON.stringify(params === undefined ? { method } : { method, params });
}

/**
 * Reads a frame: one message, or an array of several. Skips whatever is not a message.
 * @param {string} text
 * @returns {Call[]}
 */
export function parseFrame(text) {
  let frame;
  try {
    frame = JSON.parse(text);
  } catch {
    return [];
  }
  const calls = Array.isArray(frame) ? frame : [frame];
  return calls.filter((call) => typeof call?.method === 'string');
}

/**
 * Reads the parameters of `status`. Skips whatever has another shape.
 * @param {Record<string, any> | null} [params]
 * @returns {RelayStatus}
 */
export function parseStatus(params) {
  const { name, clients, openPort } = params ?? {};
  const agents = (Array.isArray(clients) ? clients : [])
    .filter((client) => typeof client?.name === 'string' && Array.isArray(client.tabs))
    .map((client) => ({ name: client.name, tabs: client.tabs.filter(Number.isInteger) }));
  const { port, until } = openPort ?? {};
  return {
    agents,
    ...(typeof name === 'string' ? { name } : {}),
    ...(Number.isInteger(port) && Number.isFinite(until) ? { openPort: { port, until } } : {}),
  };
}

/**
 * Writes messages that are sent together as one frame.
 * @param {string[]} messages
 */
export function joinFrame(messages) {
  return messages.length === 1 ? /** @type {string} */ (messages[0]) : `[${messages.join(',')}]`;
}

/**
 * When a CDP command fails, Chrome puts the error's JSON into the message. Every other error is
 * plain text.
 * @param {unknown} error
 * @returns {string | { code: number, message: string, data?: string }}
 */
export function describeError(error) {
  const text = error instanceof Error ? error.message : String(error);
  if (text.startsWith('{')) {
    try {
      const coded = JSON.parse(text);
      if (typeof coded.code === 'number' && typeof coded.message === 'string') {
        return coded;
      }
    } catch {
      // Plain text that happens to start with a brace.
    }
  }
  return text;
}
