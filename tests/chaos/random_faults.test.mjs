/**
 * Random faults under clients that do random work, for a while. What clients may find: a result, an
 * error that names a tab or session that is gone, or an error that says that the outcome is unknown or
 * that the command was not sent. Whatever happens, the history holds, and in the end everything works.
 *
 *     TABWIRE_CHAOS_SEED=7 TABWIRE_CHAOS_SECONDS=60 node --test chaos/random_faults.test.mjs
 */

import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';

import { untilDetached } from '../harness/chain.mjs';
import { residentMemory } from '../harness/process_stats.mjs';
import { startChain, temporaryFolder } from '../harness/processes.mjs';
import { times } from './counts.mjs';
import {
  chromiumCrash,
  familyOf,
  reload,
  startChromiumAgain,
  whileAsleep,
  workerCrash,
  workerStop,
} from './faults.mjs';
import { readRecording, violationsOf } from './history.mjs';
import { randomFrom } from './random.mjs';
import { reportRow } from './report.mjs';
import { connectRecorded, marked, startMarkedSite } from './work.mjs';

const seconds = Number(process.env.TABWIRE_CHAOS_SECONDS ?? times({ short: 15, full: 3_600 }));
const seed = Number(
  process.env.TABWIRE_CHAOS_SEED ?? times({ short: 1, full: Date.now() % 1_000_000 }),
);

const MAX_CLIENTS = 3;
const MAX_TABS = 6;
/** How often something fails, among the steps of the work. */
const STEPS_PER_FAULT = 40;
/** How many steps can be under way at once, and how long a pause between two can be. */
const MAX_RUNNING = 8;
const MAX_PAUSE_MS = 130;

/** @typedef {ReturnType<typeof randomFrom>} Random */

/** Errors that a client may get while parts fail. */
const EXPECTED = [
  /^The client left\.$/,
  /^Session with given id not found\.$/,
  /^No target with given id( found: \w+)?$/,
  /[;.] (its|the|The) outcome is unknown\.( Try again later or reload the page\.)?$/,
  /^No browser connected\. .* This command was not sent\.$/,
  /^(Could not attach the debugger to this tab: )?(The tab was closed|No tab with (given )?id:? \d+|Inspected target navigated or closed|Cannot find (context with specified id|default execution context)|Debugger is not attached to the tab with id: \d+)\.?$/,
];
/** How many of the evaluations have to succeed. Usually more than four fifths do. */
const MIN_SUCCEEDED = 0.5;

/** Clients at random work. Each step has random numbers of its own, whatever else is under way. */
class Work {
  /** @type {{ client: any, settle: () => Promise<void>, sessions: string[] }[]} */
  #users = [];
  /** What each client knows, also of those that have left. */
  records = [];
  /** How many commands were sent to pages, and how many of them succeeded. */
  evaluations = { sent: 0, succeeded: 0 };
  /** @type {unknown} */
  failure;
  #running = new Set();

  constructor(chain, site) {
    this.chain = chain;
    this.site = site;
  }

  /** Starts a step, and waits only if many are under way. @param {Random} random */
  async step(random) {
    const step = this.#run(random).catch((error) => (this.failure ??= error));
    this.#running.add(step);
    step.finally(() => this.#running.delete(step));
    if (this.#running.size >= MAX_RUNNING) await Promise.race(this.#running);
  }

  /** @param {Random} random */
  async #run(random) {
    const count = this.#users.length;
    if (count === 0 || (count < MAX_CLIENTS && random.below(40) === 0)) return this.#connect();
    const user = random.pick(this.#users);
    const kind = random.below(40);
    if (kind === 0 && count > 1) return this.#leave(user);
    if (kind <= 2) return this.#open(user);
    if (kind === 3) return this.#close(user, random);
    if (kind <= 6 || user.sessions.length === 0) return this.#attach(user, random);
    return this.#evaluate(user, random);
  }

  async #connect() {
    const { client, record, settle } = await connectRecorded(this.chain.cdpUrl);
    this.#users.push({ client, settle, sessions: [] });
    this.records.push(record);
    return client;
  }

  #leave(user) {
    this.#users.splice(this.#users.indexOf(user), 1);
    user.client.kill();
  }

