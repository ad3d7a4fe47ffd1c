/**
 * Dormant tabs: what connecting costs when there are many, and what the first command to one costs.
 *
 *   cargo build --release && node tests/bench/dormant.mjs [--json] [--tabs N]
 *
 * Connecting, with 5 tabs and with 500 (or N): Playwright's `connectOverCDP`, and a bare client that opens a socket, has all
 * targets told and attaches to all of them. What Playwright's connect takes beyond the bare one's is Playwright's own work for
 * each page, and what it asks of each. Both are done to Tabwire and to the same Chromium's own port, in turns. Beside the time
 * stand the processor time of the relay and of this process, which is the client. Through Tabwire no debugger may be
 * attached afterwards: if one is, this throws.
 *
 * The first command, in the background tabs of a person: `first` is to a tab that is dormant, `live` the same in one that is
 * awake, and `attach` the time that Chrome itself takes to attach its debugger, measured inside the extension. What counts
 * is (first - attach) / live, for three pairs:
 *   a bare command:   `Runtime.evaluate` of a CDP session. One command each: the purest figure.
 *   evaluate:         `page.evaluate` against a repeated one. Not quite alike: in a document that Playwright has not used it
 *                     first sends its helper script, so that `first` is two commands and `live` is one.
 *   … in a new page:  the same `first` against the first `page.evaluate` after a `goto` in the live tab: two commands each.
 * `own port` is what Chromium's own port takes for what waking takes, in tabs of the same kind: not the attaching, but all that
 * Playwright asks of a page as it connects, and then the bare command. That is Chrome's own work, which connecting to Tabwire
 * puts off until a tab is used; the last column compares with it.
 * The sides take turns, tab by tab. The dormant tabs were opened behind others and never seen, so that Chrome has not drawn
 * them yet, which it does as they wake. All figures are medians, and ratios are those of the figures.
 */

process.env.TABWIRE_BIN ??= new URL('../../target/release/tabwire', import.meta.url).pathname;
const { startChain, until } = await import('../harness/processes.mjs');
const { startSite } = await import('../harness/site.mjs');
const { chromium: playwright } = await import('playwright-core');
const { connectBare } = await import('../harness/bare_client.mjs');
const { openWorker } = await import('./worker.mjs');
const { median, processorTime, residentMemory } = await import('./figures.mjs');

const TARGET = 3;
const FEW = 5;
const BATCH = 100;
const DORMANT = 30;
/** Repeated commands to the live tab, for each first one to a dormant tab. */
const REPEATED = 5;
const EVALUATE = { expression: '6 * 7' };

const page = `<!doctype html><title>bench</title><h1>A small page</h1><button>press</button>
<ul>${'<li>One of many lines of text.'.repeat(50)}</ul>`;

/** @typedef {Awaited<ReturnType<typeof startChain>>} Chain */
/** @typedef {Awaited<ReturnType<typeof openWorker>>} Worker */

/** Kept off the standard output, where only figures are. @param {string} text */
const progress = (text) => console.error(`... ${text}`);

/** @param {() => Promise<unknown>} run */
async function timed(run) {
  const started = performance.now();
  await run();
  return performance.now() - started;
}

/* Connecting */

/**
 * Who connects where, and how often: to the own port Playwright takes seconds. `connect` gives what ends the connection.
 * @type {{ name: string, times: number, throughTabwire: boolean, connect: (chain: Chain, tabs: number) => Promise<() => Promise<unknown>> }[]}
 */
const CONNECTS = [
  {
    name: 'Playwright to Tabwire',
    times: 7,
    throughTabwire: true,
    connect: ({ cdpUrl }, tabs) => connectPlaywright(cdpUrl, tabs),
  },
  {
    name: 'bare client to Tabwire',
    times: 7,
    throughTabwire: true,
    connect: ({ cdpUrl }, tabs) => connectAlone(cdpUrl, tabs),
  },
  {
    name: 'Playwright to the own port',
    times: 3,
    throughTabwire: false,
    connect: ({ chromium }, tabs) => connectPlaywright(chromium.ownUrl, tabs),
  },
  {
    name: 'bare client to the own port',
    times: 3,
    throughTabwire: false,
    connect: ({ chromium }, tabs) => connectAlone(chromium.ownUrl, tabs),
  },
];

