/** The link to the browser, with a made-up browser at the other end that does what a real one seldom does. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import path from 'node:path';
import { test } from 'node:test';

import { WebSocketServer } from 'ws';

import { runnerFolder } from '../harness/agent.mjs';

const { BrowserLink } = await import(path.join(await runnerFolder(), 'browser_link.mjs'));

const TARGETS = ['A', 'B'].map((letter) => ({
  targetId: letter.repeat(32),
  type: 'page',
  title: `Tab ${letter}`,
  url: `http://site/${letter}`,
  attached: true,
  canAccessOpener: false,
  browserContextId: 'C',
}));

/** A browser whose pages answer every command with an error, as those do that hang. */
async function startBrowser() {
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0 });
  await once(server, 'listening');
  server.on('connection', (socket) => {
    const send = (message) => socket.send(JSON.stringify(message));
    const answers = {
      'Browser.getVersion': {
        product: 'Chrome/150.0.0.0',
        userAgent: 'test',
        protocolVersion: '1.3',
        revision: '',
        jsVersion: '',
      },
      'Target.getTargets': { targetInfos: TARGETS },
      'Target.getTargetInfo': { targetInfo: { ...TARGETS[0], type: 'browser' } },
      'Target.attachToBrowserTarget': { sessionId: 'browser' },
    };
    socket.on('message', (data) => {
      const { id, method, sessionId } = JSON.parse(data);
      if (sessionId && sessionId !== 'browser') {
        send({ id, sessionId, error: { code: -32000, message: 'the page did not respond' } });
        return;
      }
      if (method === 'Target.setAutoAttach') {
        TARGETS.forEach((targetInfo) =>
          send({
            method: 'Target.attachedToTarget',
            params: {
              sessionId: `of ${targetInfo.targetId}`,
              targetInfo,
              waitingForDebugger: false,
            },
          }),
        );
      }
      send({ id, sessionId, result: answers[method] ?? {} });
    });
  });
  return { url: `ws://127.0.0.1:${server.address().port}/`, stop: () => server.close() };
}

test('a page that answered nothing is known by its target and its address all the same', async () => {
  const browser = await startBrowser();
  const told = [];
  const link = new BrowserLink((event) => told.push(event));
  try {
    await link.connect({ url: browser.url, target: TARGETS[1].targetId });
    assert.equal(await link.ensurePage(), undefined, 'it is there');
    assert.deepEqual(
      (await link.tabs()).map(({ target, title, url, inUse }) => [target, title, url, inUse]),
      TARGETS.map(({ targetId, title, url }, index) => [targetId, title, url, index === 1]),
    );
    link.page = link.pageOf(TARGETS[0].targetId);
    assert.deepEqual(told, [{ event: 'page', target: TARGETS[0].targetId }]);
  } finally {
    await link.release();
    browser.stop();
  }
});
