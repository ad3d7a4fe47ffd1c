/** `help()`: what the code can call, in the agent's words. Every name in scope is here; a test compares the two. */

/** @typedef {{ name: string, use: string, does: string, more?: string }} Topic `use`: its arguments. `more`: for `help(name)` */

/** @type {Topic[]} */
export const TOPICS = [
  {
    name: 'page',
    use: '',
    does: 'the current tab; assign to it to switch',
    more: "All of Playwright's Page. Example: page = pages().find((p) => p.url().includes('mail'))",
  },
  { name: 'context', use: '', does: "Playwright's BrowserContext: the user's profile" },
  { name: 'browser', use: '', does: "Playwright's Browser" },
  { name: 'state', use: '', does: 'an object that is kept between calls' },
  { name: 'console', use: '', does: 'prints to the result' },
  { name: 'pages', use: '()', does: 'all tabs' },
  { name: 'keep', use: '(page?)', does: 'leaves a tab open that you opened' },
  {
    name: 'snapshot',
    use: '(target?, options?)',
    does: 'the accessibility tree as text, with refs',
    more: `target: a locator, selector, frame or page.
search: text or RegExp; only lines that match, with what encloses them
interactive: true for only what can be acted on
diff: true for only what changed since the last one
depth: how many levels; offset: from which line
compact: false for everything
Act on refs: page.locator('aria-ref=e5').click()`,
  },
  {
    name: 'find',
    use: '(text or RegExp, { max }?)',
    does: 'the elements with a text: ref, role, text, and where they are',
    more: `Each result has a locator: await (await find('Sign out'))[0].locator.click()
in: what encloses it; under: the heading above it. max: how many, default 30`,
  },
  {
    name: 'markdown',
    use: '(target?, { all, offset, max }?)',
    does: 'the main content of the page as Markdown, to read it',
    more: `target: a locator, selector, frame or page.
all: true includes navigation, header, sidebar and footer
offset: continues a long page; max: characters, default what fits into a result
Links of the same site have their path only.`,
  },
  {
    name: 'screenshot',
    use: '(target?, { fullPage, labels, tile, clip, type }?)',
    does: 'attaches an image',
    more: `What is too tall or wide to be legible comes in tiles, four at a time. tile: the first one to show.
labels: true draws the refs. target: a locator, selector, frame or page.`,
  },
  {
    name: 'download',
    use: '(locator or function, { timeout }?)',
    does: 'clicks or runs it, and saves the file: { path, name, bytes }',
    more: `download(page.getByText('Export')), download(() => page.goto(url))
download(): waits for the downloads under way and returns the last one
timeout: milliseconds until it begins. Downloads that you do not wait for are saved and announced, too.`,
  },
  {
    name: 'upload',
    use: '(target, files)',
    does: 'sets the files of a file input, or clicks what opens a file chooser',
    more: `files: an absolute path, { name, content, type }, what download() returned, or a list of these`,
  },
  {
    name: 'fetch',
    use: '(url, options?)',
    does: 'a request from the page, with its cookies: { status, type, body }',
    more: `url: may be relative. body: text, or an object, which is sent as JSON; method is then POST.
Result: body is parsed if it is JSON; also headers, url, ok, text(), json()
save: true or a file name writes the body to a file. max: bytes, default 5000000. timeout: milliseconds
Other sites: context.request.fetch(url)`,
  },
  {
    name: 'networkIdle',
    use: '({ idle, timeout }?)',
    does: 'waits until the page has loaded nothing for 500 ms',
    more: `idle, timeout: milliseconds, default 500 and 10000. Returns what is still loading at the timeout: [] if nothing`,
  },
  {
    name: 'pdf',
    use: '(page?, options?)',
    does: 'prints the page to a file: { path, name, bytes }',
    more: `options of Playwright's page.pdf(): format, landscape, pageRanges, scale, margin, …`,
  },
  {
    name: 'logs',
    use: '({ level, since, search }?)',
    does: 'console messages of the pages in use',
    more: 'level: the lowest: debug, log, info, warning, error. since: seconds. search: text or RegExp',
  },
  {
    name: 'requests',
    use: '({ url, type, status }?)',
    does: 'what the pages loaded',
    more: `url: text or RegExp. type: fetch, document, script, … status: 404, '4xx' or 'failed'
Each has await .body(), .json(), .headers(), .postData()`,
  },
  {
    name: 'dialogs',
    use: '.next',
    does: "answers the next dialog: 'accept', 'dismiss' or a text",
  },
  {
    name: 'secret',
    use: '(name)',
    does: 'stands for a secret of the user in fill(), type(), and headers and body of fetch()',
  },
  {
    name: 'record',
    use: '.start(options?), .stop()',
    does: 'an animated GIF of the page, with your clicks marked: { path, … }',
    more: 'fps, width, seconds: the longest it may take; path: a name for the file, or where to write it',
  },
  {
    name: 'script',
    use: '()',
    does: 'the session so far as a Playwright script that runs without Tabwire’s functions',
  },
  { name: 'output', use: '(from, to?)', does: 'the rest of the last result that was truncated' },
  { name: 'help', use: '(name?)', does: 'this list, or more about one of them' },
];

/** `help(name?)` for the code. @param {any} [wanted] a name, or the function itself */
export function help(wanted) {
  if (wanted === undefined) {
    const lines = TOPICS.map(({ name, use, does }) => `${name}${use}: ${does}`);
    return [...lines, "help('name') has more about one of them."].join('\n');
  }
  const name = String(typeof wanted === 'function' ? wanted.name : wanted).replace(/\W.*$/s, '');
  const topic = TOPICS.find((one) => one.name === name);
  if (!topic) {
    throw new Error(
      `There is no help on '${name}'. There is: ${TOPICS.map((one) => one.name).join(', ')}.`,
    );
  }
  return [`${topic.name}${topic.use}: ${topic.does}`, topic.more].filter(Boolean).join('\n');
}
