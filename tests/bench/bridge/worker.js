/**
 * The least that an extension has to do so that Playwright can use a background tab: it passes each
 * command to `chrome.debugger.sendCommand` and each event to the socket, one message at a time. It
 * keeps no state, checks nothing, recovers from nothing, and serves one client that uses no frames
 * of other processes. A session's id is the id of its tab.
 *
 * The root session has the few answers without which Playwright does not connect, or open a page.
 */

/**
 * Chrome draws almost nothing in a background tab: a screenshot would hang and a click would wait
 * for seconds. During a screencast it draws as usual. This one reports a frame in a million.
 */
const SCREENCAST = {
  format: 'jpeg',
  quality: 1,
  maxWidth: 16,
  maxHeight: 16,
  everyNthFrame: 1_000_000,
};

/** @type {WebSocket} */
let socket;

const send = (message) => socket.send(JSON.stringify(message));

async function createTarget({ url }) {
  const { id: tabId } = await chrome.tabs.create({ url, active: false });
  await chrome.debugger.attach({ tabId }, '1.3');
  chrome.debugger.sendCommand({ tabId }, 'Page.startScreencast', SCREENCAST);
  const targets = await chrome.debugger.getTargets();
  const { id: targetId } = targets.find((target) => target.tabId === tabId);
  const targetInfo = {
    targetId,
    type: 'page',
    title: '',
    url,
    attached: true,
    canAccessOpener: false,
    browserContextId: 'default',
  };
  const params = { sessionId: String(tabId), targetInfo, waitingForDebugger: false };
  send({ method: 'Target.attachedToTarget', params });
  return { targetId };
}

async function closeTarget({ targetId }) {
  const targets = await chrome.debugger.getTargets();
  const { tabId } = targets.find((target) => target.id === targetId);
  await chrome.tabs.remove(tabId);
  send({ method: 'Target.detachedFromTarget', params: { sessionId: String(tabId), targetId } });
  return { success: true };
}

/** What the root session answers; `{}` to anything else. */
const root = {
  'Browser.getVersion': () => ({ product: 'Chrome/1.2.3.4', userAgent: navigator.userAgent }),
  'Target.getTargetInfo': () => ({ targetInfo: { targetId: 'browser', type: 'browser' } }),
  'Target.createTarget': createTarget,
  'Target.closeTarget': closeTarget,
};

async function onCommand({ id, method, params, sessionId }) {
  try {
    const result = sessionId
      ? await chrome.debugger.sendCommand({ tabId: Number(sessionId) }, method, params)
      : await root[method]?.(params);
    send({ id, result: result ?? {}, sessionId });
  } catch (error) {
    send({ id, error: { code: -32000, message: error.message }, sessionId });
  }
}

chrome.debugger.onEvent.addListener(({ tabId }, method, params) => {
  send({ method, params: params ?? {}, sessionId: String(tabId) });
});

/** `pipe.json` has the port of the pipe. It is written when the extension is installed. */
async function connect() {
  const { port } = await (await fetch('pipe.json')).json();
  socket = new WebSocket(`ws://127.0.0.1:${port}/`);
  socket.onmessage = ({ data }) => onCommand(JSON.parse(data));
}
connect();
