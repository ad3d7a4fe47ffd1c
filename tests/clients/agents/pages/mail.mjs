/** A mail client: sign-in, folders, pages of 25 messages, drag and drop, and keyboard shortcuts. */

import { bodyOf, MESSAGES } from './data.mjs';
import { layout, list } from './layout.mjs';

const FOLDERS = ['Inbox', 'Archive', 'Invoices', 'Travel', 'Drafts', 'Sent', 'Spam', 'Trash'];
const PAGE_SIZE = 25;

export const login = layout({
  title: 'Sign in',
  body: `<main><h1>Sign in to Harbour Mail</h1><form method="post" action="/login"><label for="user">Email</label><input id="user" name="user" type="email">
    <label for="password">Password</label><input id="password" name="password" type="password">
    <label><input type="checkbox" name="keep" value="yes"> Keep me signed in</label><button>Sign in</button></form>
    <p><a href="/login/forgot">Forgot your password?</a></p></main>`,
});

const message = ({ id, from, subject, date, isUnread }) => `
<tr draggable="true" data-id="${id}"><td><input type="checkbox" aria-label="Select ${subject}"></td>
  <td><button data-star="${id}" aria-label="Star ${subject}" aria-pressed="false">☆</button></td><td>${isUnread ? `<b>${from}</b>` : from}</td>
  <td><a href="/mail/message/${id}">${subject}</a></td><td><time datetime="${date}">${date}</time></td></tr>`;

const SIDE = `<aside><button>Compose</button><nav aria-label="Folders"><ul>${list(FOLDERS, (name) => `<li data-folder="${name}"><a href="/mail?folder=${name.toLowerCase()}">${name}</a></li>`)}</ul></nav></aside>`;

const head = (user) =>
  `<header><div class="columns"><h1>Harbour Mail</h1><form role="search"><input type="search" aria-label="Search mail"></form><p>${user ? `Signed in as ${user}` : 'Guest mailbox'}</p></div></header>`;

const SCRIPT = `
  let current = -1;
  const rows = () => all('tbody tr');
  const select = (index) => {
    current = Math.max(0, Math.min(index, rows().length - 1));
    rows().forEach((row, at) => row.classList.toggle('selected', at === current));
  };
  document.addEventListener('keydown', async ({ key, target }) => {
    if (target.matches('input, textarea')) return;
    if (key === 'j') select(current + 1);
    if (key === 'k') select(current - 1);
    if (key === 'e' && current >= 0) {
      const row = rows()[current];
      row.remove();
      find('#notice').textContent = 'Archived ' + row.querySelector('a').textContent + '.';
      await report('/api/archive', { id: Number(row.dataset.id) });
    }
  });
  document.addEventListener('click', async ({ target }) => {
    if (target.dataset.star) {
      target.setAttribute('aria-pressed', 'true');
      await report('/api/star', { id: Number(target.dataset.star) });
    }
  });
  document.addEventListener('dragstart', (event) => {
    const row = event.target.closest('tr');
    if (row) event.dataTransfer.setData('text/plain', row.dataset.id);
  });
  all('[data-folder]').forEach((folder) => {
    folder.addEventListener('dragover', (event) => event.preventDefault());
    folder.addEventListener('drop', async (event) => {
      event.preventDefault();
      const id = Number(event.dataTransfer.getData('text/plain'));
      find('tr[data-id="' + id + '"]').remove();
      find('#notice').textContent = 'Moved to ' + folder.dataset.folder + '.';
      await report('/api/move', { id, folder: folder.dataset.folder });
    });
  });`;

/** @param {number} page from 1 @param {string} user */
export function mail(page, user) {
  const start = (page - 1) * PAGE_SIZE;
  const shown = MESSAGES.slice(start, start + PAGE_SIZE);
  const unread = MESSAGES.filter(({ isUnread }) => isUnread).length;
  const older = start + PAGE_SIZE < MESSAGES.length;
  return layout({
    title: 'Inbox',
    body: `${head(user)}<main><div class="columns">${SIDE}<section aria-label="Messages"><h2>Inbox</h2><p>${unread} unread messages</p>
      <p id="notice" role="status"></p><div role="toolbar" aria-label="Actions"><button>Archive</button><button>Delete</button><button>Mark as read</button></div>
      <table><thead><tr><th><input type="checkbox" aria-label="Select all"></th><th>Star</th><th>From</th><th>Subject</th><th>Date</th></tr></thead>
      <tbody>${list(shown, message)}</tbody></table><nav aria-label="Pages"><span>${start + 1} to ${start + shown.length} of ${MESSAGES.length}</span>
      ${page > 1 ? `<a href="/mail?page=${page - 1}">Newer</a>` : ''} ${older ? `<a href="/mail?page=${page + 1}">Older</a>` : ''}</nav></section></div></main>
      <footer><p class="muted">Shortcuts: j next, k previous, e archive</p></footer>`,
    script: SCRIPT,
  });
}

/** @param {number} id @param {string} user */
export function mailMessage(id, user) {
  const shown = MESSAGES[id - 1];
  return layout({
    title: shown.subject,
    body: `${head(user)}<main><div class="columns">${SIDE}<article><h2>${shown.subject}</h2><p>From: ${shown.from}</p><p>${bodyOf(shown)}</p>
      <button>Reply</button><button>Forward</button><a href="/mail">Back to inbox</a></article></div></main>`,
  });
}
