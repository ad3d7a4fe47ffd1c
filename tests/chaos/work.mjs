/**
 * Work that shows afterwards what was executed: each command has a mark that its page reports to the
 * site, synchronously, so that a reply means that the report has arrived.
 */

import { connectRaw } from '../harness/raw_client.mjs';
import { startSite } from '../harness/site.mjs';

/** A site with a page for each name, and the marks that its pages have reported. */
export async function startMarkedSite(names) {
  const executed = [];
  const pages = Object.fromEntries(names.map((name) => [`/${name}`, `<title>${name}</title>`]));
  const site = await startSite({
    ...pages,
    '/ran': (request, response) => {
      executed.push(Number(new URL(request.url, 'http://site').searchParams.get('mark')));
      response.end();
    },
  });
  return { ...site, executed };
}

let lastMark = 0;

/**
 * A command that reports its mark and evaluates to `value`, an expression.
 * @param {string} value
 */
export function marked(value = '0') {
  lastMark += 1;
  const report = `{ const request = new XMLHttpRequest();
    request.open('POST', '/ran?mark=${lastMark}', false); request.send(); } /* #${lastMark}# */`;
  const params = { expression: `${report} ${value}`, awaitPromise: true, returnByValue: true };
  return { mark: lastMark, params };
}

/** A command that never ends by itself. */
export const hanging = () => marked('new Promise(() => {})');

/** Has the page log a mark every few milliseconds, until it goes away. */
export const startLogging = {
  expression: `let mark = 0; setInterval(() => console.log('#' + ++mark + '#'), 20); 0`,
};

/** Longer than anything takes. A request without a reply must not keep a test from ending. */
const NO_REPLY_MS = 100_000;

/** A raw client, and what `violationsOf` wants to know of it. */
export async function connectRecorded(url) {
  const client = await connectRaw(url);
  const { request } = client;
  client.request = async (method, ...rest) => {
    let timer;
    const late = new Promise((_resolve, reject) => {
      timer = setTimeout(() => reject(new Error(`${method} has no reply`)), NO_REPLY_MS);
    });
    const left = client.closed.then(() => ({ error: { code: 0, message: 'The client left.' } }));
    return Promise.race([request(method, ...rest), late, left]).finally(() => clearTimeout(timer));
  };
  const record = {
    received: client.messages,
    sent: client.sent,
    hasLeft: false,
    isSettled: false,
  };
  client.closed.then(() => (record.hasLeft = true));
  /** Ends its work. From now on, a request without a reply and a lost message before this one are violations. */
  const settle = async () => {
    await client.send('Target.getTargets');
    record.isSettled = true;
  };
  return { client, record, settle };
}
