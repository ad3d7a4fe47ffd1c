/** 250 orders in a table that can be filtered, selected and exported. */

import { ORDERS } from './data.mjs';
import { layout, list } from './layout.mjs';

const COLUMNS = ['Order', 'Customer', 'Date', 'Status', 'Amount'];

const row = ({ number, customer, date, status, amount }) => `
<tr data-status="${status}"><td><input type="checkbox" aria-label="Select ${number}"></td><td><a href="/orders/${number}">${number}</a></td>
  <td>${customer}</td><td>${date}</td><td><span class="badge">${status}</span></td><td>${amount}</td>
  <td><button data-open="${number}">Open</button></td></tr>`;

const BODY = `
<header><h1>Orders</h1><nav aria-label="Main"><ul>${list(['Orders', 'Customers', 'Reports', 'Settings'], (name) => `<li><a href="/orders?view=${name.toLowerCase()}">${name}</a></li>`)}</ul></nav></header>
<main><div class="toolbar"><label for="status">Status</label> <select id="status"><option>All</option><option>Paid</option><option>Open</option><option>Shipped</option><option>Overdue</option></select>
  <label for="customer">Customer</label> <input id="customer" type="search" placeholder="Name"> <a class="button" href="/orders/export.csv" download>Export as CSV</a></div>
<p id="count">Showing 250 of 250 orders.</p>
<table><thead><tr><th><input type="checkbox" aria-label="Select all orders"></th>${list(COLUMNS, (name) => `<th scope="col">${name}</th>`)}<th>Action</th></tr></thead>
<tbody>${list(ORDERS, row)}</tbody></table><div id="detail" role="status"></div></main>
<footer><p class="muted">All amounts in euros.</p></footer>`;

const SCRIPT = `
  find('#status').addEventListener('change', async ({ target: { value } }) => {
    all('tbody tr').forEach((row) => { row.hidden = value !== 'All' && row.dataset.status !== value; });
    find('#count').textContent = 'Showing ' + all('tbody tr:not([hidden])').length + ' of 250 orders.';
    await report('/api/filter', { status: value });
  });
  find('tbody').addEventListener('click', async ({ target }) => {
    if (target.dataset.open) {
      const { carrier } = await report('/api/open', { number: target.dataset.open });
      find('#detail').textContent = 'Order ' + target.dataset.open + ' was sent with ' + carrier + '.';
    }
  });`;

export const table = layout({ title: 'Orders', body: BODY, script: SCRIPT });

export const CSV = [
  'order,customer,date,status,amount',
  ...ORDERS.map((order) => Object.values(order).join(',')),
].join('\n');
