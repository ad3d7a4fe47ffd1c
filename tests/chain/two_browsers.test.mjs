/**
 * Two real browsers on one relay. With `--browsers many`, clients choose one by its name and never
 * see anything of the other. Otherwise one is connected at a time, and the user can change which.
 *
 * `TABWIRE_SOAK_SECONDS` sets how long the clients work.
 */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';

import { chromium as playwright } from 'playwright-core';

import { prepareRunner } from '../harness/agent.mjs';
import { inExtension, openTabs, pageAt } from '../harness/chain.mjs';
import { openPopup } from '../harness/popup.mjs';
import {
  freePort,
  startChromium,
  startRelay,
  TABWIRE,
  temporaryFolder,
  until,
  untilEqual,
} from '../harness/processes.mjs';
import { startSite } from '../harness/site.mjs';

const NAMES = ['alpha', 'beta'];
const BOTH = /alpha.*beta|beta.*alpha/s;
const CLIENTS = 2;
const SOAK_MS = Number(process.env.TABWIRE_SOAK_SECONDS ?? 3) * 1000;
const USER_AGENT = 'Mozilla/5.0 (X11; Linux x86_64) HeadlessChrome/156.0.0.0';

/** A page that names the browser it is shown in, whatever its address says. */
const PAGE = `<!doctype html><link rel="icon" href="data:,"><script>
  const name = navigator.userAgent.split(' ').at(-1);
  document.title = name;
  console.log('opened in ' + name);
</script>`;

let site, home, port, tally;
/** The browsers, by their names. */
const chromiums = {};

before(async () => {
  site = await startSite({ '/page': servePage });
  home = await temporaryFolder('home');
  port = await freePort();
  await prepareRunner(home);
  tally = newTally();
  for (const name of NAMES) {
    const args = [`--user-agent=${USER_AGENT} ${name}`];
    chromiums[name] = await startChromium({ relay: { port, home }, name, args });
    await openTabs({ chromium: chromiums[name] }, [pageOf(name, 'user')]);
  }
});

after(async () => {
  await Promise.all(Object.values(chromiums).map((chromium) => chromium.stop()));
  await home?.remove();
  site?.stop();
});

const pageOf = (name, detail) => site.url(`/page?browser=${name}&${detail}`);
const otherThan = (name) => NAMES.find((other) => other !== name);

// ---- what belongs to whom ----

function newTally() {
  const counts = { commands: 0, events: 0, requests: 0, crossings: 0 };
  /** Counts something that must mention this browser and not the other one. */
  const count = (kind, owner, text) => {
    counts[kind] += 1;
    if (!text.includes(owner) || text.includes(otherThan(owner))) {
      counts.crossings += 1;
      console.error(`belongs to ${owner}: ${text}`);
    }
  };
  return { counts, count };
}

/** A navigation must come from the browser whose client has asked for it. */
function servePage(request, response) {
  const owner = new URL(request.url, site.url()).searchParams.get('browser');
  tally.count('requests', owner, request.headers['user-agent']);
  response.setHeader('content-type', 'text/html').end(PAGE);
}

/** Checks every event of a client's pages. */
function watch(context, name) {
  const isOfSite = (url) => url.startsWith(site.url());
  const countUrl = (url) => isOfSite(url) && tally.count('events', name, url);
  const watchPage = (page) => {
    countUrl(page.url());
    page.on('console', (message) => tally.count('events', name, message.text()));
    page.on('framenavigated', (frame) => countUrl(frame.url()));
    page.on('request', (request) => countUrl(request.url()));
  };
  context.pages().forEach(watchPage);
  context.on('page', watchPage);
}

/** One client: navigates, evaluates and waits for console events, until the time is over. */
async function work(relay, name, client) {
  const browser = await playwright.connectOverCDP(`${relay.cdpUrl}&browser=${name}`);
  const context = browser.contexts()[0];
  watch(context, name);
  const ofUser = pageAt(context, '&user');
  const page = await context.newPage();
  const deadline = Date.now() + SOAK_MS;
  for (let round = 0; Date.now() < deadline; round += 1) {
    const label = `client-${client}-round-${round}`;
    await page.goto(pageOf(name, label));
    const logged = page.waitForEvent('console', (message) => message.text().includes(label));
    const log = (text) => console.log(`${document.title} ${text}`);
    const [, title, userAgent] = await Promise.all([
      page.evaluate(log, label),
      page.title(),
      ofUser.evaluate(() => navigator.userAgent),
      logged,
    ]);
    tally.count('commands', name, title);
    tally.count('commands', name, userAgent);
  }
  await page.close();
  await browser.close();
}

