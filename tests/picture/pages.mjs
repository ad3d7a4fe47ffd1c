/** The pages in the picture: a few ordinary sites, served from loopback under their own names. */

const STYLE = `
  body { margin: 0; font: 16px/1.5 'Liberation Sans', sans-serif; color: #1f2430; background: #eceff3 }
  header { padding: 18px 48px; color: #fff; font-size: 20px; font-weight: bold }
  main { max-width: 720px; margin: 28px 48px; padding: 8px 32px 24px; background: #fff; border: 1px solid #e2e5ea; border-radius: 10px }
  table { width: 100%; border-collapse: collapse } td, th { padding: 9px 6px; text-align: left; border-top: 1px solid #e8eaee }
  th { border: 0; color: #667; font-weight: normal } td:last-child, th:last-child { text-align: right }
  .status { padding: 2px 10px; border-radius: 99px; background: #e3f4e8; color: #17663a; font-size: 14px }
  .late { background: #fdebd8; color: #8a4b08 }`;

/** @param {string} title @param {string} name @param {string} color @param {string} body */
const page = (
  title,
  name,
  color,
  body,
) => `<!doctype html><html lang="en"><meta charset="utf-8"><title>${title}</title>
  <style>${STYLE}</style><header style="background: ${color}">${name}</header><main>${body}</main></html>`;

const ORDERS = [
  ['4711', 'Espresso machine', 'Delivered', '€ 349.00'],
  ['4698', 'Coffee grinder', 'Delivered', '€ 129.00'],
  ['4683', 'Descaling kit', 'Delayed', '€ 14.90'],
  ['4659', 'Cups, set of six', 'Delivered', '€ 38.50'],
  ['4640', 'Water filter', 'Delivered', '€ 22.00'],
];

const orderRow = ([number, item, status, price]) =>
  `<tr><td>${number}<td>${item}<td><span class="status${status === 'Delayed' ? ' late' : ''}">${status}</span><td>${price}`;

/** By host name; the first is in front. */
export const PAGES = {
  'shop.localhost': page(
    'Your orders – Bean & Bar',
    'Bean & Bar',
    '#5b3a29',
    `<h1>Your orders</h1><table><tr><th>Order<th>Item<th>Status<th>Total${ORDERS.map(orderRow).join('')}</table>`,
  ),
  'mail.localhost': page('Inbox (3) – Mail', 'Mail', '#1d4f91', '<h1>Inbox</h1>'),
  'wiki.localhost': page('Travel policy – Wiki', 'Wiki', '#2f6f4f', '<h1>Travel policy</h1>'),
  'news.localhost': page('Front page – The Daily', 'The Daily', '#333', '<h1>Front page</h1>'),
};
