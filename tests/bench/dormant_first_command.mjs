/**
 * Measures the first command to dormant tabs that the user has opened in the background. `first` is
 * the first command to a dormant tab, `live` the same command to a live one, and `attach` the time
 * Chrome takes to attach its debugger, measured in the extension. The ratio is (first - attach) /
 * live, for three pairs:
 *   a bare command:   `Runtime.evaluate` in a CDP session, one command each. This is the purest figure.
 *   evaluate:         `page.evaluate` and a repeated one. In a document it has not used, Playwright first sends its helper
 *                     script, so `first` is two commands and `live` is one.
 *   … in a new page:  the same `first`, and the first `page.evaluate` after a `goto` in the live tab: two commands each.
 * `own port` is the time that Chromium's own port takes for the work of waking in the same kind of
 * tab: everything Playwright sends to a page when it connects, except attaching, and then the
 * command. Tabwire defers that work until a tab is used, so the last column compares with it. The
 * sides alternate tab by tab. Chrome has never drawn the dormant tabs, and does so when they wake.
 * Figures are medians, and ratios are those of the figures.
 */

import { chromium as playwright } from 'playwright-core';

import { pageAt } from '../harness/chain.mjs';
import { startChain } from '../harness/processes.mjs';
import { connectRaw } from '../harness/raw_client.mjs';
import { startSite } from '../harness/site.mjs';
import { countDebuggers, expect, openTabs, progress } from './dormant_tabs.mjs';
import { median, timed } from './figures.mjs';
import { openWorker } from './worker.mjs';

const TARGET = 3;
const DORMANT = 30;
const WARM_UPS = 20;
/** Repeated commands to the live tab for each first command to a dormant one. */
const REPEATS = 5;
const EVALUATE = { expression: '6 * 7' };

const page = `<!doctype html><title>bench</title><h1>A small page</h1><button>press</button>
<ul>${'<li>One of many lines of text.'.repeat(50)}</ul>`;

/** @typedef {import('./dormant_tabs.mjs').Worker} Worker */

/**
 * Chrome's own time to attach its debugger, which is then detached.
 * @param {Worker} worker
 * @param {string} url
 * @returns {Promise<number>}
 */
const timeAttach = (worker, url) =>
  worker.run(async (wanted) => {
    const tab = (await chrome.tabs.query({})).find((one) => one.url === wanted);
    const target = { tabId: tab.id };
    const started = performance.now();
    await chrome.debugger.attach(target, '1.3');
    const time = performance.now() - started;
    await chrome.debugger.detach(target);
    return time;
  }, url);

/**
 * What Playwright sends to each page when it connects and Tabwire sends to Chrome when the tab
 * wakes.
 * @param {string} frameId
 */
const playwrightInit = (frameId) => [
  ['Page.getFrameTree', {}],
  ['Page.enable', {}],
  ['Log.enable', {}],
  ['Page.setLifecycleEventsEnabled', { enabled: true }],
  ['Runtime.enable', {}],
  ['Page.addScriptToEvaluateOnNewDocument', { source: '', worldName: 'utility' }],
  ['Network.enable', {}],
  ['Target.setAutoAttach', { autoAttach: true, waitForDebuggerOnStart: true, flatten: true }],
  ['Emulation.setFocusEmulationEnabled', { enabled: true }],
  ['Inspector.enable', {}],
  ['Page.createIsolatedWorld', { frameId, worldName: 'utility', grantUniveralAccess: true }],
];

/**
 * The same work on Chromium's own port, without attaching.
 * @param {Awaited<ReturnType<typeof connectRaw>>} own
 * @param {string} url
 */
async function timeOnOwnPort(own, url) {
  const { targetInfos } = await own.send('Target.getTargets');
  const { targetId } = targetInfos.find((target) => target.url === url);
  const { sessionId } = await own.send('Target.attachToTarget', { targetId, flatten: true });
  const time = await timed(async () => {
    await Promise.all(
      playwrightInit(targetId).map(([method, params]) => own.send(method, params, sessionId)),
    );
    await own.send('Runtime.evaluate', EVALUATE, sessionId);
  });
  await own.send('Target.detachFromTarget', { sessionId });
  return time;
}

