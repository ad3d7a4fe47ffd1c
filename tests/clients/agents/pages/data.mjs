/** What the pages show: orders, goods and messages. The same in every run, so that figures can be compared. */

/** Numbers between 0 and 1 that look random. */
function randomFrom(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

const FIRST = ['Ada', 'Bo', 'Carla', 'Dmitri', 'Elif', 'Farid', 'Greta', 'Hugo', 'Imogen', 'Jonas'];
const LAST = ['Abbott', 'Brandt', 'Costa', 'Dahl', 'Eriksen', 'Fischer', 'Gupta', 'Hale', 'Ito'];
const STATUSES = ['Paid', 'Open', 'Shipped', 'Overdue'];
const GOODS = [
  'Lamp',
  'Chair',
  'Desk',
  'Kettle',
  'Rug',
  'Vase',
  'Shelf',
  'Clock',
  'Mirror',
  'Stool',
];
const STYLES = ['Oak', 'Linen', 'Copper', 'Slate', 'Amber', 'Birch'];
export const BRANDS = ['Nordlys', 'Havn', 'Casa Verde', 'Millbrook', 'Atelier Nine'];
export const CATEGORIES = ['Kitchen', 'Living room', 'Bedroom', 'Garden', 'Office'];
const SUBJECTS = [
  'Minutes of the planning meeting',
  'Your invoice is ready',
  'Question about the schedule',
  'Photos from the weekend',
  'Contract draft for review',
  'Lunch on Thursday?',
];

const pick = (random, list) => list[Math.floor(random() * list.length)];
const day = (index) => new Date(Date.UTC(2026, 0, 1 + index)).toISOString().slice(0, 10);
const times = (length, make) => Array.from({ length }, (_, index) => make(index));

function makeOrders() {
  const random = randomFrom(7);
  return times(250, (index) => ({
    number: `A-${1001 + index}`,
    customer: `${pick(random, FIRST)} ${pick(random, LAST)}`,
    date: day(index),
    status: pick(random, STATUSES),
    amount: (20 + random() * 900).toFixed(2),
  }));
}

function makeItems() {
  const random = randomFrom(11);
  return times(300, (index) => ({
    id: index + 1,
    name: `${pick(random, STYLES)} ${pick(random, GOODS)} ${100 + index}`,
    brand: pick(random, BRANDS),
    category: CATEGORIES[index % CATEGORIES.length],
    price: 12 + random() * 480,
    rating: (3 + random() * 2).toFixed(1),
    inStock: random() > 0.15,
  })).map((item) => ({ ...item, price: item.price.toFixed(2) }));
}

function makeMessages() {
  const random = randomFrom(23);
  return times(100, (index) => ({
    id: index + 1,
    from: `${pick(random, FIRST)} ${pick(random, LAST)}`,
    subject: `${pick(random, SUBJECTS)} (${200 + index})`,
    date: day(300 - index),
    isUnread: random() < 0.3,
  }));
}

/** One customer who has ordered once. */
export const RARE_CUSTOMER = 'Philippa Okonkwo';
export const ORDERS = makeOrders().with(180, {
  number: 'A-1181',
  customer: RARE_CUSTOMER,
  date: day(180),
  status: 'Shipped',
  amount: '733.10',
});

/** Two that would be the cheapest, but the cheaper one is sold out. */
export const ITEMS = makeItems()
  .with(141, { ...makeItems()[141], price: '4.20', inStock: false })
  .with(207, { ...makeItems()[207], price: '5.90', inStock: true });
export const CHEAPEST = ITEMS[207];

/** The message on the third page of the mailbox that nothing else resembles. */
export const LOCKER_CODE = '4471-K';
export const MESSAGES = makeMessages().with(63, {
  id: 64,
  from: 'Facilities',
  subject: 'Your new locker',
  date: day(237),
  isUnread: true,
});
export const bodyOf = ({ id, from, subject }) =>
  id === 64
    ? `Your locker is on the second floor. The code is ${LOCKER_CODE}. Please change it after the first use.`
    : `Hello, this is about "${subject}". Let me know what you think. Best wishes, ${from}`;
