/**
 * A paired extension in Node, for tests of the relay that need to send what the real one never
 * would. Each tab answers every command with an empty result, and `Runtime.evaluate` with the
 * expression.
 */

import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';

import WebSocket from 'ws';

import { factsOf, newNonce, proofOf } from './handshake.mjs';
import { EXTENSION_ID, TABWIRE, temporaryFolder } from './processes.mjs';

const INSTALL_ID = '6f1f3c0e-7a54-4c1e-9d53-0b5a8a6f2d11';
const BROWSER = {
  method: 'browser',
  params: {
    version: '0.1.0',
    product: 'Chrome/156.0.8078.79',
    userAgent: 'Mozilla/5.0 (X11; Linux x86_64) Chrome/156.0.0.0 Safari/537.36',
    brand: 'chrome',
  },
};

/** The secret of a folder that the relay has just written. */
async function pair(relay) {
  const folder = await temporaryFolder('extension');
  const args = ['install-extension', '--to', folder.path, '--port', String(relay.port)];
  const env = { ...process.env, TABWIRE_HOME: relay.home.path };
  await promisify(execFile)(TABWIRE, args, { env });
  const file = await readFile(path.join(folder.path, 'pairing.json'), 'utf8');
  await folder.remove();
  return JSON.parse(file).secret;
}

const targetId = (tabId) => String(tabId).padStart(32, '0');

const report = (tabId) => ({
  tabId,
  url: `https://example.org/${tabId}`,
  title: `Tab ${tabId}`,
  targetId: targetId(tabId),
  status: 'complete',
  windowId: 1,
  attached: false,
});

/** The result of a call. */
function execute({ method, params }, tabIds) {
  if (method === 'listTabs') {
    return { tabs: tabIds.map(report) };
  }
  if (method === 'createTab') {
    return { ...report(5_000 + Math.floor(Math.random() * 1e6)), attached: true };
  }
  switch (params?.method) {
    case 'Runtime.evaluate':
      return { result: { type: 'string', value: params.params.expression } };
    case 'Page.getFrameTree':
      return { frameTree: { frame: { id: targetId(params.tabId), url: 'https://example.org/' } } };
    default:
      return {};
  }
}

/** @param {any} relay @param {number[]} tabIds */
export async function startFakeExtension(relay, tabIds) {
  const secret = await pair(relay);
  const extension = {
    /** Replaces the reply to a call, if it returns a text. */
    answer: (_call) => undefined,
    targetId,
    /** How often the relay has closed the connection. */
    closings: 0,
    connect,
    send: (text) => socket.send(text),
    close: () => socket.terminate(),
  };
  let socket;

  async function connect() {
    const address = `127.0.0.1:${relay.port}`;
    socket = new WebSocket(`ws://${address}/extension`, {
      origin: `chrome-extension://${EXTENSION_ID}`,
    });
    const connection = socket;
    const [challenge] = await once(connection, 'message');
    const nonce = newNonce();
    const hello = { protocol: 2, installId: INSTALL_ID, nonce, takeOver: false };
    const facts = factsOf(JSON.parse(challenge).params.nonce, { params: hello }, address);
    const proof = proofOf('extension', facts, secret);
    connection.send(JSON.stringify({ method: 'hello', params: { ...hello, proof } }));
    await once(connection, 'message');
    connection.on('message', (data) => [JSON.parse(data)].flat().forEach(onCall));
    connection.on('close', () => (extension.closings += 1));
    connection.send(JSON.stringify(BROWSER));
    await relay.waitForExtension();
  }

  function onCall(call) {
    if (call.method === 'ping') {
      socket.send('{"method":"pong"}');
    } else if (call.id !== undefined) {
      const reply = { id: call.id, result: execute(call, tabIds) };
      socket.send(extension.answer(call) ?? JSON.stringify(reply));
    }
  }

  await connect();
  return extension;
}
