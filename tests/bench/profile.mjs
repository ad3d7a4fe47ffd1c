/**
 * Whose time it is: splits what an action takes through Tabwire between Chrome, the extension, the relay and the ways
 * between them. Inside the extension's service worker each call is timed from its arrival to its reply, and within it the
 * time that `chrome.debugger` has it; the relay's share is its processor time, because it does nothing but pass on.
 */

import { readFile } from 'node:fs/promises';

import { chromium as playwright } from 'playwright-core';

import { EXTENSION_ID } from '../harness/processes.mjs';

/** Runs in the service worker: wraps what a call passes through. */
function install() {
  const calls = new Map();
  const totals = { calls: 0, extension: 0, chrome: 0 };
  const parse = JSON.parse;
  JSON.parse = (text, ...rest) => {
    const arrived = performance.now();
    const value = parse(text, ...rest);
    for (const call of Array.isArray(value) ? value : [value]) {
      if (call?.id !== undefined && call.method !== undefined) {
        calls.set(call.id, arrived);
      }
    }
    return value;
  };
  const send = WebSocket.prototype.send;
  WebSocket.prototype.send = function (text) {
    send.call(this, text);
    const sent = performance.now();
    for (const [, id] of text.matchAll(/\{"id":(\d+),"(?:result|error)"/g)) {
      const arrived = calls.get(Number(id));
      if (arrived !== undefined) {
        calls.delete(Number(id));
        totals.calls += 1;
        totals.extension += sent - arrived;
      }
    }
  };
  const timed = (object, name) => {
    const original = object[name].bind(object);
    object[name] = (...args) => {
      const started = performance.now();
      const result = original(...args);
      const done = () => (totals.chrome += performance.now() - started);
      result.then(done, done);
      return result;
    };
  };
  timed(chrome.debugger, 'sendCommand');
  timed(chrome.debugger, 'attach');
  timed(chrome.debugger, 'getTargets');
  timed(chrome.tabs, 'create');
  timed(chrome.tabs, 'get');
  globalThis.benchTotals = totals;
}

/** @param {any} chain */
async function openWorker(chain) {
  const browser = await playwright.connectOverCDP(chain.chromium.ownUrl);
  const context = browser.contexts()[0];
  const isOurs = (worker) => worker.url().includes(EXTENSION_ID);
  const worker = context.serviceWorkers().find(isOurs) ?? (await context.waitForEvent('serviceworker', isOurs));
  return { worker, close: () => browser.close() };
}

/** Milliseconds that a process has had a processor; only Linux tells. @param {number} pid */
async function processorTime(pid) {
  const text = await readFile(`/proc/${pid}/schedstat`, 'utf8').catch(() => '0');
  return Number(text.split(' ')[0]) / 1e6;
}

/** One bare command of a bare session, as often as it takes to average out. */
const bare = {
  name: 'one bare command',
  times: 300,
  run: async (side) => {
    side.session ??= await side.context.newCDPSession(side.page);
    await side.session.send('Runtime.evaluate', { expression: '6 * 7' });
  },
};

/** @param {any} setup */
export async function profile({ chain, tabwire, own, actions, measure, median, json }) {
  const { worker, close } = await openWorker(chain);
  await worker.evaluate(install);
  const read = () => worker.evaluate(() => ({ ...globalThis.benchTotals }));
  const wanted = ['evaluate', 'goto', 'click', 'fill', 'newPage'];
  const chosen = [bare, ...actions.filter(({ name }) => wanted.includes(name))];
  const rows = [];
  for (const action of chosen) {
    for (const side of [tabwire, own]) {
      await measure(action, side);
    }
    const total = median([await measure(action, tabwire), await measure(action, tabwire), await measure(action, tabwire)]);
    const ofOwn = median([await measure(action, own), await measure(action, own), await measure(action, own)]);
    const [before, relayBefore] = [await read(), await processorTime(chain.relay.child.pid)];
    await measure({ ...action, after: undefined, run: keepingWhatItMakes(action) }, tabwire);
    const [after, relayAfter] = [await read(), await processorTime(chain.relay.child.pid)];
    const each = (amount) => amount / action.times;
    const inChrome = each(after.chrome - before.chrome);
    const inExtension = each(after.extension - before.extension) - inChrome;
    const inRelay = each(relayAfter - relayBefore);
    rows.push({ name: action.name, total, own: ofOwn, extra: total - ofOwn, calls: each(after.calls - before.calls), inChrome, inExtension, inRelay });
    await Promise.all(made.splice(0).map((page) => page.close()));
  }
  await close();
  if (json) {
    console.log(JSON.stringify(rows, null, 2));
  } else {
    print(rows);
  }
}

/** @type {import('playwright-core').Page[]} Closed only after the figures are read, because closing is not what is measured. */
const made = [];

/** @param {any} action */
function keepingWhatItMakes(action) {
  return async (side) => {
    const result = await action.run(side);
    if (action.after) {
      made.push(result);
    }
  };
}

/** @param {any[]} rows */
function print(rows) {
  const line = (...[name, ...cells]) => console.log(name.padEnd(18) + cells.map((cell) => cell.padStart(14)).join(''));
  line('milliseconds', 'Tabwire', 'own port', 'difference', 'calls', 'chrome.*', 'extension', 'relay (cpu)', 'rest a call');
  for (const { name, total, own, extra, calls, inChrome, inExtension, inRelay } of rows) {
    const rest = (total - inChrome - inExtension - inRelay) / calls;
    line(name, ...[total, own, extra].map((ms) => ms.toFixed(2)), calls.toFixed(1), ...[inChrome, inExtension, inRelay, rest].map((ms) => ms.toFixed(3)));
  }
  console.log('calls: commands to the extension; chrome.* and extension: the sum over them, which may overlap; rest: sockets, and Playwright itself');
}
