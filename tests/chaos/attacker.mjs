/**
 * A client that misbehaves, in a process of its own, until it is closed or ended. Prints how many
 * of its messages were answered, and how it was closed.
 *
 *     node attacker.mjs KIND CDP_URL PAGE_URL
 */

import { once } from 'node:events';

import { connectRaw, evaluateIn } from '../harness/raw_client.mjs';

const [kind, cdpUrl, pageUrl] = process.argv.slice(2);
const client = await connectRaw(cdpUrl);
const { socket } = client;

/** Sends as fast as the relay reads. */
async function flood(send) {
  for (;;) {
    // `ws` queues without a limit.
    while (socket.bufferedAmount < 1 << 20) {
      send();
    }
    client.messages.length = 0;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

const LARGE = 'x'.repeat(20 << 20);

const KINDS = {
  /** Wants events, and does not read them. */
  stalled: async () => {
    const session = await client.attach(pageUrl);
    await client.send('Runtime.enable', {}, session);
    // Until the page is used, it sends nothing.
    await evaluateIn(client, session, '0');
    socket.pause();
    process.send('ready');
    await once(process, 'message');
    socket.resume();
  },
  pings: () => flood(() => socket.ping()),
  /** Reads no pongs. */
  'stalled pings': () => {
    socket.pause();
    return flood(() => socket.ping());
  },
  'bad commands': () => flood(() => void client.request('Nothing.known')),
  'large messages': () => flood(() => void client.request('Nothing.known', { LARGE })),
  /** Answers no pings when its process is stopped. */
  idle: () => {},
};

client.closed.then(([code, reason]) => {
  process.send({ code, reason }, () => process.exit());
});
if (kind !== 'stalled') {
  process.send('ready');
}
KINDS[kind]();
