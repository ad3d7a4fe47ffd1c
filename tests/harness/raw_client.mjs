/** A client that says nothing of its own: sessions by target id, without auto-attach, as a script on a bare socket has them. */

import { Connection } from 'puppeteer-core';
import { NodeWebSocketTransport } from 'puppeteer-core/internal/node/NodeWebSocketTransport.js';

import { until } from './processes.mjs';

/** Connects to the relay, gives `use` a function that attaches to the page at an address, and leaves. */
export async function withRawClient(chain, use) {
  try {
    await withRawConnection(chain.cdpUrl, use);
  } finally {
    await until('the slot is free', async () => (await chain.relay.status()).clients === 0);
  }
}

/** Clicks as the person, over Chromium's own port. Playwright there would hold up whatever the click opens. */
export const clickAsPerson = (chain, url, selector) =>
  withRawConnection(chain.chromium.ownUrl, async ({ attach }) => {
    const session = await attach(url);
    await session.send('Runtime.evaluate', { expression: `document.querySelector('${selector}').click()`, userGesture: true });
  });

async function withRawConnection(cdpUrl, use) {
  const connection = new Connection(cdpUrl, await NodeWebSocketTransport.create(cdpUrl));
  const attach = async (url) => {
    const { targetInfos } = await connection.send('Target.getTargets');
    return connection.createSession(targetInfos.find((info) => info.url === url));
  };
  try {
    await use({ connection, attach });
  } finally {
    connection.dispose();
  }
}

/** What an expression is in the page of a raw session; promises are waited for. */
export async function valueOf(session, expression) {
  const { result, exceptionDetails } = await session.send('Runtime.evaluate', { expression, awaitPromise: true, returnByValue: true });
  if (exceptionDetails) {
    throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
  }
  return result.value;
}
