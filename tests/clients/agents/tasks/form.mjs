/** Tasks in the form and the article. */

import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';

import { actAndLook, askUntil, execute, find, inBrowser, inPage, ref, uid } from './task.mjs';

const FIELDS = [
  ['textbox "First name *"', 'Ada'],
  ['textbox "Last name *"', 'Hale'],
  ['textbox "Email *"', 'ada@example.com'],
  ['textbox "Phone"', '+45 5550 1234'],
  ['textbox "Organisation"', 'Harbour Office'],
  ['textbox "Street"', 'Quay 7'],
  ['textbox "City"', 'Aarhus'],
  ['textbox "Postal code"', '8000'],
  ['spinbutton "Number of guests"', '2'],
  ['textbox "Remarks"', 'Vegetarian, please.'],
];
const CHOICES = ['radio "Patron"', 'checkbox "Databases"', 'checkbox "Security"'];
const TERMS = 'checkbox "I accept the terms and conditions"';
const COUNTRY = 'combobox "Country *"';
const NUMBER = /number is ([\w-]+)/;
const PHOTO = 'not really a picture, but unmistakable';

const choose = (role) => (role.startsWith('radio') ? 'radio' : 'checkbox');

/** @type {import('./task.mjs').Task} */
const longForm = {
  name: 'fill a long form and confirm a dialog',
  async tabwire(agent) {
    const seen = await execute(agent, `await page.goto('${agent.at('/form')}'); snapshot()`);
    const fields = FIELDS.map(([field, value]) => `${ref(seen, field)}: '${value}'`);
    const checks = [...CHOICES, TERMS].map((choice) => `'${ref(seen, choice)}'`);
    const text = await actAndLook(
      agent,
      `const at = (ref) => page.locator('aria-ref=' + ref);
for (const [ref, value] of Object.entries({ ${fields.join(', ')} })) await at(ref).fill(value);
for (const ref of [${checks.join(', ')}]) await at(ref).check();
await at('${ref(seen, COUNTRY)}').selectOption('Denmark');
dialogs.next = 'accept';
await at('${ref(seen, 'button "Send registration"')}').click()`,
      "snapshot({ search: 'number is' })",
      NUMBER,
    );
    return find(text, NUMBER);
  },
  async playwright(agent) {
    const { open, snapshot, click, find: look } = inBrowser(agent);
    await open('/form');
    const seen = await snapshot();
    const field = (element, type, value) => ({
      target: ref(seen, element),
      name: find(element, /"(.*)"/),
      type,
      value,
    });
    await agent.tool('browser_fill_form', {
      fields: [
        ...FIELDS.map(([element, value]) => field(element, 'textbox', value)),
        ...[...CHOICES, TERMS].map((element) => field(element, choose(element), 'true')),
        field(COUNTRY, 'combobox', 'Denmark'),
      ],
    });
    await click(ref(seen, 'button "Send registration"'));
    await agent.tool('browser_handle_dialog', { accept: true });
    return find(await askUntil(() => look('number is'), NUMBER), NUMBER);
  },
  async devtools(agent) {
    const { open, snapshot, click, tool, evaluate } = inPage(agent);
    await open('/form');
    const seen = await snapshot();
    const field = (element, value) => ({ uid: uid(seen, element), value });
    await tool('fill_form', {
      elements: [
        ...FIELDS.map(([element, value]) => field(element, value)),
        ...[...CHOICES, TERMS].map((element) => field(element, 'true')),
        field(COUNTRY, 'Denmark'),
      ],
    });
    await click(uid(seen, 'button "Send registration"'));
    await tool('handle_dialog', { action: 'accept' });
    const look = '() => document.body.innerText.match(/number is \\S+/)?.[0]';
    return find(await askUntil(() => evaluate(look), NUMBER), NUMBER);
  },
  check({ site, answer }) {
    assert.equal(answer, 'HC-58213');
    const [{ phone, birth, ...sent }, ...others] = site.reports('/api/registrations');
    assert.equal(others.length, 0, 'it is sent once');
    assert.deepEqual([phone, birth], ['+45 5550 1234', '']);
    assert.deepEqual(sent, {
      ...{ first: 'Ada', last: 'Hale', email: 'ada@example.com', organisation: 'Harbour Office' },
      ...{ street: 'Quay 7', city: 'Aarhus', postcode: '8000', country: 'Denmark' },
      ...{ ticket: 'Patron', guests: '2', workshops: ['Databases', 'Security'] },
      ...{ remarks: 'Vegetarian, please.', terms: 'yes' },
    });
  },
};

const photoIn = async (folder) => {
  const file = path.join(folder, 'badge.txt');
  await writeFile(file, PHOTO);
  return file;
};

/** @type {import('./task.mjs').Task} */
const upload = {
  name: 'upload a file',
  async tabwire(agent) {
    const file = await photoIn(agent.folder);
    const open = `await page.goto('${agent.at('/form')}'); snapshot({ search: 'photo' })`;
    const input = ref(await execute(agent, open), 'button "Badge photo"');
    return execute(
      agent,
      `await page.locator('aria-ref=${input}').setInputFiles('${file}'); snapshot({ search: 'uploaded' })`,
    );
  },
  async playwright(agent) {
    const file = await photoIn(agent.folder);
    const { open, find: search, click } = inBrowser(agent);
    await open('/form');
    await click(ref(await search('photo'), 'button "Badge photo"'));
    await agent.tool('browser_file_upload', { paths: [file] });
    return search('uploaded');
  },
  async devtools(agent) {
    const file = await photoIn(agent.folder);
    const { open, snapshot, tool, evaluate } = inPage(agent);
    await open('/form');
    const input = uid(await snapshot(), 'button "Badge photo"');
    await tool('upload_file', { uid: input, filePaths: [file] });
    return evaluate('() => document.body.innerText.match(/.*uploaded.*/i)?.[0]');
  },
  check({ site, answer }) {
    assert.match(answer, new RegExp(`Uploaded badge.txt \\(${PHOTO.length} bytes\\)`));
    assert.deepEqual(site.reports('/api/photo'), [{ name: 'badge.txt', text: PHOTO }]);
  },
};

/** @type {import('./task.mjs').Task} */
const section = {
  name: "read an article's section",
  tabwire: (agent) =>
    execute(agent, `await page.goto('${agent.at('/article')}'); snapshot({ search: 'prism' })`),
  async playwright(agent) {
    const { open, find: search } = inBrowser(agent);
    await open('/article');
    return search('prism');
  },
  async devtools(agent) {
    const { open, evaluate } = inPage(agent);
    await open('/article');
    return evaluate('() => document.body.innerText.match(/.*prism.*/i)?.[0]');
  },
  check: ({ answer }) => assert.match(answer, /1,176 prisms and weighed 4\.5 tonnes/),
};

export const tasks = [longForm, upload, section];
