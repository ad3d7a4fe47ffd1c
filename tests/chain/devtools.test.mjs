/**
 * DevTools and a client on the same tab. Chrome lets both debug it at the same time, so neither has to
 * be closed for the other.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { pageAt, puppeteerOnOwnPort, useChain } from '../harness/chain.mjs';
import { until } from '../harness/processes.mjs';

const shared = useChain({
  pages: { '/before': 'before', '/after': 'after' },
  tabs: (site) => [site.url('/before'), site.url('/after')],
});

/** Opens DevTools on a tab, as F12 does, and waits until they are there. */
async function openDevTools(path) {
  const own = await puppeteerOnOwnPort(shared.chain);
  const isDevTools = (target) => target.url().startsWith('devtools://');
  const count = () => own.targets().filter(isDevTools).length;
  const session = await own.target().createCDPSession();
  const { targetInfos } = await session.send('Target.getTargets');
  const { targetId } = targetInfos.find((info) => info.url.endsWith(path));
  const before = count();
  await session.send('Target.openDevTools', { targetId });
  await until('DevTools are open', () => count() > before);
  await own.disconnect();
}

test('a client can use a tab on which DevTools are open', async () => {
  await openDevTools('/before');
  await shared.withPlaywright(async ({ context }) => {
    assert.equal(await pageAt(context, '/before').evaluate('1 + 1'), 2);
  });
});

test('a client keeps its tab when DevTools are opened on it', () =>
  shared.withPlaywright(async ({ context }) => {
    const page = pageAt(context, '/after');
    await page.evaluate('globalThis.mark = 7');
    await openDevTools('/after');
    assert.equal(await page.evaluate('globalThis.mark'), 7);
  }));
