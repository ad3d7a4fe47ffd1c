/** A shop with 300 items, filters and a menu that opens when the pointer is over it, and the pages of its items. */

import { BRANDS, CATEGORIES, ITEMS } from './data.mjs';
import { layout, list } from './layout.mjs';

const slug = (name) => name.toLowerCase().replace(' ', '-');

const MENU = `<div class="menu"><button aria-haspopup="true">Categories</button>
  <ul>${list(CATEGORIES, (name) => `<li><a href="/shop?category=${slug(name)}">${name}</a></li>`)}</ul></div>`;

const HEADER = `<header><div class="columns"><a href="/shop">Fjord &amp; Field</a>
  <form role="search" action="/shop"><input type="search" name="q" aria-label="Search the shop" placeholder="Search"><button>Search</button></form>
  ${MENU}<nav aria-label="Account"><ul><li><a href="/shop/account">Account</a></li><li><a href="/shop/cart">Cart (<span id="cart">0</span>)</a></li></ul></nav></div></header>`;

const card = ({ id, name, brand, price, rating, inStock }) => `
<li class="card"><article><div class="picture"><a href="/shop/item/${id}"><img alt="${name}" width="120" height="80" src="data:image/gif;base64,R0lGODlhAQABAAAAACw="></a></div>
  <div class="details"><div class="title"><h3><a href="/shop/item/${id}">${name}</a></h3></div><div class="brand muted">${brand}</div>
  <div class="price"><span class="amount">€${price}</span></div><div class="rating"><span>${rating} of 5 stars</span></div>
  <div class="stock"><span>${inStock ? 'In stock' : 'Sold out'}</span></div></div>
  <div class="actions"><button data-add="${id}" aria-label="Add ${name} to cart"${inStock ? '' : ' disabled'}>Add to cart</button></div></article></li>`;

const filters = `<aside aria-label="Filters"><h2>Filters</h2><fieldset><legend>Brand</legend>
  ${list(BRANDS, (name) => `<label><input type="checkbox" name="brand" value="${name}"> ${name}</label>`)}</fieldset>
  <label for="most">Highest price</label><input id="most" type="range" min="0" max="500" value="500">
  <label for="sort">Sort by</label><select id="sort"><option>Relevance</option><option>Price</option><option>Rating</option></select></aside>`;

const SCRIPT = `
  document.addEventListener('click', async ({ target }) => {
    if (target.dataset.add) {
      const { count } = await report('/api/cart', { id: Number(target.dataset.add) });
      find('#cart').textContent = count;
      find('#message').textContent = 'Added to your cart.';
    }
  });`;

/** @param {string | null} category */
export function shop(category) {
  const items = ITEMS.filter((item) => !category || slug(item.category) === category);
  return layout({
    title: 'Fjord & Field',
    body: `${HEADER}<main><div class="columns">${filters}<section aria-label="Items"><h1>${category ? `Everything for: ${category}` : 'All items'}</h1>
      <p>${items.length} items</p><p id="message" role="status"></p><ul class="grid">${list(items, card)}</ul></section></div></main>
      <footer><ul>${list(['Delivery', 'Returns', 'Imprint'], (name) => `<li><a href="/shop/${slug(name)}">${name}</a></li>`)}</ul></footer>`,
    script: SCRIPT,
  });
}

/** Each store has a price of its own. */
export const priceIn = (store, { price }) =>
  (Number(price) * (store === 'oslo' ? 1.2 : 1.1)).toFixed(2);

/** @param {number} id @param {string} store */
export function shopItem(id, store) {
  const item = ITEMS[id - 1];
  return layout({
    title: `${item.name} in ${store}`,
    body: `${HEADER}<main><h1>${item.name}</h1><p>Store: ${store}</p><p>Price: <strong>€${priceIn(store, item)}</strong></p>
      <p>${item.brand} makes this piece by hand. It arrives in one parcel and needs no tools.</p>
      <button data-add="${id}">Add to cart</button><p id="message" role="status"></p>
      <h2>You may also like</h2><ul class="grid">${list(ITEMS.slice(id, id + 12), card)}</ul></main>`,
    script: SCRIPT,
  });
}
