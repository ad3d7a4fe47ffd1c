/**
 * The operations that every client of the battery carries out, in this order, and what each must
 * result in. The titles are explained in docs/clients.md. How a client does it is its driver's business; the result is the same for all.
 */

import { PNG } from 'pngjs';

/** The color in the middle of a picture, so that a blank one does not pass. */
function colorOf(base64) {
  const { width, height, data } = PNG.sync.read(Buffer.from(base64, 'base64'));
  const at = 4 * (Math.floor(height / 2) * width + Math.floor(width / 2));
  return `rgb(${[...data.subarray(at, at + 3)].join(', ')})`;
}

/** Without tabs that are not of the site, such as the browser's own pages. */
const ofSite = (scene, urls) => urls.filter((url) => url.startsWith(scene.site.url('/'))).sort();

/**
 * `read` makes a driver's result comparable, and `expected` is what it must be. Both are optional: a
 * result of `true` is the default.
 */
export const operations = [
  {
    name: 'connect',
    title: 'list',
    read: ofSite,
    expected: ({ urls }) => [...urls].sort(),
  },
  { name: 'title', title: 'title', expected: () => 'Inbox' },
  { name: 'evaluate', title: 'evaluate', expected: () => 42 },
  { name: 'click', title: 'click', expected: () => '1' },
  { name: 'type', title: 'type', expected: () => 'hello' },
  { name: 'frame', title: 'frame', expected: () => 'inside the frame' },
  { name: 'open', title: 'new tab', expected: () => 'Work' },
  { name: 'navigate', title: 'navigate', expected: () => 'Next' },
  {
    name: 'screenshot',
    title: 'screenshot',
    read: (_scene, picture) => colorOf(picture),
    expected: () => 'rgb(0, 128, 128)',
  },
  { name: 'intercept', title: 'intercept', expected: () => 'from the client' },
  { name: 'popup', title: 'popup', expected: () => 'Popup' },
  { name: 'download', title: 'download', expected: () => 'bytes of the report' },
  { name: 'cookies', title: 'cookies', expected: () => 'client=set person=known' },
  { name: 'close', title: 'close' },
  { name: 'disconnect', title: 'leave' },
];
