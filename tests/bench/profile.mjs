/**
 * Whose time it is: splits what a call through Tabwire takes between Chrome, the extension, the relay and the ways between
 * them. Inside the extension's service worker each call is timed from its arrival to its reply, and within it the time that
 * `chrome.debugger` has it; the relay's share is its processor time, because it does nothing but pass on.
 */

import { chromium as playwright } from 'playwright-core';

import { EXTENSION_ID } from '../harness/processes.mjs';
import { median, processorTime } from './figures.mjs';

/** Runs in the service worker: notes how long each call is there, and how long Chrome has it. */
function install() {
  /** @type {Map<number, number>} */
  const arrivals = new Map();
  const notes = { inside: /** @type {number[]} */ ([]), chrome: /** @type {number[]} */ ([]) };
  const parse = JSON.parse;
  JSON.parse = (text, ...rest) => {
    const arrived = performance.now();
    const value = parse(text, ...rest);
    for (const call of Array.isArray(value) ? value : [value]) {
      if (call?.id !== undefined && call.method !== undefined) {
        arrivals.set(call.id, arrived);
      }
    }
    return value;
  };
  const send = WebSocket.prototype.send;
  WebSocket.prototype.send = function (text) {
    send.call(this, text);
    for (const [, id] of text.matchAll(/\{"id":(\d+),"(?:result|error)"/g)) {
      notes.inside.push(performance.now() - (arrivals.get(Number(id)) ?? NaN));
      arrivals.delete(Number(id));
    }
  };
  const sendCommand = chrome.debugger.sendCommand.bind(chrome.debugger);
  chrome.debugger.sendCommand = (...args) => {
    const started = performance.now();
    const answer = sendCommand(...args);
    const onAnswer = () => notes.chrome.push(performance.now() - started);
    answer.then(onAnswer, onAnswer);
    return answer;
  };
  globalThis.takeBenchNotes = () => ({
    inside: notes.inside.splice(0),
    chrome: notes.chrome.splice(0),
  });
}

/** @param {any} chain */
async function openWorker(chain) {
  const browser = await playwright.connectOverCDP(chain.chromium.ownUrl);
  const context = browser.contexts()[0];
  const isOurs = (worker) => worker.url().includes(EXTENSION_ID);
  const worker =
    context.serviceWorkers().find(isOurs) ?? (await context.waitForEvent('serviceworker', isOurs));
  return { worker, close: () => browser.close() };
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
export async function profile({ chain, tabwire, own, actions, measure, json }) {
  const { worker, close } = await openWorker(chain);
  await worker.evaluate(install);
  const takeNotes = () => worker.evaluate(() => globalThis.takeBenchNotes());
  const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const wanted = ['evaluate', 'goto', 'click', 'fill', 'newPage'];
  const rows = [];
  for (const action of [bare, ...actions.filter(({ name }) => wanted.includes(name))]) {
    const [totals, ofOwn] = [[], []];
    for (let round = 0; round < 5; round += 1) {
      totals.push(await measure(action, tabwire));
      ofOwn.push(await measure(action, own));
    }
    await takeNotes();
    const relayBefore = await processorTime(chain.relay.child.pid);
    await measure({ ...action, after: undefined, run: keepingWhatItMakes(action) }, tabwire);
    const relay = (await processorTime(chain.relay.child.pid)) - relayBefore;
    const { inside, chrome } = await takeNotes();
    const calls = inside.length / action.times;
    // The clock of a service worker ticks every tenth of a millisecond, so a median of short times says little.
    const [inChrome, inExtension] = [median(chrome), Math.max(0, mean(inside) - mean(chrome))];
    rows.push({
      name: action.name,
      tabwire: median(totals),
      own: median(ofOwn),
      calls,
      inChrome,
      inExtension,
      inRelay: relay / inside.length,
    });
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
  const line = (...[name, ...cells]) =>
    console.log(name.padEnd(18) + cells.map((cell) => cell.padStart(13)).join(''));
  line(
    'milliseconds',
    'Tabwire',
    'own port',
    'calls',
    'of a call:',
    'Chrome',
    'extension',
    'relay',
  );
  for (const { name, tabwire, own, calls, inChrome, inExtension, inRelay } of rows) {
    line(
      name,
      tabwire.toFixed(2),
      own.toFixed(2),
      calls.toFixed(1),
      '',
      ...[inChrome, inExtension, inRelay].map((ms) => ms.toFixed(3)),
    );
  }
  console.log(`calls: from the relay to the extension, for one action; several may be under way at once
Chrome: chrome.debugger.sendCommand, the middle one; extension: its own code, on average; relay: processor time, on average
What a bare command takes beyond these three are the ways between: two sockets, and Chrome's processes`);
}
