/** What the popup shows about a port that needs no token, and its button to close it. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { openPort } from '../harness/command.mjs';
import { openPopup } from '../harness/popup.mjs';
import { startChain, until } from '../harness/processes.mjs';

let chain, popup;

before(async () => {
  chain = await startChain();
  popup = await openPopup(chain.chromium);
  await popup.headline('Connected');
});

after(async () => {
  await popup?.close();
  await chain?.stop();
});

const box = () => popup.page.locator('#open-port');
const clock = (time) =>
  popup.page.evaluate(
    (at) => new Date(at).toLocaleTimeString([], { hour: 'numeric', minute: '2-digit' }),
    time,
  );

test('shows the port and its end while it is open, and Close closes it', async () => {
  assert.equal(await box().isVisible(), false);
  const port = await openPort(chain.relay);
  const { until: end } = (await chain.relay.status()).openPort;
  await box().waitFor();
  const text = await box().textContent();
  assert.match(text, /Open to all your programs/);
  assert.ok(text.includes(`Until ${await clock(end)}, any program that you run`), text);
  assert.ok(text.includes(`port ${port}`), text);

  await popup.page.getByRole('button', { name: 'Close the open port' }).click();
  await box().waitFor({ state: 'hidden' });
  assert.equal((await chain.relay.status()).openPort, undefined);
  await assert.rejects(fetch(`http://127.0.0.1:${port}/json/version`));
  assert.match(chain.relay.log(), /The open port was closed in the browser/);
});

test('disappears when the port closes by itself', async () => {
  await openPort(chain.relay, { time: '3s' });
  await box().waitFor();
  await until('the port has been open and has closed', async () =>
    chain.relay.log().includes('The time of the open port is over'),
  );
  await box().waitFor({ state: 'hidden' });
});
