/** What `chain.mjs` measures: Playwright's actions, and the page that they act on. */

const EVENTS = 2_000;

/** The page at `/page`. */
export const page = `<!doctype html><title>bench</title><style>body { font: 16px sans-serif }</style>
<h1>A test page</h1><button onclick="this.textContent = ++clicks">0</button> <input>
<ul>${'<li>One of many lines of text, so that there is something to draw.'.repeat(50)}</ul><script>let clicks = 0</script>`;

/**
 * @typedef {{ page: import('playwright-core').Page, context: import('playwright-core').BrowserContext, site: any }} Side
 *
 * @typedef {object} Action
 * @property {string} name
 * @property {number} times How often per round.
 * @property {(side: Side) => Promise<unknown>} run Performs the action once.
 * @property {(side: Side, result: any) => Promise<unknown>} [after] Cleans up outside the
 *   measurement.
 */

/** @type {Action[]} */
export const ACTIONS = [
  { name: 'evaluate', times: 60, run: ({ page }) => page.evaluate('6 * 7') },
  {
    name: '200 evaluates at once',
    times: 3,
    run: ({ page }) =>
      Promise.all(Array.from({ length: 200 }, (_, n) => page.evaluate(`${n} * 7`))),
  },
  { name: '1 MB result', times: 5, run: ({ page }) => page.evaluate('"x".repeat(2 ** 20)') },
  { name: 'goto', times: 8, run: ({ page, site }) => page.goto(site.url('/page')) },
  { name: 'click', times: 12, run: ({ page }) => page.click('button') },
  { name: 'fill', times: 12, run: ({ page }) => page.fill('input', `text ${Math.random()}`) },
  { name: 'ariaSnapshot', times: 12, run: ({ page }) => page.locator('body').ariaSnapshot() },
  { name: 'screenshot', times: 3, run: ({ page }) => page.screenshot() },
  {
    name: 'newPage',
    times: 4,
    run: ({ context }) => context.newPage(),
    after: (_side, page) => page.close(),
  },
  { name: `${EVENTS} console events`, times: 2, run: receiveEvents },
];

/** @param {Side} side */
async function receiveEvents({ page }) {
  let remaining = EVENTS;
  const all = new Promise((resolve) => {
    const onEvent = () => {
      remaining -= 1;
      if (remaining === 0) {
        page.off('console', onEvent);
        resolve(undefined);
      }
    };
    page.on('console', onEvent);
  });
  await page.evaluate((count) => {
    for (let n = 0; n < count; n += 1) {
      console.log('an event', n);
    }
  }, EVENTS);
  await all;
}
