/** A client that works in a tab of its own while others misbehave, and notices how long that takes. */

import assert from 'node:assert/strict';

import { until } from '../harness/processes.mjs';
import { connectRaw, evaluateIn } from '../harness/raw_client.mjs';
import { middleAndWorst } from './report.mjs';

/** How many times as long a neighbour's command may take, in the middle. */
export const MAX_SLOWER = 3;

/** A client that evaluates in the page at this address, one expression after the other. */
export async function startNeighbour(cdpUrl, pageUrl) {
  const client = await connectRaw(cdpUrl);
  const session = await client.attach(pageUrl);
  let durations = [];
  let isWorking = true;
  const work = async () => {
    for (let n = 0; isWorking; n += 1) {
      const start = performance.now();
      const expression = `'neighbour ${n}'`;
      assert.ok(expression.includes(await evaluateIn(client, session, expression)));
      durations.push(performance.now() - start);
      client.messages.length = 0;
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
  };
  const working = work();
  working.catch(() => {});
  return {
    /** Fails if a result was wrong. Returns the durations since the last call. */
    async check() {
      const count = durations.length;
      await Promise.race([working, until('the neighbour goes on', () => durations.length > count)]);
      const taken = durations;
      durations = [];
      return taken;
    },
    async stop() {
      isWorking = false;
      await working;
      await client.close();
    },
  };
}

/** How much longer a neighbour's commands take than when nothing else happens. */
export function compare(idle, busy) {
  const [before, during] = [middleAndWorst(idle), middleAndWorst(busy)];
  const slower = during.middle / before.middle;
  const text = `a neighbour’s evaluate ${before.middle.toFixed(1)} → ${during.middle.toFixed(1)} ms (${slower.toFixed(1)}×), worst ${during.worst.toFixed(0)} ms`;
  return { slower, text };
}