// ---- --browsers many ----

test('with --browsers many', async (t) => {
  const args = ['--browsers', 'many', '--client-mode', 'multi-client'];
  const relay = await startRelay({ home, port, args });
  t.after(() => relay.stop({ keepHome: true }));
  await until('both browsers are connected', async () => (await relay.status()).browsers === 2);

  await t.test('clients of two browsers never see the other’s pages or events', async (t) => {
    const clients = NAMES.flatMap((name) =>
      Array.from({ length: CLIENTS }, (_, client) => work(relay, name, client)),
    );
    await Promise.all(clients);
    t.diagnostic(JSON.stringify(tally.counts));
    assert.equal(tally.counts.crossings, 0);
    await relay.waitForClients(0);
  });

  await t.test('commands take a browser by its name', async () => {
    const ofUser = (name) => ({ urls: [pageOf(name, 'user')] });
    const [byOption, byVariable, unnamed, unknown] = await Promise.all([
      tabs(['--browser', 'alpha']),
      tabs([], { TABWIRE_BROWSER: 'beta' }),
      tabs([]),
      tabs(['--browser', 'gamma']),
    ]);
    assert.deepEqual(byOption, ofUser('alpha'));
    assert.deepEqual(byVariable, ofUser('beta'));
    assert.match(unnamed.error, BOTH);
    assert.match(unknown.error, BOTH);
  });

  await t.test('a request without a name gets 400 and both names', async () => {
    const url = new URL(relay.cdpUrl.replace('ws:', 'http:'));
    url.pathname = '/json/list';
    const response = await fetch(url);
    assert.equal(response.status, 400);
    assert.match((await response.json()).error, BOTH);
  });
});

/** The addresses that `tabwire tabs` lists, apart from blank tabs, or its error. */
async function tabs(args, env = {}) {
  try {
    const options = { env: { ...process.env, TABWIRE_HOME: home.path, ...env } };
    const { stdout } = await promisify(execFile)(TABWIRE, ['tabs', '--json', ...args], options);
    const urls = JSON.parse(stdout).map(({ url }) => url);
    return { urls: urls.filter((url) => url !== 'about:blank') };
  } catch (error) {
    return { error: error.stderr + error.stdout };
  }
}

// ---- one browser at a time ----

/** Counts how often an extension looks for the relay from now on. */
async function watchAttempts(chromium) {
  await inExtension({ chromium }, () => {
    const { fetch } = globalThis;
    globalThis.attempts = 0;
    globalThis.fetch = (url, ...rest) => {
      globalThis.attempts += String(url).startsWith('http://127.0.0.1:') ? 1 : 0;
      return fetch(url, ...rest);
    };
  });
  return (count) =>
    until(`the extension has tried ${count} times`, () =>
      inExtension({ chromium }, (wanted) => globalThis.attempts >= wanted, count),
    );
}

test('the user can choose the other browser, and the first one does not fight back', async (t) => {
  const relay = await startRelay({ home, port });
  t.after(() => relay.stop({ keepHome: true }));
  await relay.waitForExtension();
  const connected = async () =>
    (await (await fetch(`http://127.0.0.1:${port}/client-slot`)).json()).browser;
  const first = await connected();
  const second = otherThan(first);
  const client = await playwright.connectOverCDP(relay.cdpUrl);
  const urls = () =>
    client
      .contexts()[0]
      .pages()
      .map((page) => page.url())
      // The popups are open in tabs that were empty first.
      .filter((url) => url.startsWith('http'));
  assert.deepEqual(urls(), [pageOf(first, 'user')]);

  const [popupOfFirst, popupOfSecond] = await Promise.all(
    [first, second].map((name) => openPopup(chromiums[name])),
  );
  await popupOfFirst.headline('Connected');
  await popupOfSecond.headline('Another browser is connected');
  await popupOfSecond.explanation(`is connected to “${first}”`);
  const untilTried = await watchAttempts(chromiums[first]);
  await popupOfSecond.useThisBrowser();
  await popupOfSecond.headline('Connected');
  await popupOfFirst.headline('Replaced by another browser');
  await popupOfFirst.explanation(`is now connected to “${second}” instead of this one.`);
  await untilTried(4);
  await popupOfFirst.headline('Replaced by another browser');
  await popupOfSecond.headline('Connected');
  assert.equal(await connected(), second);

  await untilEqual('the client sees the other browser', urls, [pageOf(second, 'user')]);
  const page = pageAt(client.contexts()[0], '&user');
  assert.equal(await page.title(), second);
  await client.close();
});
