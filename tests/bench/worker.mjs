/** Runs code in the extension's service worker for benchmarks. */

import { EXTENSION_ID } from '../harness/processes.mjs';
import { connectRaw, evaluateIn } from '../harness/raw_client.mjs';

/**
 * Connects to the service worker through Chromium's own port and attaches to nothing else.
 * Playwright would attach to every tab, and Chrome would count those debuggers too.
 * @param {{ chromium: { ownUrl: string } }} chain
 */
export async function openWorker(chain) {
  const client = await connectRaw(chain.chromium.ownUrl);
  const { targetInfos } = await client.send('Target.getTargets');
  const { targetId } = targetInfos.find(
    ({ type, url }) => type === 'service_worker' && url.includes(EXTENSION_ID),
  );
  const { sessionId } = await client.send('Target.attachToTarget', { targetId, flatten: true });
  return {
    /**
     * Runs a function in the service worker.
     * @template A, R
     * @param {(argument: A) => R} run
     * @param {A} [argument]
     * @returns {Promise<Awaited<R>>}
     */
    run: (run, argument) => evaluateIn(client, sessionId, `(${run})(${JSON.stringify(argument)})`),
    close: () => client.close(),
  };
}
