/** A long article with contents, footnotes, related pages and comments. */

import { layout, list } from './layout.mjs';

/** Stands in one section only. */
export const LENS_FACT = 'The lens was ground from 1,176 prisms and weighed 4.5 tonnes.';

const SECTIONS = [
  [
    'Origins',
    'The first light on the rock was a fire in an iron basket, tended by monks from the abbey. Sailors paid for the coal with a toll that the harbour master collected twice a year.',
  ],
  [
    'The tower',
    'The tower rises in nine courses of granite, each locked to the next with dovetailed joints. Masons cut the stones on the mainland and numbered them before they were shipped.',
  ],
  [
    'The keepers',
    'Three keepers lived in the tower at any time, in shifts of six weeks. Their logbooks record storms, passing ships, and a long quarrel over the only armchair.',
  ],
  [
    'The lens',
    `In 1867 the oil lamps gave way to a single burner inside a great lens. ${LENS_FACT} It turned on a bath of mercury, so lightly that a child could move it with one hand.`,
  ],
  [
    'The fog signal',
    'A bell came first, then a gun that was fired every ten minutes, and finally a siren driven by compressed air. On still days it was heard forty kilometres away.',
  ],
  [
    'Electric light',
    'A cable from the mainland arrived in 1931. The keepers distrusted it and kept the oil burner ready for another decade.',
  ],
  [
    'Automation',
    'The last keepers left by helicopter in 1988. A computer in the harbour office now watches the lamp, and a technician visits four times a year.',
  ],
  [
    'Visiting',
    'Boats leave from the old pier when the sea allows it. The climb has 197 steps, and the gallery is closed in strong winds.',
  ],
];

const idOf = (title) => title.toLowerCase().replaceAll(' ', '-');

const FILLER = [
  'Most of what is known about these years comes from <a href="/archive/letters">letters in the town archive</a>, which were catalogued in the 1970s.',
  'A model in the <a href="/museum">maritime museum</a> shows the state of the work at that time, down to the <em>wooden scaffolding</em> on the seaward side.',
  'Later accounts differ in detail, but they agree that the work was <strong>dangerous</strong> and that nobody was lost.',
];

const section = ([title, text], index) => `
<section aria-labelledby="${idOf(title)}"><h2 id="${idOf(title)}">${title}</h2><p>${text}<sup><a href="#note-${index + 1}" aria-label="Note ${index + 1}">[${index + 1}]</a></sup></p>
  ${list(FILLER, (filler) => `<p>${filler}</p>`)}
  <p>The chapter on "${title.toLowerCase()}" in the keeper's handbook was revised ${index + 2} times. Its margins are full of remarks by readers who knew better.</p></section>`;

const RELATED = [
  'Lighthouses of the north',
  'How a Fresnel lens works',
  'The harbour in old maps',
  'Bird colonies on the rock',
];
const COMMENTS = [
  ['Greta', 'My grandfather was one of the keepers. The armchair is in our kitchen.'],
  ['Hugo', 'The boat trip is worth it even if you cannot land.'],
  ['Elif', 'Is the siren ever tested?'],
];

const BODY = `
<header><a href="/">The Coast Review</a><nav aria-label="Sections"><ul>${list(['History', 'Nature', 'Travel', 'Opinion'], (name) => `<li><a href="/section/${name.toLowerCase()}">${name}</a></li>`)}</ul></nav></header>
<main><article><h1>The light on Gannet Rock</h1><p class="muted">By Carla Dahl, 14 March 2026, 12 minutes</p>
  <nav aria-label="Contents"><h2>Contents</h2><ol>${list(SECTIONS, ([title]) => `<li><a href="#${idOf(title)}">${title}</a></li>`)}</ol></nav>
  <figure><img alt="The tower at low tide" width="400" height="200" src="data:image/gif;base64,R0lGODlhAQABAAAAACw="><figcaption>The tower at low tide. Photo: town archive</figcaption></figure>
  ${SECTIONS.map(section).join('\n')}
  <section aria-label="Notes"><h2>Notes</h2><ol>${list(SECTIONS, ([title], index) => `<li id="note-${index + 1}">Harbour records, volume ${index + 3}, on ${title.toLowerCase()}. <a href="#${idOf(title)}" aria-label="Back to ${title}">↑</a></li>`)}</ol></section></article>
  <aside aria-label="Related"><h2>Related</h2><ul>${list(RELATED, (title) => `<li><a href="/article/${idOf(title)}">${title}</a></li>`)}</ul></aside>
  <section aria-label="Comments"><h2>Comments</h2>${list(COMMENTS, ([name, text]) => `<article><h3>${name}</h3><p>${text}</p><button aria-label="Reply to ${name}">Reply</button></article>`)}
  <form><label for="comment">Your comment</label><textarea id="comment"></textarea><button>Post comment</button></form></section></main>
<footer><ul>${list(['About', 'Subscribe', 'Privacy'], (name) => `<li><a href="/${name.toLowerCase()}">${name}</a></li>`)}</ul></footer>`;

export const article = layout({ title: 'The light on Gannet Rock', body: BODY });