/** @param {string} url @param {number} tabs */
async function connectPlaywright(url, tabs) {
  const browser = await playwright.connectOverCDP(url);
  expect('pages that Playwright has', browser.contexts()[0].pages().length, tabs);
  return () => browser.close();
}

/** @param {string} url @param {number} tabs */
async function connectAlone(url, tabs) {
  const client = await connectBare(url);
  await Promise.all([
    client.send('Target.setDiscoverTargets', { discover: true }),
    client.send('Target.getTargets'),
    client.send('Target.setAutoAttach', {
      autoAttach: true,
      waitForDebuggerOnStart: true,
      flatten: true,
    }),
  ]);
  const isPage = ({ method, params }) =>
    method === 'Target.attachedToTarget' && params.targetInfo.type === 'page';
  expect('pages that the client is attached to', client.heard.filter(isPage).length, tabs);
  return () => client.close();
}

/** A figure of something else than was meant would be worth nothing. @param {string} what @param {number} seen @param {number} meant */
function expect(what, seen, meant) {
  if (seen !== meant) {
    throw new Error(`${what}: ${seen} instead of ${meant}`);
  }
}

/** How many tabs have a debugger, whoever attached it. @param {Worker} worker @returns {Promise<number>} */
const countDebuggers = (worker) =>
  worker.run(
    async () =>
      (await chrome.debugger.getTargets()).filter(
        ({ type, attached }) => type === 'page' && attached,
      ).length,
  );

