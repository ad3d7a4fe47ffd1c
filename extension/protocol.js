/**
 * The words between extension and relay: how messages are written and read. Knows nothing of sockets or of Chrome.
 * `fixtures/wire/` holds one file a message; this module and the relay are both tested against them.
 */

/** The version of this protocol, said in `hello`. */
export const PROTOCOL = 1;

/**
 * @typedef {{ id?: number, method: string, params?: Record<string, any> }} Call
 * @typedef {{ tabId: number, url: string, title: string, targetId?: string, status?: string, openerTabId?: number,
 *   windowId: number, attached: boolean }} TabReport
 */

/** @param {number} id @param {unknown} result */
export function reply(id, result) {
  return JSON.stringify({ id, result: result ?? {} });
}

/** @param {number} id @param {unknown} error */
export function errorReply(id, error) {
  return JSON.stringify({ id, error: describeError(error) });
}

/** @param {string} method @param {object} [params] */
export function event(method, params) {
  return JSON.stringify(params === undefined ? { method } : { method, params });
}

/**
 * A frame is one message, or an array of several. Returns none when the text is not JSON of that shape.
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
 * Several messages that wait together share a frame.
 * @param {string[]} messages
 */
export function joinFrame(messages) {
  return messages.length === 1 ? /** @type {string} */ (messages[0]) : `[${messages.join(',')}]`;
}

/**
 * Chrome gives a refused CDP command as JSON in the text of an error; everything else is plain text.
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
