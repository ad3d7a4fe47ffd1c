/**
 * Splits the time of a call through Tabwire between Chrome, the extension, the relay and the
 * transport between them. The extension's service worker times each call from its arrival to its
 * reply, and within it the time that `chrome.debugger` takes. The relay's share is its processor
 * time, because it only forwards.
 */

import { processorTime } from '../harness/process_stats.mjs';
import { median } from './figures.mjs';
import { openWorker } from './worker.mjs';

const ROUNDS = 5;
const PROFILED = ['evaluate', 'goto', 'click', 'fill', 'newPage'];

/**
 * Runs in the service worker. Records how long each call stays there, and how long Chrome has it.
 */
function install() {
  /** @type {Map<number, number>} */
  const arrivals = new Map();
  const records = { inside: /** @type {number[]} */ ([]), chrome: /** @type {number[]} */ ([]) };
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
      records.inside.push(performance.now() - (arrivals.get(Number(id)) ?? NaN));
      arrivals.delete(Number(id));
    }
  };
  const sendCommand = chrome.debugger.sendCommand.bind(chrome.debugger);
  chrome.debugger.sendCommand = (...args) => {
    const started = performance.now();
    const answer = sendCommand(...args);
    const onAnswer = () => records.chrome.push(performance.now() - started);
    answer.then(onAnswer, onAnswer);
    return answer;
  };
  globalThis.takeBenchRecords = () => ({
    inside: records.inside.splice(0),
    chrome: records.chrome.splice(0),
  });
}

/** A single command of a raw session, often enough to average out. */
const singleCommand = {
  name: 'one bare command',
  times: 300,
  run: async (side) => {
    side.session ??= await side.context.newCDPSession(side.page);
    await side.session.send('Runtime.evaluate', { expression: '6 * 7' });
  },
};

const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

/**
 * Pages that profiled actions opened. They are closed after the figures are read, because closing
 * is not measured.
 */
const opened = [];

/** The same action, without cleaning up after each run. @param {any} action */
const withoutCleanUp = (action) => ({
  ...action,
  after: undefined,
  async run(side) {
    const result = await action.run(side);
    if (action.after) {
      opened.push(result);
    }
  },
});

/** @param {any} setup @param {any} worker @param {any} action */
async function profileAction({ chain, tabwire, own, measure }, worker, action) {
  const takeRecords = () => worker.run(() => globalThis.takeBenchRecords());
  const [totals, ownTotals] = [[], []];
  for (let round = 0; round < ROUNDS; round += 1) {
    totals.push(await measure(action, tabwire));
    ownTotals.push(await measure(action, own));
  }
  await takeRecords();
  const { pid } = chain.relay.child;
  const before = await processorTime(pid);
  await measure(withoutCleanUp(action), tabwire);
  const relay = (await processorTime(pid)) - before;
  const { inside, chrome } = await takeRecords();
  await Promise.all(opened.splice(0).map((page) => page.close()));
  return {
    name: action.name,
    tabwire: median(totals),
    own: median(ownTotals),
    calls: inside.length / action.times,
    inChrome: median(chrome),
    // A service worker's clock ticks every 0.1 ms, so a median of short times would say little.
    inExtension: Math.max(0, mean(inside) - mean(chrome)),
    inRelay: relay / inside.length,
  };
}

/** @param {any} setup */
export async function profile(setup) {
  const worker = await openWorker(setup.chain);
  await worker.run(install);
  const rows = [];
  const actions = setup.actions.filter(({ name }) => PROFILED.includes(name));
  for (const action of [singleCommand, ...actions]) {
    rows.push(await profileAction(setup, worker, action));
  }
  await worker.close();
  if (setup.json) {
    console.log(JSON.stringify(rows, null, 2));
  } else {
    print(rows);
  }
}

/** @param {any[]} rows */
function print(rows) {
  const line = (...[name, ...cells]) =>
    console.log(name.padEnd(18) + cells.map((cell) => cell.padStart(13)).join(''));
  line('milliseconds', 'Tabwire', 'own port', 'calls', 'per call:', 'Chrome', 'extension', 'relay');
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
  console.log(`calls: from the relay to the extension, per action; several may be in flight at once
Chrome: median of chrome.debugger.sendCommand; extension: mean of its own code; relay: mean processor time
The rest of a single command is transport: two sockets, and messages between Chrome's processes`);
}