  async #targets(user) {
    const { result } = await this.#request(user, 'Target.getTargets');
    const { targetInfos = [] } = result ?? {};
    return targetInfos.filter(({ type, url }) => type === 'page' && url.includes('/page'));
  }

  async #open(user) {
    const targets = await this.#targets(user);
    if (targets.length < MAX_TABS) {
      await this.#request(user, 'Target.createTarget', { url: this.site.url('/page') });
    }
  }

  async #close(user, random) {
    const targets = await this.#targets(user);
    if (targets.length > 1) {
      const { targetId } = random.pick(targets);
      await this.#request(user, 'Target.closeTarget', { targetId });
    }
  }

  async #attach(user, random) {
    const targets = await this.#targets(user);
    if (targets.length > 0 && user.sessions.length < MAX_TABS) {
      const params = { targetId: random.pick(targets).targetId, flatten: true };
      const { result } = await this.#request(user, 'Target.attachToTarget', params);
      if (result) user.sessions.push(result.sessionId);
    }
  }

  async #evaluate(user, random) {
    const session = random.pick(user.sessions);
    const size = random.below(300) === 0 ? 200_000 : 200;
    const value = random.pick([
      '1',
      `new Promise((resolve) => setTimeout(resolve, ${random.below(300)}))`,
      `'x'.repeat(${random.below(size)})`,
    ]);
    const { params } = marked(value);
    const { result, error } = await this.#request(user, 'Runtime.evaluate', params, session);
    this.evaluations.sent += 1;
    if (result && !result.exceptionDetails) this.evaluations.succeeded += 1;
    // Its tab is gone.
    if (error?.code === -32001) user.sessions = user.sessions.filter((id) => id !== session);
  }

  async #request({ client }, method, params, session) {
    const reply = await client.request(method, params, session);
    const message = reply.error?.message;
    const isExpected = !reply.error || EXPECTED.some((pattern) => pattern.test(message));
    assert.ok(isExpected, `${method}: ${message}`);
    return reply;
  }

  /** After all faults: a new client, a new tab and a command in it. Then all clients leave. */
  async finish() {
    await Promise.all(this.#running);
    if (this.failure) throw this.failure;
    const client = await this.#connect();
    const params = { url: this.site.url('/page') };
    const { targetId } = await client.send('Target.createTarget', params);
    const attached = await client.send('Target.attachToTarget', { targetId, flatten: true });
    await client.send('Runtime.evaluate', marked().params, attached.sessionId);
    await Promise.all(this.#users.map(({ settle }) => settle()));
    await this.leave();
    await this.chain.relay.waitForClients(0);
    await untilDetached(this.chain);
  }

  async leave() {
    await Promise.all(
      this.#users.map(({ client }) => {
        client.kill();
        return client.closed;
      }),
    );
  }
}

/** @param {any} chain @param {Random} random */
async function failRandomly(chain, random) {
  const kind = random.pick([workerStop, workerStop, workerCrash, reload, chromiumCrash, 'asleep']);
  if (kind === 'asleep') {
    const pids = familyOf(chain.chromium.child.pid);
    return whileAsleep(pids, () => delay(random.below(3_000)));
  }
  const fail = await kind(chain);
  fail();
  if (kind === chromiumCrash) await startChromiumAgain(chain);
}

/** Works and fails until the time is over. */
async function workAndFail(chain, work, memory) {
  const random = randomFrom(seed);
  const start = performance.now();
  const progress = { steps: 0, faults: 0, before: 0 };
  let shown = 0;
  for (;;) {
    const elapsed = (performance.now() - start) / 1_000;
    if (elapsed > seconds || work.failure) return progress;
    await work.step(randomFrom(random.below(2 ** 31)));
    progress.steps += 1;
    if (random.below(STEPS_PER_FAULT) === 0) {
      await failRandomly(chain, random);
      progress.faults += 1;
    }
    progress.before ||= elapsed > seconds / 20 ? await memory() : 0;
    if (elapsed > shown + 60) {
      shown = elapsed;
      const { steps, faults } = progress;
      console.log(`${elapsed.toFixed(0)} s: ${steps} steps, ${faults} faults`);
    }
    await delay(random.below(MAX_PAUSE_MS));
  }
}

const skip = process.platform === 'linux' ? false : 'needs /proc to find processes';
const TIMEOUT = { skip, timeout: 5_400_000 };

test(`${seconds} s of random faults under random work, seed ${seed}`, TIMEOUT, async () => {
  console.log(`TABWIRE_CHAOS_SEED=${seed} repeats these steps`);
  const folder = await temporaryFolder('chaos');
  const recording = path.join(folder.path, 'record.jsonl');
  const args = ['--client-mode', 'multi-client', '--record', recording];
  const chain = await startChain({ args });
  const site = await startMarkedSite(['page']);
  const work = new Work(chain, site);
  const memory = () => residentMemory(chain.relay.child.pid);
  try {
    const { steps, faults, before } = await workAndFail(chain, work, memory);
    assert.ok(faults > 0, `no fault in ${steps} steps`);
    await work.finish();
    const after = await memory();
    await chain.relay.stop({ keepHome: true });
    const entries = await readRecording(recording);
    const history = { entries, clients: work.records, executed: site.executed };
    assert.deepEqual(violationsOf(history), []);
    const share = work.evaluations.succeeded / work.evaluations.sent;
    assert.ok(share >= MIN_SUCCEEDED, `${share} of the evaluations succeeded`);
    const ratio = after / before;
    const done = `${seconds} s of random faults (${faults}) under random work (${steps} steps), seed ${seed}`;
    console.log(
      `${done}: ${work.evaluations.succeeded} of ${work.evaluations.sent} evaluations succeeded`,
    );
    console.log(`memory ${before.toFixed(1)} → ${after.toFixed(1)} MiB`);
    reportRow({
      fault: done,
      asked: 'no violation, half of the commands succeed, memory after ≤ 1.5× before',
      measured: `no violation, ${(share * 100).toFixed(0)} %, ${ratio.toFixed(2)}×`,
      met: ratio <= 1.5,
    });
  } finally {
    await work.leave();
    await chain.stop();
    site.stop();
    await folder.remove();
  }
});
