/** The extension's worker, as benchmarks ask it. */

import { connectBare } from '../harness/bare_client.mjs';
import { EXTENSION_ID } from '../harness/processes.mjs';

/**
 * The extension's service worker, over Chromium's own port and without touching any tab: what Chrome says of debuggers
 * that are attached would count those of a client that attaches to all, as Playwright does.
 * @param {{ chromium: { ownUrl: string } }} chain
 */
export async function openWorker(chain) {
  const client = await connectBare(chain.chromium.ownUrl);
  const { targetInfos } = await client.send('Target.getTargets');
  const { targetId } = targetInfos.find(
    ({ type, url }) => type === 'service_worker' && url.includes(EXTENSION_ID),
  );
  const { sessionId } = await client.send('Target.attachToTarget', { targetId, flatten: true });
  return {
    /** Runs a function there. @template A, R @param {(argument: A) => R} run @param {A} [argument] @returns {Promise<Awaited<R>>} */
    async run(run, argument) {
      const expression = `(${run})(${JSON.stringify(argument)})`;
      const { result, exceptionDetails } = await client.send(
        'Runtime.evaluate',
        { expression, awaitPromise: true, returnByValue: true },
        sessionId,
      );
      if (exceptionDetails) {
        throw new Error(
          `in the service worker: ${exceptionDetails.exception?.description ?? exceptionDetails.text}`,
        );
      }
      return result.value;
    },
    close: () => client.close(),
  };
}
