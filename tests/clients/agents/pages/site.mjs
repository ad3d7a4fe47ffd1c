/** The site with all pages. Keeps what was done to it, so that a task is judged by its outcome and not by what a tool says. */

import { text } from 'node:stream/consumers';
import { setTimeout as wait } from 'node:timers/promises';

import { html, startSite } from '../../../harness/site.mjs';
import { article } from './article.mjs';
import { chat, dashboard, filters } from './dashboard.mjs';
import { ITEMS, MESSAGES } from './data.mjs';
import { form } from './form.mjs';
import { login, mail, mailMessage } from './mail.mjs';
import { shop, shopItem } from './shop.mjs';
import { CSV, table } from './table.mjs';

export const USER = 'ada@example.com';
export const PASSWORD = 'tide-7-Gannet-lamp';
/** How long the report of the dashboard takes. */
export const REPORT_MS = 1_500;
export const REPORT_TOTAL = 73_519;

/** The six pages whose snapshots are compared. */
export const PAGES = [
  { name: 'form', path: '/form' },
  { name: 'table of 250 rows', path: '/table' },
  { name: 'shop of 300 items', path: '/shop' },
  { name: 'article', path: '/article' },
  { name: 'mail client', path: '/mail' },
  { name: 'dashboard with frames', path: '/dashboard' },
];

const queryOf = ({ url }) => new URL(url, 'http://site').searchParams;
const userOf = ({ headers }) => (/sid=ada/.test(headers.cookie ?? '') ? USER : '');
const show = (render) => (request, response) => html(() => render(request))(request, response);

/** What the site answers to each report of a page. */
const ANSWERS = {
  '/api/registrations': () => ({ number: 'HC-58213' }),
  '/api/open': () => ({ carrier: 'Nordpost' }),
  '/api/cart': (_data, log) => ({ count: log.filter(({ path }) => path === '/api/cart').length }),
  '/api/chat': ({ text: said }) => ({ reply: `Ticket 3307 was opened for "${said}".` }),
  '/api/report': () => ({ total: REPORT_TOTAL }),
};
const SILENT = ['photo', 'filter', 'archive', 'star', 'move', 'acknowledge', 'refresh', 'filters'];

/** Starts the site. `log` has what happened since the last `reset()`. */
export async function startAgentSite() {
  const log = [];
  const note = (path, data) => log.push({ path, data });
  const api = (path, answer) => async (request, response) => {
    const data = JSON.parse(await text(request));
    note(path, data);
    await wait(path === '/api/report' ? REPORT_MS : 0);
    response.setHeader('content-type', 'application/json').end(JSON.stringify(answer(data, log)));
  };
  const site = await startSite({
    ...documents(note),
    ...Object.fromEntries(SILENT.map((name) => [`/api/${name}`, api(`/api/${name}`, () => ({}))])),
    ...Object.fromEntries(
      Object.entries(ANSWERS).map(([path, answer]) => [path, api(path, answer)]),
    ),
  });
  return {
    ...site,
    /** What pages reported under a path. */
    reports: (path) => log.filter((entry) => entry.path === path).map(({ data }) => data),
    reset: () => void (log.length = 0),
  };
}

const documents = (note) => ({
  '/form': form,
  '/table': table,
  '/article': article,
  '/dashboard': dashboard,
  '/dashboard/filters': filters,
  '/dashboard/chat': chat,
  '/shop': show((request) => {
    const category = queryOf(request).get('category');
    note('/shop', { category });
    return shop(category);
  }),
  '/mail': show((request) => mail(Number(queryOf(request).get('page') ?? 1), userOf(request))),
  ...Object.fromEntries(
    ITEMS.map(({ id }) => [
      `/shop/item/${id}`,
      show((request) => shopItem(id, queryOf(request).get('store') ?? 'berlin')),
    ]),
  ),
  ...Object.fromEntries(
    MESSAGES.map(({ id }) => [
      `/mail/message/${id}`,
      show((request) => {
        note('/mail/message', { id });
        return mailMessage(id, userOf(request));
      }),
    ]),
  ),
  '/login': signIn(note),
  '/orders/export.csv': (_request, response) => {
    note('/orders/export.csv', {});
    response.setHeader('content-type', 'text/csv').end(CSV);
  },
});

const signIn = (note) => async (request, response) => {
  if (request.method !== 'POST') {
    html(() => login)(request, response);
    return;
  }
  const data = Object.fromEntries(new URLSearchParams(await text(request)));
  note('/login', data);
  const isRight = data.user === USER && data.password === PASSWORD;
  response.statusCode = 303;
  response.setHeader('location', isRight ? '/mail' : '/login?failed');
  response.setHeader('set-cookie', isRight ? 'sid=ada; Path=/' : []).end();
};