/** Opens tabs behind the others, as the person would. @param {Chain} chain @param {Worker} worker @param {string[]} urls */
async function openTabs(chain, worker, urls) {
  for (let opened = 0; opened < urls.length; opened += BATCH) {
    const { targets } = await chain.relay.status();
    const batch = urls.slice(opened, opened + BATCH);
    await worker.run(async (wanted) => {
      await Promise.all(wanted.map((url) => chrome.tabs.create({ url, active: false })));
      while (!(await chrome.tabs.query({})).every((tab) => tab.status === 'complete')) {
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    }, batch);
    await until(
      'the relay knows the tabs',
      async () => (await chain.relay.status()).targets === targets + batch.length,
    );
    if (opened + BATCH < urls.length) {
      progress(`${opened + BATCH} of ${urls.length} tabs are open`);
    }
  }
}

/** @param {(typeof CONNECTS)[number]} which @param {Chain} chain @param {Worker} worker @param {number} tabs */
async function connectOnce({ throughTabwire, connect }, chain, worker, tabs) {
  const pid = chain.relay.child.pid;
  const [relayBefore, clientBefore] = [await processorTime(pid), process.cpuUsage()];
  let end = async () => /** @type {unknown} */ (undefined);
  const time = await timed(async () => (end = await connect(chain, tabs)));
  const { user, system } = process.cpuUsage(clientBefore);
  const relay = (await processorTime(pid)) - relayBefore;
  const debuggers = await countDebuggers(worker);
  const memory = await residentMemory(pid);
  await end();
  if (throughTabwire) {
    expect('debuggers attached by connecting', debuggers, 0);
  }
  await until('the slot is free', async () => (await chain.relay.status()).clients === 0);
  await until('Chromium is rid of the client', async () => (await countDebuggers(worker)) === 0);
  const client = (user + system) / 1000;
  return throughTabwire ? { time, client, debuggers, relay, memory } : { time, client, debuggers };
}

/** @param {Chain} chain @param {Worker} worker @param {number} tabs */
async function measureConnects(chain, worker, tabs) {
  const rounds = CONNECTS.map(() => /** @type {Awaited<ReturnType<typeof connectOnce>>[]} */ ([]));
  // The first round only warms up, and lets Chromium come to rest after so many new tabs.
  for (let round = 0; round <= Math.max(...CONNECTS.map(({ times }) => times)); round += 1) {
    for (const [index, which] of CONNECTS.entries()) {
      if (round <= which.times) {
        const measured = await connectOnce(which, chain, worker, tabs);
        rounds[index].push(...(round > 0 ? [measured] : []));
      }
    }
  }
  const middle = (measured, key) => median(measured.map((one) => one[key]));
  return rounds.map((measured) => ({
    time: middle(measured, 'time'),
    relay: middle(measured, 'relay'),
    client: middle(measured, 'client'),
    memory: middle(measured, 'memory'),
    debuggers: Math.max(...measured.map(({ debuggers }) => debuggers)),
  }));
}

/** @param {number} many */
async function compareConnects(many) {
  const chain = await startChain();
  try {
    const worker = await openWorker(chain);
    const { targets } = await chain.relay.status();
    const urls = Array.from({ length: many - targets }, (_, n) => `about:blank#${n}`);
    await openTabs(chain, worker, urls.slice(0, FEW - targets));
    const withFew = await measureConnects(chain, worker, FEW);
    progress(`opening ${many} tabs, which takes the most of it`);
    await openTabs(chain, worker, urls.slice(FEW - targets));
    progress('connecting to all of them, several times');
    const withMany = await measureConnects(chain, worker, many);
    await worker.close();
    return CONNECTS.map(({ name }, index) => ({
      name,
      few: withFew[index],
      many: withMany[index],
    }));
  } finally {
    await chain.stop();
  }
}

/* The first command */

/** Chrome's own time for attaching; the debugger is taken off again. @param {Worker} worker @param {string} url @returns {Promise<number>} */
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

/** What Playwright asks of each page as it connects, as far as it reaches Chrome when a tab wakes. @param {string} frameId */
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

/** The same work on Chromium's own port, attaching left out. @param {Awaited<ReturnType<typeof connectBare>>} own @param {string} url */
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

async function compareFirstCommands() {
  const site = await startSite({ '/page': page });
  const chain = await startChain();
  try {
    const worker = await openWorker(chain);
    const urlsOf = (name, count) =>
      Array.from({ length: count }, (_, n) => site.url(`/page?${name}${n}`));
    const [untouched, forEvaluate, forSession, forOwn] = [
      'untouched',
      'evaluate',
      'session',
      'own',
    ].map((name) => urlsOf(name, DORMANT));
    const [liveUrl] = urlsOf('live', 1);
    progress(
      `opening ${4 * DORMANT + 1} tabs with a page; all of this benchmark takes a minute or two`,
    );
    await openTabs(chain, worker, [
      ...untouched,
      ...forEvaluate,
      ...forSession,
      ...forOwn,
      liveUrl,
    ]);
    const browser = await playwright.connectOverCDP(chain.cdpUrl);
    const context = browser.contexts()[0];
    const pageAt = (url) => context.pages().find((one) => one.url() === url);

    const live = pageAt(liveUrl);
    const liveSession = await context.newCDPSession(live);
    for (let n = 0; n < 20; n += 1) {
      await live.evaluate(EVALUATE.expression);
      await liveSession.send('Runtime.evaluate', EVALUATE);
    }
    const own = await connectBare(chain.chromium.ownUrl);
    const times = {
      attach: [],
      own: [],
      firstEvaluate: [],
      firstSession: [],
      liveEvaluate: [],
      liveSession: [],
      newEvaluate: [],
    };
    progress('waking them, one by one');
    for (let n = 0; n < DORMANT; n += 1) {
      const [dormant, dormantToo] = [pageAt(forSession[n]), pageAt(forEvaluate[n])];
      const session = await context.newCDPSession(dormant);
      // The live tab, and two of each round before: what is measured now is dormant indeed, with a session too.
      expect('debuggers', await countDebuggers(worker), 1 + 2 * n);
      times.attach.push(await timeAttach(worker, untouched[n]));
      times.own.push(await timeOnOwnPort(own, forOwn[n]));
      times.firstSession.push(await timed(() => session.send('Runtime.evaluate', EVALUATE)));
      for (let repeated = 0; repeated < REPEATED; repeated += 1) {
        times.liveSession.push(await timed(() => liveSession.send('Runtime.evaluate', EVALUATE)));
        times.liveEvaluate.push(await timed(() => live.evaluate(EVALUATE.expression)));
      }
      times.firstEvaluate.push(await timed(() => dormantToo.evaluate(EVALUATE.expression)));
      await live.goto(liveUrl);
      // The new document has done what it does as it comes, as those in the dormant tabs have long since.
      await liveSession.send('Runtime.evaluate', EVALUATE);
      times.newEvaluate.push(await timed(() => live.evaluate(EVALUATE.expression)));
    }
    await browser.close();
    await own.close();
    await worker.close();
    const row = (name, first, liveTimes) => {
      const [medianFirst, attach, medianLive, ownPort] = [
        first,
        times.attach,
        liveTimes,
        times.own,
      ].map(median);
      const ratio = (medianFirst - attach) / medianLive;
      const toOwn = (medianFirst - attach) / ownPort;
      return {
        name,
        first: medianFirst,
        attach,
        live: medianLive,
        ratio,
        target: TARGET,
        met: ratio <= TARGET,
        ownPort,
        toOwn,
      };
    };
    return [
      row('a bare command', times.firstSession, times.liveSession),
      row('evaluate', times.firstEvaluate, times.liveEvaluate),
      row('… in a new page', times.firstEvaluate, times.newEvaluate),
    ];
  } finally {
    await chain.stop();
    site.stop();
  }
}

/* Printing */

/** @param {number} value @param {number} digits */
const figure = (value, digits) => (Number.isNaN(value) ? 'n/a' : value.toFixed(digits));
const line = (...[name, ...cells]) =>
  console.log(name.padEnd(32) + cells.map((cell) => cell.padStart(12)).join(''));

/** @param {Awaited<ReturnType<typeof compareConnects>>} rows @param {number} many */
function printConnects(rows, many) {
  line('milliseconds a connect', `${FEW} tabs`, `${many} tabs`, 'ratio', 'a tab adds');
  for (const { name, few, many: withMany } of rows) {
    for (const [key, label] of [
      ['time', name],
      ['relay', '  processor: relay'],
      ['client', '  processor: client'],
    ]) {
      const [small, large] = [few[key], withMany[key]];
      if (large !== undefined) {
        const each = (large - small) / (many - FEW);
        line(
          label,
          figure(small, 1),
          figure(large, 1),
          Number.isNaN(large) ? '' : `${(large / small).toFixed(1)}x`,
          figure(each, 3),
        );
      }
    }
  }
  const [{ few, many: withMany }, , own] = rows;
  line('debuggers attached by connecting', String(few.debuggers), String(withMany.debuggers));
  line('  by Playwright to the own port', String(own.few.debuggers), String(own.many.debuggers));
  line("relay's memory, MB", figure(few.memory, 1), figure(withMany.memory, 1));
}

/** @param {Awaited<ReturnType<typeof compareFirstCommands>>} rows */
function printFirstCommands(rows) {
  line('milliseconds', 'first', 'attach', 'live', 'ratio', 'target', '', 'own port', 'to own');
  for (const { name, first, attach, live, ratio, target, met, ownPort, toOwn } of rows) {
    const times = [first, attach, live].map((time) => time.toFixed(2));
    line(
      name,
      ...times,
      `${ratio.toFixed(2)}x`,
      `<= ${target}x`,
      met ? 'met' : 'MISSED',
      ownPort.toFixed(2),
      `${toOwn.toFixed(2)}x`,
    );
  }
  console.log('ratio: (first - attach) / live; to own: (first - attach) / own port');
}

const many = Number(process.argv[process.argv.indexOf('--tabs') + 1]) || 500;

const firstCommands = await compareFirstCommands();
const connects = await compareConnects(many);
if (process.argv.includes('--json')) {
  console.log(JSON.stringify({ connects, firstCommands }, null, 2));
} else {
  printConnects(connects, many);
  console.log();
  printFirstCommands(firstCommands);
}
