/**
 * What a script has in the place of the functions of an agent's scope, by name. They do the same with Playwright alone, as far
 * as a script needs it.
 */

/** @type {Record<string, string | undefined>} */
export const REPLACEMENTS = {
  pages: 'const pages = () => context.pages();',

  state: 'const state = {};',

  keep: 'const kept = new Set();\nconst keep = (tab = page) => void kept.add(tab);',

  secret: `const secret = (name) => {
  if (process.env[name] === undefined) throw new Error(\`Set the variable \${name}.\`);
  return process.env[name];
};`,

  dialogs: `const dialogs = {};
context.on('dialog', async (dialog) => {
  const answer = dialogs.next ?? 'dismiss';
  delete dialogs.next;
  const text = answer === 'accept' ? undefined : (answer.text ?? answer);
  await (answer === 'dismiss' ? dialog.dismiss() : dialog.accept(text));
});`,

  snapshot: `const snapshot = (target) => (target?.ariaSnapshot ? target : page.locator('body')).ariaSnapshot();`,

  markdown: `const markdown = (target) => (target?.innerText ? target : page.locator(target ?? 'body')).innerText();`,

  find: `const find = async (text) =>
  (await page.getByText(text).all()).map((locator) => ({ locator }));`,

  download: `const download = async (action) => {
  const target = action.locator?.click ? action.locator : action;
  const start = () => (target.click ? target : page.locator(target)).click();
  const [started] = await Promise.all([
    page.waitForEvent('download'),
    typeof action === 'function' ? action() : start(),
  ]);
  const name = started.suggestedFilename();
  await started.saveAs(name);
  return { name, path: name };
};`,

  upload: `const upload = (target, files) => {
  const contentOf = ({ name, type = 'application/octet-stream', content }) =>
    ({ name, mimeType: type, buffer: Buffer.from(content) });
  const given = [files].flat().map((file) => (file.content === undefined ? (file.path ?? file) : contentOf(file)));
  const locator = target.locator?.click ? target.locator : target;
  return (locator.setInputFiles ? locator : page.locator(locator)).setInputFiles(given);
};`,

  fetch: `const fetch = async (url, { body, method = body === undefined ? 'GET' : 'POST', headers } = {}) => {
  const response = await page.request.fetch(new URL(url, page.url()).href, { method, headers, data: body });
  const [type = '', text] = [response.headers()['content-type'], await response.text()];
  const isJson = /json/.test(type);
  return { status: response.status(), ok: response.ok(), type, body: isJson ? JSON.parse(text) : text };
};`,

  networkIdle: `const networkIdle = () => page.waitForLoadState('networkidle');`,

  pdf: `const pdf = (target, options = target) =>
  (target?.pdf ? target : page).pdf({ path: 'page.pdf', ...(options?.pdf ? {} : options) });`,
};
