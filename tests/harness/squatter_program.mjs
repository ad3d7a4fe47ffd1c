/**
 * The program that `squatter.mjs` starts. Listens as another user, tries a different trick with each
 * connection, and reports all it receives to its parent.
 */

import { startFakeRelay } from './fake_relay.mjs';
import { newNonce, welcome } from './handshake.mjs';

const [port, user] = process.argv.slice(2).map(Number);

let tabId = 1;
process.on('message', (message) => (tabId = message.tabId));
process.on('disconnect', () => process.exit());

/** What a relay would send to read a cookie. */
function plunder(connection) {
  const params = { tabId, method: 'Network.getCookies', params: {} };
  connection.send({ id: 1, method: 'listTabs' });
  connection.send({ id: 2, method: 'attachTab', params: { tabId } });
  connection.send({ id: 3, method: 'cdpCommand', params });
  connection.send({ id: 4, method: 'createTab', params: { url: 'about:blank', active: true } });
}

const TRICKS = [
  /** Speaks protocol 1, in which the relay proved nothing. */
  plunder,
  /** Never answers `hello`. */
  async (connection) => {
    await connection.greet();
    plunder(connection);
  },
  /** Has no secret, so it makes up a proof. */
  async (connection) => {
    const { facts } = await connection.greet();
    connection.send(welcome(facts, { secret: newNonce() }));
    plunder(connection);
  },
  /** Sends the extension's own proof back. */
  async (connection) => {
    const { hello, facts } = await connection.greet();
    const { params } = welcome(facts);
    connection.send({ method: 'welcome', params: { ...params, proof: hello.params.proof } });
    plunder(connection);
  },
];

let started = 0;
let ended = 0;

function behave(connection) {
  connection.socket.on('close', () => process.send({ connections: (ended += 1) }));
  started += 1;
  return TRICKS[(started - 1) % TRICKS.length](connection);
}

// Only now, because the other user may not be allowed to read these modules.
process.setgroups([]);
process.setgid(user);
process.setuid(user);

await startFakeRelay({
  port,
  behavior: behave,
  onBytes: (bytes) => process.send({ bytes: bytes.toString('latin1') }),
  onMessage: (message) => process.send({ message }),
});
process.send({ user: process.getuid(), tricks: TRICKS.length });
