/** Tasks in the shop. */

import assert from 'node:assert/strict';

import { CHEAPEST, ITEMS } from '../pages/data.mjs';
import { priceIn } from '../pages/shop.mjs';
import { actAndLook, askUntil, execute, find, inBrowser, inPage, ref, uid } from './task.mjs';

/** The text of one item, to learn how items are built, and then the cheapest ones. */
const SAMPLE = "() => document.querySelector('li:has(button)')?.innerText";
const CHEAPEST_THREE =
  "() => [...document.querySelectorAll('article')].map((item) => item.innerText).filter((text) => text.includes('In stock')).sort((a, b) => a.match(/€([\\d.]+)/)[1] - b.match(/€([\\d.]+)/)[1]).slice(0, 3)";
const ADDED = /Added to your cart/;
const nameIn = (text) => find(text, /(\w+ \w+ \d+)(?:\\n|\n)/);

/** @type {import('./task.mjs').Task} */
const cheapest = {
  name: 'put the cheapest item in stock into the cart',
  async tabwire(agent) {
    await execute(
      agent,
      `await page.goto('${agent.at('/shop')}'); snapshot(page.getByRole('listitem').filter({ hasText: '€' }).first())`,
    );
    const texts = await execute(
      agent,
      `const items = await page.getByRole('article').filter({ hasText: 'In stock' }).allInnerTexts(); items.sort((a, b) => a.match(/€([\\d.]+)/)[1] - b.match(/€([\\d.]+)/)[1]).slice(0, 3)`,
    );
    const act = `await page.getByRole('button', { name: 'Add ${nameIn(texts)} to cart' }).click()`;
    return actAndLook(agent, act, "snapshot({ search: 'added to' })", ADDED);
  },
  async playwright(agent) {
    const { open, evaluate, find: look, click } = inBrowser(agent);
    await open('/shop');
    await evaluate(SAMPLE);
    const name = nameIn(await evaluate(CHEAPEST_THREE));
    await click(ref(await look(`Add ${name}`), `button "Add ${name} to cart"`));
    return askUntil(() => look('added to'), ADDED);
  },
  /** A snapshot of this page has 130,000 characters, so it is cheaper to click in the page. */
  async devtools(agent) {
    const { open, evaluate } = inPage(agent);
    await open('/shop');
    await evaluate(SAMPLE);
    const name = nameIn(await evaluate(CHEAPEST_THREE));
    await evaluate(
      `() => [...document.querySelectorAll('article')].find((item) => item.innerText.includes('${name}')).querySelector('button').click()`,
    );
    const look = '() => document.body.innerText.match(/.*added to.*/i)?.[0]';
    return askUntil(() => evaluate(look), ADDED);
  },
  check({ site, answer }) {
    assert.match(answer, ADDED);
    assert.deepEqual(site.reports('/api/cart'), [{ id: CHEAPEST.id }]);
  },
};

/** @type {import('./task.mjs').Task} */
const hover = {
  name: 'use a menu that opens on hover',
  async tabwire(agent) {
    const open = `await page.goto('${agent.at('/shop/item/17')}'); snapshot({ search: 'categories' })`;
    const menu = ref(await execute(agent, open), 'button "Categories"');
    const opened = await execute(
      agent,
      `await page.locator('aria-ref=${menu}').hover(); snapshot({ search: 'garden' })`,
    );
    return execute(
      agent,
      `await page.locator('aria-ref=${ref(opened, 'link "Garden"')}').click(); snapshot({ search: / items/ })`,
    );
  },
  async playwright(agent) {
    const { open, find: look, click } = inBrowser(agent);
    await open('/shop/item/17');
    await agent.tool('browser_hover', {
      target: ref(await look('categories'), 'button "Categories"'),
    });
    await click(ref(await look('garden'), 'link "Garden"'));
    return look(' items');
  },
  async devtools(agent) {
    const { open, snapshot, tool, click, evaluate } = inPage(agent);
    await open('/shop/item/17');
    const args = { uid: uid(await snapshot(), 'button "Categories"'), includeSnapshot: true };
    await click(uid(await tool('hover', args), 'link "Garden"'));
    return evaluate('() => document.body.innerText.match(/.* items/)?.[0]');
  },
  check({ site, answer }) {
    assert.match(answer, /60 items/);
    assert.deepEqual(site.reports('/shop'), [{ category: 'garden' }]);
  },
};

const PATHS = ['berlin', 'oslo'].map((store) => `/shop/item/17?store=${store}`);
const PRICE = '() => document.body.innerText.match(/Price.*/)?.[0]';
const priceOf = (text) => find(text, /€([\d.]+)/);

/** @type {import('./task.mjs').Task} */
const compare = {
  name: 'compare two tabs',
  async tabwire(agent) {
    const [first, second] = PATHS.map(agent.at);
    const text = await execute(
      agent,
      `await page.goto('${first}'); const other = await context.newPage(); await other.goto('${second}'); [await snapshot({ search: 'price:' }), await snapshot(other, { search: 'price:' })]`,
    );
    return [...text.matchAll(/Price:[^€]*€([\d.]+)/g)].map(([, price]) => price);
  },
  async playwright(agent) {
    const { open, evaluate } = inBrowser(agent);
    await open(PATHS[0]);
    const first = priceOf(await evaluate(PRICE));
    await agent.tool('browser_tabs', { action: 'new', url: agent.at(PATHS[1]) });
    return [first, priceOf(await evaluate(PRICE))];
  },
  async devtools(agent) {
    const { open, evaluate } = inPage(agent);
    await open(PATHS[0]);
    const first = priceOf(await evaluate(PRICE));
    const pages = await agent.tool('new_page', { url: agent.at(PATHS[1]) });
    const pageId = Number(find(pages, /(\d+): .*\[selected\]/));
    const second = await agent.tool('evaluate_script', { pageId, function: PRICE });
    return [first, priceOf(second)];
  },
  check({ answer }) {
    assert.deepEqual(
      answer,
      ['berlin', 'oslo'].map((store) => priceIn(store, ITEMS[16])),
    );
  },
};

export const tasks = [cheapest, hover];
/** It leaves a second tab open. */
export const lastTasks = [compare];
