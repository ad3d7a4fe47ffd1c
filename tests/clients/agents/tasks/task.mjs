/**
 * What all tasks share. A task has a script for each server, which does what an agent would do that has never seen the
 * page: it looks before it acts, uses the tool that is best for the job, and takes refs and answers from what it was
 * shown. `check` looks at the site and at the answer, never at what a tool claims.
 */

/**
 * @typedef {object} Agent the tools of a server
 * @property {(name: string, args?: object) => Promise<string>} tool must succeed
 * @property {(name: string, args?: object) => Promise<{ text: string, images: any[], isError: boolean }>} call may fail
 * @property {(path: string) => string} at the address of a page
 * @property {string} folder where the server runs
 */
/** @typedef {(agent: Agent) => Promise<any>} Script returns the answer */
/** @typedef {{ site: any, answer: any, folder: string }} Outcome */
/** @typedef {{ name: string, tabwire: Script, playwright: Script, devtools: Script, check: (outcome: Outcome) => Promise<void> | void }} Task */

/** The first group of a match that has to be in the text. */
export function find(text, pattern) {
  const match = pattern.exec(text);
  if (!match) {
    throw new Error(`${pattern} is not in: ${text.slice(0, 3_000)}`);
  }
  return match[1];
}

/** The ref of an element in a snapshot of tabwire or @playwright/mcp. `element`: role and name. */
export const ref = (text, element) =>
  find(text, new RegExp(`${escape(element)}(?: \\[(?!ref)[^\\]]*\\])* \\[ref=(\\w+)\\]`));

/** The uid of an element in a snapshot of chrome-devtools-mcp. */
export const uid = (text, element) => find(text, new RegExp(`uid=(\\w+) ${escape(element)}`));

export const escape = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

/**
 * Asks again until the answer is there, as an agent does that was too early. Every time counts.
 * @param {() => Promise<string>} ask
 * @param {RegExp} pattern
 */
export async function askUntil(ask, pattern) {
  for (let attempt = 1; ; attempt += 1) {
    const text = await ask();
    if (pattern.test(text) || attempt === MAX_ATTEMPTS) {
      return text;
    }
  }
}
const MAX_ATTEMPTS = 5;

/** The tool of tabwire. */
export const execute = ({ tool }, code) => tool('execute', { code });

/**
 * The tool of tabwire: acts and looks in one call, and looks again if that was too early.
 * @param {Agent} agent
 * @param {string} act
 * @param {string} look
 * @param {RegExp} pattern
 */
export async function actAndLook(agent, act, look, pattern) {
  const text = await execute(agent, `${act}; ${look}`);
  return pattern.test(text) ? text : askUntil(() => execute(agent, look), pattern);
}

/** chrome-devtools-mcp, in its first page. */
export const inPage = ({ tool, call, at }) => ({
  open: (path) => tool('navigate_page', { pageId: 1, type: 'url', url: at(path) }),
  snapshot: () => tool('take_snapshot', { pageId: 1 }),
  click: (id) => tool('click', { pageId: 1, uid: id }),
  tryClick: (id) => call('click', { pageId: 1, uid: id }),
  evaluate: (code) => tool('evaluate_script', { pageId: 1, function: code }),
  tool: (name, args) => tool(name, { pageId: 1, ...args }),
});

/** @playwright/mcp. */
export const inBrowser = ({ tool, call, at }) => ({
  open: (path) => tool('browser_navigate', { url: at(path) }),
  snapshot: () => tool('browser_snapshot'),
  find: (text) => tool('browser_find', { text }),
  findPattern: (regex) => tool('browser_find', { regex }),
  click: (target) => tool('browser_click', { target }),
  tryClick: (target) => call('browser_click', { target }),
  evaluate: (code) => tool('browser_evaluate', { function: code }),
});
