/**
 * What setting, reading and clearing many cookies costs an extension at least: a Chromium of its own with
 * an extension that only calls `chrome.cookies` (`bare_cookies/`). Nothing is sent or converted.
 */

import { fileURLToPath } from 'node:url';

import { startChromium, until } from '../harness/processes.mjs';
import { connectRaw, evaluateIn } from '../harness/raw_client.mjs';

const EXTENSION = fileURLToPath(new URL('bare_cookies', import.meta.url));

/** @param {object[]} cookies In the form of CDP. */
export async function startBareCookies(cookies) {
  const chromium = await startChromium({ extensions: [EXTENSION] });
  const client = await connectRaw(chromium.ownUrl);
  const targetId = await until('the worker runs', async () => {
    const { targetInfos } = await client.send('Target.getTargets');
    return targetInfos.find(({ url }) => url.endsWith('/worker.js'))?.targetId;
  });
  const { sessionId } = await client.send('Target.attachToTarget', { targetId, flatten: true });
  const isReady = () => evaluateIn(client, sessionId, 'typeof prepare === "function"');
  await until('its script has run', isReady);
  await evaluateIn(client, sessionId, `prepare(${JSON.stringify(cookies)})`);
  /**
   * Returns the number of cookies.
   * @param {'setCookies' | 'getCookies' | 'clearCookies'} name
   */
  const evaluate = (name) => evaluateIn(client, sessionId, `${name}()`);
  return {
    evaluate,
    /** It fails if there are not as many as expected. @param {Parameters<typeof evaluate>[0]} name */
    async run(name) {
      const count = await evaluate(name);
      if (count !== cookies.length) {
        throw new Error(`${name}: ${count} of ${cookies.length} cookies`);
      }
    },
    async stop() {
      await client.close();
      await chromium.stop();
    },
  };
}
