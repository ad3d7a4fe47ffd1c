/**
 * Parts of the chain die under a client that is at work: what is in flight is answered at once and
 * never sent again, the client's sessions live on, and the next command succeeds soon. The relay
 * itself dies in relay_kills.test.mjs.
 */

import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';

import { openTabs } from '../harness/chain.mjs';
import { startChain, temporaryFolder, until } from '../harness/processes.mjs';
import { times } from './counts.mjs';
import {
  chromiumCrash,
  familyOf,
  reload,
  startChromiumAgain,
  update,
  whileAsleep,
  workerCrash,
  workerStop,
} from './faults.mjs';
import { readRecording, violationsOf } from './history.mjs';
import { progress, reportHealing } from './report.mjs';
import { connectRecorded, hanging, marked, startLogging, startMarkedSite } from './work.mjs';

const TIMEOUT = { timeout: 5_400_000 };
const IN_FLIGHT = 20;
const canCrash = process.platform === 'linux';

/**
 * Lets `use` break a chain with two quiet tabs, in each of which a client has a session. Afterwards,
 * nothing may be wrong with what was sent.
 */
async function withWork(use) {
  const folder = await temporaryFolder('chaos');
  const recording = path.join(folder.path, 'record.jsonl');
  const chain = await startChain({ args: ['--record', recording] });
  const site = await startMarkedSite(['one', 'two']);
  let client;
  try {
    const work = await startWork(chain, site);
    ({ client } = work);
    await use(work);
    await work.settle();
    client.kill();
    await client.closed;
    await chain.relay.stop({ keepHome: true });
    const entries = await readRecording(recording);
    const history = { entries, clients: [work.record], executed: site.executed };
    assert.deepEqual(violationsOf(history), []);
  } finally {
    client?.kill();
    await chain.stop();
    site.stop();
    await folder.remove();
  }
}

async function startWork(chain, site) {
  const urls = [site.url('/one'), site.url('/two')];
  await openTabs(chain, urls);
  const { client, record, settle } = await connectRecorded(chain.cdpUrl);
  const sessions = await Promise.all(urls.map((url) => client.attach(url)));
  const evaluate = (session = sessions[0]) =>
    client.send('Runtime.evaluate', marked().params, session);
  await Promise.all(sessions.map(evaluate));
  return { chain, site, client, record, settle, sessions, evaluate };
}

/** Starts commands that do not end. @returns Their replies, and when each arrived. */
async function startHanging({ client, site, sessions }) {
  const commands = Array.from({ length: IN_FLIGHT }, hanging);
  const replies = commands.map(async ({ params }, index) => {
    const session = sessions[index % sessions.length];
    const reply = await client.request('Runtime.evaluate', params, session);
    return { reply, at: performance.now() };
  });
  await until('all commands are in flight', () =>
    commands.every(({ mark }) => site.executed.includes(mark)),
  );
  return replies;
}

/**
 * Lets something fail while commands are in flight.
 * @param {object} work
 * @param {import('./faults.mjs').Fault} fault
 * @param {() => Promise<number>} [next] Sends the next command. Resolves, once it has succeeded, with
 *   the time since which it counts.
 * @returns How many milliseconds later the last of them was answered, and the next command succeeded.
 */
async function failOnce(work, fault, next) {
  const replies = await startHanging(work);
  const since = performance.now();
  fault();
  const answered = await Promise.all(replies);
  for (const { reply } of answered) {
    assert.match(reply.error?.message ?? '', /outcome is unknown/);
  }
  const from = next ? await next() : (await work.evaluate(), since);
  return {
    answered: Math.max(...answered.map(({ at }) => at)) - since,
    healed: performance.now() - from,
  };
}

const kills = times({ short: 4, full: 200 });

test(`${kills} times: the extension's worker dies in a quiet browser`, TIMEOUT, () =>
  withWork(async (work) => {
    const results = [];
    while (results.length < kills) {
      const isCrash = canCrash && results.length % 2 === 1;
      const fault = await (isCrash ? workerCrash : workerStop)(work.chain);
      results.push(await failOnce(work, fault));
      progress('workers stopped or killed', results.length, kills);
    }
    const fault = `worker stopped or killed in a quiet browser, ${kills}×, ${IN_FLIGHT} commands in flight`;
    reportHealing(fault, results, 500);
  }),
);

const reloads = times({ short: 2, full: 100 });

