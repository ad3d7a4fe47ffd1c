/** Tasks in the mail client. */

import assert from 'node:assert/strict';

import { LOCKER_CODE, MESSAGES } from '../pages/data.mjs';
import { PASSWORD, USER } from '../pages/site.mjs';
import { escape, execute, find, inBrowser, inPage, ref, uid } from './task.mjs';

const [, , THIRD, FOURTH] = MESSAGES;

/** @type {import('./task.mjs').Task} */
const signIn = {
  name: 'sign in with a secret',
  async tabwire(agent) {
    const seen = await execute(agent, `await page.goto('${agent.at('/login')}'); snapshot()`);
    const [user, password, button] = [
      'textbox "Email"',
      'textbox "Password"',
      'button "Sign in"',
    ].map((element) => ref(seen, element));
    return execute(
      agent,
      `await page.locator('aria-ref=${user}').fill('${USER}'); await page.locator('aria-ref=${password}').fill(secret('MAIL_PASSWORD')); await page.locator('aria-ref=${button}').click(); snapshot({ search: /signed in|unread/i })`,
    );
  },
  async playwright(agent) {
    const { open, snapshot, click, findPattern } = inBrowser(agent);
    await open('/login');
    const seen = await snapshot();
    const field = (name, value) => ({
      ...{ target: ref(seen, `textbox "${name}"`), name, type: 'textbox', value },
    });
    const fields = [field('Email', USER), field('Password', 'MAIL_PASSWORD')];
    await agent.tool('browser_fill_form', { fields });
    await click(ref(seen, 'button "Sign in"'));
    return findPattern('/signed in|unread/i');
  },
  /** It has no secrets: the model types the password itself. */
  async devtools(agent) {
    const { open, snapshot, tool, click, evaluate } = inPage(agent);
    await open('/login');
    const seen = await snapshot();
    const elements = [
      { uid: uid(seen, 'textbox "Email"'), value: USER },
      { uid: uid(seen, 'textbox "Password"'), value: PASSWORD },
    ];
    await tool('fill_form', { elements });
    await click(uid(seen, 'button "Sign in"'));
    return evaluate('() => document.body.innerText.match(/.*(signed in|unread).*/gi)');
  },
  check({ site, answer }) {
    assert.match(answer, new RegExp(`Signed in as ${USER}`));
    assert.match(answer, /27 unread messages/);
    const [{ user, password }] = site.reports('/login');
    assert.deepEqual([user, password], [USER, PASSWORD]);
  },
};

/** A loop in one call is what both servers that run Playwright code are best at. */
const GO_ON =
  "while (!(await page.getByText('locker').count())) await page.getByRole('link', { name: 'Older' }).click(); await page.getByText('locker').click()";

/** @type {import('./task.mjs').Task} */
const paginate = {
  name: 'find a message some pages further',
  async tabwire(agent) {
    const wanted = 'snapshot({ search: /locker|older|next page/i })';
    const seen = await execute(agent, `await page.goto('${agent.at('/mail')}'); ${wanted}`);
    assert.ok(ref(seen, 'link "Older"'));
    return execute(agent, `${GO_ON}; page.getByText('code').innerText()`);
  },
  async playwright(agent) {
    const { open, findPattern } = inBrowser(agent);
    await open('/mail');
    assert.ok(ref(await findPattern('/locker|older|next page/i'), 'link "Older"'));
    const code = `async (page) => { ${GO_ON}; return page.getByText('code').innerText(); }`;
    return agent.tool('browser_run_code_unsafe', { code });
  },
  async devtools(agent) {
    const { open, evaluate } = inPage(agent);
    await open('/mail');
    const links =
      '() => [...document.links].filter(({ innerText }) => /locker|older|next page/i.test(innerText)).map(({ innerText, href }) => [innerText, href])';
    let seen = await evaluate(links);
    for (let page = 2; !seen.includes('Your new locker'); page += 1) {
      assert.ok(seen.includes(`?page=${page}`), seen);
      await open(`/mail?page=${page}`);
      seen = await evaluate(links);
    }
    await open(find(seen, /Your new locker","http:\/\/[^/]*([^"]*)/));
    return evaluate('() => document.body.innerText.match(/.*code.*/)?.[0]');
  },
  check({ site, answer }) {
    assert.match(answer, new RegExp(`The code is ${LOCKER_CODE}`));
    assert.deepEqual(site.reports('/mail/message'), [{ id: 64 }]);
  },
};

/** @type {import('./task.mjs').Task} */
const drag = {
  name: 'drag a message to a folder',
  async tabwire(agent) {
    const seen = await execute(
      agent,
      `await page.goto('${agent.at('/mail')}'); snapshot({ search: /${escape(FOURTH.subject)}|invoices"/i })`,
    );
    const [from, to] = [`link "${FOURTH.subject}"`, 'link "Invoices"'].map((it) => ref(seen, it));
    return execute(
      agent,
      `await page.locator('aria-ref=${from}').dragTo(page.locator('aria-ref=${to}')); snapshot({ search: 'moved' })`,
    );
  },
  async playwright(agent) {
    const { open, find: look } = inBrowser(agent);
    await open('/mail');
    const startTarget = ref(await look(FOURTH.subject), `link "${FOURTH.subject}"`);
    const endTarget = ref(await look('invoices'), 'link "Invoices"');
    await agent.tool('browser_drag', { startTarget, endTarget });
    return look('moved');
  },
  async devtools(agent) {
    const { open, snapshot, tool, evaluate } = inPage(agent);
    await open('/mail');
    const seen = await snapshot();
    const [from, to] = [`link "${FOURTH.subject}"`, 'link "Invoices"'].map((it) => uid(seen, it));
    await tool('drag', { from_uid: from, to_uid: to });
    return evaluate('() => document.body.innerText.match(/.*moved.*/i)?.[0]');
  },
  check({ site, answer }) {
    assert.match(answer, /Moved to Invoices/);
    assert.deepEqual(site.reports('/api/move'), [{ id: FOURTH.id, folder: 'Invoices' }]);
  },
};

/** @type {import('./task.mjs').Task} */
const shortcut = {
  name: 'use keyboard shortcuts',
  async tabwire(agent) {
    await execute(
      agent,
      `await page.goto('${agent.at('/mail')}'); snapshot({ search: 'shortcut' })`,
    );
    return execute(
      agent,
      `for (const key of 'jjje') await page.keyboard.press(key); snapshot({ search: 'archived' })`,
    );
  },
  async playwright(agent) {
    const { open, find: look } = inBrowser(agent);
    await open('/mail');
    await look('shortcut');
    const code = "async (page) => { for (const key of 'jjje') await page.keyboard.press(key); }";
    await agent.tool('browser_run_code_unsafe', { code });
    return look('archived');
  },
  async devtools(agent) {
    const { open, tool, evaluate } = inPage(agent);
    await open('/mail');
    await evaluate('() => document.body.innerText.match(/.*shortcut.*/i)?.[0]');
    for (const key of 'jjje') {
      await tool('press_key', { key });
    }
    return evaluate('() => document.body.innerText.match(/.*archived.*/i)?.[0]');
  },
  check({ site, answer }) {
    assert.ok(answer.includes(`Archived ${THIRD.subject}.`), answer);
    assert.deepEqual(site.reports('/api/archive'), [{ id: THIRD.id }]);
  },
};

export const tasks = [signIn, paginate, drag, shortcut];
