/**
 * The whole worker against messages of the relay that are malformed: nothing is thrown, each call is
 * answered once, and nothing is done in the browser that the message does not ask for.
 */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { times } from '../chaos/counts.mjs';
import { reportRow } from '../chaos/report.mjs';
import { makeRandom, mutate } from '../harness/mutate.mjs';
import { settle } from './fake_chrome.mjs';
import { browserWith, FOLDER, startListed } from './wire_fixtures.mjs';

const MESSAGES = times({ short: 1_000, full: 50_000 });
/** After so many, a new worker starts in a new browser. */
const PER_WORKER = 50;

/** What the relay sends once the extension has been accepted. */
const FIXTURES = readdirSync(FOLDER)
  .map((name) => JSON.parse(readFileSync(path.join(FOLDER, name), 'utf8')))
  .filter(({ direction, message }) => direction === 'to-extension' && 'method' in message)
  .map(({ message }) => message)
  .filter(({ method }) => !['challenge', 'welcome', 'busy'].includes(method));

/** What only reads the browser's state, or keeps the extension's own. */
const HARMLESS =
  /^(storage|action|alarms|runtime|fetch)\b|\.(get|getAll|getTargets|getAllFrames|getZoomSettings|query|search|getLastFocused)$/;

/** What each call may do in the browser. */
const ALLOWED = {
  attachTab: /^(debugger\.(attach|sendCommand)|contentSettings\.)/,
  detachTab: /^(debugger\.(detach|sendCommand)|contentSettings\.)/,
  createTab:
    /^(tabs\.(create|group|remove|update)|tabGroups\.update|windows\.(create|update)|debugger\.(attach|sendCommand)|contentSettings\.)/,
  closeTab: /^(tabs\.remove|debugger\.(attach|detach|sendCommand))$/,
  activateTab: /^(tabs|windows)\.update$/,
  cdpCommand: /^debugger\.sendCommand$/,
  setPermissions: /^contentSettings\./,
  watchDownloads: /^(downloads|contentSettings)\./,
  controlDownload: /^downloads\./,
  browserCommand: /^(cookies|windows|tabs)\./,
};

/** The messages in a frame, as far as it has any. */
function messagesIn(text) {
  try {
    return [JSON.parse(text)].flat().filter((message) => typeof message?.method === 'string');
  } catch {
    return [];
  }
}

/** The ids that have to be answered. `ping` and `status` are no calls. */
const expectedIds = (messages) =>
  messages
    .filter(({ id, method }) => id !== undefined && method !== 'ping' && method !== 'status')
    .map(({ id }) => JSON.stringify(id));

function assertAllowed(calls, messages, text) {
  const allowed = messages.map(({ method }) => ALLOWED[method]).filter(Boolean);
  for (const [name, ...args] of calls) {
    const isAllowed = HARMLESS.test(name) || allowed.some((pattern) => pattern.test(name));
    assert.ok(isAllowed, `${name}(${JSON.stringify(args)}) after ${text}`);
  }
}

/** Sends a frame and checks everything that follows. */
async function send(text, { browser, socket }) {
  browser.calls.length = 0;
  socket.frames.length = 0;
  const messages = messagesIn(text);
  const expected = expectedIds(messages).sort();
  const answered = () =>
    socket.messages
      .filter((message) => 'id' in message)
      .map(({ id }) => JSON.stringify(id))
      .sort();
  socket.receive(text);
  do {
    await settle();
  } while (answered().length < expected.length);
  assert.deepEqual(answered(), expected, text);
  assertAllowed(browser.calls, messages, text);
}

async function start() {
  const browser = browserWith({ id: 413, url: 'https://example.org/2' });
  return { browser, socket: await startListed(browser) };
}

test(
  `${MESSAGES} malformed messages are answered once each, and do nothing else`,
  { timeout: 600_000 },
  async () => {
    const thrown = [];
    const onThrown = (error) => thrown.push(error);
    process.on('unhandledRejection', onThrown);
    const random = makeRandom(1);
    let worker = await start();
    for (let sent = 0; sent < MESSAGES; sent += 1) {
      if (sent % PER_WORKER === 0) {
        worker = await start();
      }
      const text = mutate(random, FIXTURES[random(FIXTURES.length)]);
      await send(text, worker);
      assert.deepEqual(thrown, [], text);
    }
    process.off('unhandledRejection', onThrown);
    reportRow({
      fault: `${MESSAGES} malformed messages of the relay`,
      asked: 'each call answered once; nothing done that was not asked for',
      measured: 'no exception',
      met: true,
    });
  },
);
