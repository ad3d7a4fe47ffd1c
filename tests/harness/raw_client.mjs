/** A client that says nothing of its own: sessions by target id, without auto-attach, as a script on a bare socket has them. */

import { Connection } from 'puppeteer-core';
import { NodeWebSocketTransport } from 'puppeteer-core/internal/node/NodeWebSocketTransport.js';

import { until } from './processes.mjs';

/** Connects to the relay, gives `use` a function that attaches to the page at an address, and leaves. */
export async function withRawClient(chain, use) {
  const connection = new Connection(chain.cdpUrl, await NodeWebSocketTransport.create(chain.cdpUrl));
  const attach = async (url) => {
    const { targetInfos } = await connection.send('Target.getTargets');
    return connection.createSession(targetInfos.find((info) => info.url === url));
  };
  try {
    return await use({ connection, attach });
  } finally {
    connection.dispose();
    await until('the slot is free', async () => (await chain.relay.status()).clients === 0);
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