/** The version of the extension, as the relay reports it to `tabwire doctor`. */
async function extensionVersion({ relay }) {
  const token = new URL(relay.cdpUrl).searchParams.get('token');
  const headers = { authorization: `Bearer ${token}` };
  const response = await fetch(`http://127.0.0.1:${relay.port}/browsers`, { headers });
  return (await response.json())[0].extension;
}

test(`${reloads} times: the extension is reloaded or updated`, TIMEOUT, () =>
  withWork(async (work) => {
    const results = [];
    while (results.length < reloads) {
      // Chrome turns off an unpacked extension that reloads itself 30 times within a second each.
      await delay(1_000);
      const isUpdate = results.length % 2 === 1;
      const version = isUpdate ? `99.0.${results.length}` : await extensionVersion(work.chain);
      const fault = await (isUpdate ? update(work.chain, version) : reload(work.chain));
      results.push(await failOnce(work, fault));
      assert.equal(await extensionVersion(work.chain), version);
      progress('extensions reloaded or updated', results.length, reloads);
    }
    const fault = `extension reloaded or updated, ${reloads}×, ${IN_FLIGHT} commands in flight`;
    reportHealing(fault, results, 1_000);
  }),
);

const crashes = times({ short: 1, full: 50 });

/** The pages that a client finds, and those that there are. */
async function assertPagesAreReal(work) {
  const { targetInfos } = await work.client.send('Target.getTargets');
  const pages = targetInfos.filter(({ type }) => type === 'page').map(({ targetId }) => targetId);
  assert.equal(new Set(pages).size, pages.length, 'no page twice');
  const response = await fetch(
    `${work.chain.chromium.ownUrl.replace(/^ws(.*?)\/devtools.*/, 'http$1')}/json/list`,
  );
  const real = (await response.json()).filter(({ type }) => type === 'page').map(({ id }) => id);
  assert.deepEqual(pages.toSorted(), real.toSorted());
}

test(`${crashes} times: the browser is killed and started again`, TIMEOUT, () =>
  withWork(async (work) => {
    const results = [];
    while (results.length < crashes) {
      const next = async () => {
        const url = work.site.url('/one');
        const created = work.client.send('Target.createTarget', { url });
        const from = performance.now();
        await startChromiumAgain(work.chain);
        const { targetId } = await created;
        const params = { targetId, flatten: true };
        const { sessionId } = await work.client.send('Target.attachToTarget', params);
        work.sessions.splice(0, 2, sessionId);
        await work.evaluate(sessionId);
        return from;
      };
      results.push(await failOnce(work, await chromiumCrash(work.chain), next));
      await assertPagesAreReal(work);
      progress('browsers killed', results.length, crashes);
    }
    const fault = `browser killed and started again, ${crashes}×, ${IN_FLIGHT} commands in flight`;
    reportHealing(fault, results, 1_000);
  }),
);

const seconds = times({ short: 3, full: 60 });
const SLEEPERS = {
  relay: ({ relay }) => [relay.child.pid],
  browser: ({ chromium }) => familyOf(chromium.child.pid),
  'whole chain': ({ relay, chromium }) => [relay.child.pid, ...familyOf(chromium.child.pid)],
};

for (const [name, processesOf] of Object.entries(SLEEPERS)) {
  test(`the ${name} is stopped for ${seconds} seconds`, TIMEOUT, () =>
    withWork(async ({ chain, client, sessions, evaluate }) => {
      await client.send('Runtime.enable', {}, sessions[1]);
      await client.send('Runtime.evaluate', startLogging, sessions[1]);
      const { params } = marked('new Promise((resolve) => setTimeout(resolve, 500))');
      const pending = client.request('Runtime.evaluate', params, sessions[0]);
      const answering = pending.then(() => performance.now());
      await whileAsleep(processesOf(chain), () => delay(seconds * 1_000));
      const since = performance.now();
      const healing = Promise.all(sessions.map(evaluate)).then(() => performance.now());
      const [answeredAt, healedAt] = await Promise.all([answering, healing]);
      // If only the browser was stopped, the outcome has been unknown for a while.
      const answered = Math.max(0, answeredAt - since);
      reportHealing(
        `${name} stopped for ${seconds} s`,
        [{ answered, healed: healedAt - since }],
        1_000,
      );
      const count = client.events.length;
      await until('events arrive again', () => client.events.length > count);
      assert.ok(client.events.every(({ method }) => method !== 'Target.detachedFromTarget'));
    }),
  );
}