const evaluateInSession = (session) => timed(() => session.send('Runtime.evaluate', EVALUATE));
const evaluateInPage = (target) => timed(() => target.evaluate(EVALUATE.expression));

/** Measures one dormant tab of each kind, and the live tab in between. */
async function measureRound({ context, worker, own, live, session: liveSession }, urls, n, times) {
  const session = await context.newCDPSession(pageAt(context, urls.session[n]));
  // The live tab, and two tabs of each earlier round. The tabs measured now are dormant, although
  // one has a session.
  expect('debuggers', await countDebuggers(worker), 1 + 2 * n);
  times.attach.push(await timeAttach(worker, urls.untouched[n]));
  times.own.push(await timeOnOwnPort(own, urls.own[n]));
  times.firstSession.push(await evaluateInSession(session));
  for (let repeat = 0; repeat < REPEATS; repeat += 1) {
    times.liveSession.push(await evaluateInSession(liveSession));
    times.liveEvaluate.push(await evaluateInPage(live));
  }
  times.firstEvaluate.push(await evaluateInPage(pageAt(context, urls.evaluate[n])));
  await live.goto(urls.live[0]);
  // Lets the new document finish its start-up work, as those in the dormant tabs have.
  await evaluateInSession(liveSession);
  times.newEvaluate.push(await evaluateInPage(live));
}

/** @param {Awaited<ReturnType<typeof startChain>>} chain @param {Record<string, string[]>} urls */
async function measureFirstCommands(chain, worker, urls) {
  const times = {
    attach: [],
    own: [],
    firstEvaluate: [],
    firstSession: [],
    liveEvaluate: [],
    liveSession: [],
    newEvaluate: [],
  };
  const browser = await playwright.connectOverCDP(chain.cdpUrl);
  const context = browser.contexts()[0];
  const live = pageAt(context, urls.live[0]);
  const session = await context.newCDPSession(live);
  for (let n = 0; n < WARM_UPS; n += 1) {
    await evaluateInPage(live);
    await evaluateInSession(session);
  }
  const own = await connectRaw(chain.chromium.ownUrl);
  progress('waking tabs one by one');
  for (let n = 0; n < DORMANT; n += 1) {
    await measureRound({ context, worker, own, live, session }, urls, n, times);
  }
  await browser.close();
  await own.close();
  return times;
}

function summarize(name, firstTimes, liveTimes, { attach: attachTimes, own }) {
  const [first, attach, live, ownPort] = [firstTimes, attachTimes, liveTimes, own].map(median);
  const ratio = (first - attach) / live;
  const toOwn = (first - attach) / ownPort;
  return { name, first, attach, live, ratio, target: TARGET, met: ratio <= TARGET, ownPort, toOwn };
}

export async function compareFirstCommands() {
  const site = await startSite({ '/page': page });
  const chain = await startChain();
  try {
    const worker = await openWorker(chain);
    const urlsOf = (name, count) =>
      Array.from({ length: count }, (_, n) => site.url(`/page?${name}${n}`));
    const urls = {};
    for (const name of ['untouched', 'evaluate', 'session', 'own']) {
      urls[name] = urlsOf(name, DORMANT);
    }
    urls.live = urlsOf('live', 1);
    const all = Object.values(urls).flat();
    progress(`opening ${all.length} tabs; the whole benchmark takes a minute or two`);
    await openTabs(chain, worker, all);
    const times = await measureFirstCommands(chain, worker, urls);
    await worker.close();
    return [
      summarize('a bare command', times.firstSession, times.liveSession, times),
      summarize('evaluate', times.firstEvaluate, times.liveEvaluate, times),
      summarize('… in a new page', times.firstEvaluate, times.newEvaluate, times),
    ];
  } finally {
    await chain.stop();
    site.stop();
  }
}
