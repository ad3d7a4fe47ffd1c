/** `BrowserLink` with a fake browser that does what a real one seldom does. */

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

const RESULTS = {
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

/** A browser whose pages answer every command with an error, as hung pages do. */
async function startFakeBrowser() {
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0 });
  await once(server, 'listening');
  server.on('connection', (socket) => {
    const send = (message) => socket.send(JSON.stringify(message));
    socket.on('message', (data) => {
      const { id, method, sessionId } = JSON.parse(data);
      if (sessionId && sessionId !== 'browser') {
        send({ id, sessionId, error: { code: -32000, message: 'the page did not respond' } });
        return;
      }
      if (method === 'Target.setAutoAttach') {
        for (const targetInfo of TARGETS) {
          const params = { sessionId: `of ${targetInfo.targetId}`, targetInfo };
          send({
            method: 'Target.attachedToTarget',
            params: { ...params, waitingForDebugger: false },
          });
        }
      }
      send({ id, sessionId, result: RESULTS[method] ?? {} });
    });
  });
  return { url: `ws://127.0.0.1:${server.address().port}/`, stop: () => server.close() };
}

test('identifies pages that never respond by target id and URL', async () => {
  const browser = await startFakeBrowser();
  const events = [];
  const link = new BrowserLink((event) => events.push(event));
  try {
    await link.connect({
      url: browser.url,
      name: 'test',
      identity: '1',
      target: TARGETS[1].targetId,
    });
    const { page, isNew, note } = await link.ensurePage();
    assert.deepEqual(
      [page, isNew, note],
      [link.pageOf(TARGETS[1].targetId), false, undefined],
      'the page in use was found',
    );
    assert.deepEqual(
      (await link.tabs()).map(({ target, title, url, inUse }) => [target, title, url, inUse]),
      TARGETS.map(({ targetId, title, url }, index) => [targetId, title, url, index === 1]),
    );
    link.page = link.pageOf(TARGETS[0].targetId);
    assert.deepEqual(events, [{ event: 'page', target: TARGETS[0].targetId }]);
  } finally {
    await link.release();
    browser.stop();
  }
});

test('reports no page that was closed before its id could be read', async () => {
  const browser = await startFakeBrowser();
  const events = [];
  const link = new BrowserLink((event) => events.push(event));
  try {
    await link.connect({ url: browser.url, name: 'test' });
    link.page = link.pageOf(TARGETS[0].targetId);
    const gone = { isClosed: () => true };
    link.keep(gone);
    link.page = gone;
    assert.deepEqual(events, [{ event: 'page', target: TARGETS[0].targetId }]);
  } finally {
    await link.release();
    browser.stop();
  }
});
