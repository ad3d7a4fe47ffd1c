/**
 * The relay is killed and started again. Its clients' sockets die with it, so a client connects again:
 * it finds the browser, every tab as it was, and no debugger that a killed relay has left behind.
 */

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';

import { openTabs, untilDetached, userTabs } from '../harness/chain.mjs';
import { startChain, temporaryFolder, until } from '../harness/processes.mjs';
import { times } from './counts.mjs';
import { killRelay, startRelayAgain } from './faults.mjs';
import { readRecording, violationsOf } from './history.mjs';
import { progress, reportHealing } from './report.mjs';
import { connectRecorded, hanging, marked, startMarkedSite } from './work.mjs';

const TIMEOUT = { timeout: 5_400_000 };
const IN_FLIGHT = 20;

const kills = times({ short: 3, full: 200 });

test(`${kills} times: the relay is killed and started again`, TIMEOUT, async (t) => {
  const folder = await temporaryFolder('chaos');
  t.after(() => folder.remove());
  const recordingOf = (life) => path.join(folder.path, `record-${life}.jsonl`);
  const site = await startMarkedSite(['one']);
  t.after(() => site.stop());
  const chain = await startChain({ args: ['--record', recordingOf(0)] });
  t.after(() => chain.stop());
  await openTabs(chain, [site.url('/one')]);
  const tabs = await userTabs(chain);
  const connect = async () => {
    const { client, record } = await connectRecorded(chain.cdpUrl);
    return { client, record, session: await client.attach(site.url('/one')) };
  };
  let current = await connect();
  await evaluate(current, 'window.kept = 0');
  const results = [];
  for (let life = 0; life < kills; life += 1) {
    const { mark } = await startHanging(site, current);
    // The relay writes its recording a moment later, so a killed one has not written the end.
    await until('the recording has the last command', async () =>
      (await readFile(recordingOf(life), 'utf8')).includes(`#${mark}#`),
    );
    const since = performance.now();
    const died = current.client.closed.then(() => performance.now() - since);
    await killRelay(chain);
    const answered = await died;
    const from = performance.now();
    await startRelayAgain(chain, ['--record', recordingOf(life + 1)]);
    const { record } = current;
    current = await connect();
    assert.equal(await evaluate(current, `++window.kept`), life + 1, 'the page is the same');
    results.push({ answered, healed: performance.now() - from });
    const entries = await readRecording(recordingOf(life));
    const history = { entries, clients: [record], executed: site.executed, isCut: true };
    assert.deepEqual(violationsOf(history), []);
    progress('relays killed', life + 1, kills);
  }
  reportHealing(
    `relay killed and started again, ${kills}×, ${IN_FLIGHT} commands in flight`,
    results,
    1_000,
    'ended by the closed socket',
  );
  assert.equal(new Set(site.executed).size, site.executed.length, 'nothing was executed twice');
  assert.deepEqual(await userTabs(chain), tabs, 'no tab was lost or added');
  current.client.kill();
  await untilDetached(chain);
});

/** @param {string} expression */
async function evaluate({ client, session }, expression) {
  const { result } = await client.send('Runtime.evaluate', marked(expression).params, session);
  return result.value;
}

async function startHanging(site, { client, session }) {
  const commands = Array.from({ length: IN_FLIGHT }, hanging);
  for (const { params } of commands) {
    client.request('Runtime.evaluate', params, session);
  }
  await until('all commands are in flight', () =>
    commands.every(({ mark }) => site.executed.includes(mark)),
  );
  return commands.at(-1);
}
