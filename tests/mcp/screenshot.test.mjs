/** `screenshot()`: parts of a page, labels, and the limits that images have to fit. */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import jpeg from 'jpeg-js';
import { PNG } from 'pngjs';

import { startAgent, useAgent } from '../harness/agent.mjs';
import { useChain } from '../harness/chain.mjs';

const TALL = `<body style="margin:0">${Array.from({ length: 300 }, (_, i) => `<div style="height:40px;background:hsl(${i * 7} 90% 50%)">${i}</div>`).join('')}`;
const box = (left, top, width, height) =>
  `position:absolute;left:${left}px;top:${top}px;width:${width}px;height:${height}px;border:0;background:#fff`;
const LABELLED = `<body style="margin:0"><button style="${box(100, 100, 80, 30)}"></button>
  <iframe style="${box(200, 200, 200, 100)};border:10px solid #ccc;padding:7px" srcdoc='<body style="margin:0"><button style="${box(20, 30, 60, 20)}"></button>'></iframe>`;
const FAR = `<body style="margin:0;height:7000px"><button style="${box(100, 5_000, 80, 30)}"></button>`;
/** Noise does not compress, so an image of it is as large as possible. */
const NOISE = `<body style="margin:0"><canvas width=600 height=300></canvas><script>const c = document.querySelector('canvas').getContext('2d'); const i = c.createImageData(600, 300);
  for (let k = 0; k < i.data.length; k++) i.data[k] = k % 4 === 3 ? 255 : Math.random() * 256; c.putImageData(i, 0, 0)</script>`;

const shared = useChain({
  pages: {
    '/': '<title>Form</title><button>Send</button>',
    '/labelled': LABELLED,
    '/noise': NOISE,
    '/far': FAR,
    '/tall': TALL,
  },
});
const agent = useAgent(shared);
const { run, fails } = agent;

const bytesOf = ({ data }) => Buffer.from(data, 'base64');

/** Reads width and height from the header of a PNG. */
const sizeOf = (image) => [bytesOf(image).readUInt32BE(16), bytesOf(image).readUInt32BE(20)];

test('shows the page or one element, and leaves the page unchanged when it draws labels', async () => {
  const plain = await run(`await page.goto('${shared.site.url('/')}'); await screenshot()`);
  assert.equal(plain.images[0].mimeType, 'image/png');
  const part = await run(
    `await screenshot(page.getByRole('button', { name: 'Send' })); page.locator('button').evaluate((b) => b.offsetWidth)`,
  );
  assert.ok(Math.abs(sizeOf(part.images[0])[0] - Number(part.text)) <= 1);
  const before = (await run('page.content()')).text;
  const labelled = await run('await screenshot({ labels: true })');
  assert.notEqual(labelled.images[0].data, plain.images[0].data);
  assert.deepEqual(sizeOf(labelled.images[0]), sizeOf(plain.images[0]));
  assert.equal((await run('page.content()')).text, before);
  assert.equal(
    (await run('page.screenshot()')).images.length,
    1,
    'an image that the code returns is shown too',
  );
});

test('draws a label at its element, even in a frame with border and padding', async () => {
  const {
    images: [plain, labelled],
  } = await run(
    `await page.goto('${shared.site.url('/labelled')}'); await screenshot(); await screenshot({ labels: true })`,
  );
  const colourAt = (image) => {
    const { data, width } = PNG.sync.read(bytesOf(image));
    return (x, y) => [...data.subarray((y * width + x) * 4, (y * width + x) * 4 + 3)].join();
  };
  // The bottom left corner is never covered by a label.
  for (const [x, y] of [
    [100, 129],
    [200 + 10 + 7 + 20, 200 + 10 + 7 + 30 + 19],
  ]) {
    assert.equal(colourAt(plain)(x, y), '255,255,255');
    assert.notEqual(colourAt(labelled)(x, y), '255,255,255', 'the outline');
    assert.equal(colourAt(labelled)(x + 1, y - 1), '255,255,255', 'inside of it');
    assert.equal(colourAt(labelled)(x - 1, y + 1), '255,255,255', 'outside of it');
  }
});

test('omits images that do not fit into one response, and reports how many', async () => {
  const { images, text } = await run(
    `await page.goto('${shared.site.url('/noise')}'); const picture = await page.screenshot(); for (let i = 0; i < 20; i++) await screenshot(); picture.length`,
  );
  const bytes = images.reduce((sum, { data }) => sum + data.length, 0);
  assert.ok(bytes > 3_000_000 && bytes <= 6_000_000, `${images.length} images of ${bytes}`);
  assert.match(
    text,
    new RegExp(
      `\\[${20 - images.length} more images do not fit into one response\\. Take them in another call, or make them smaller`,
    ),
  );
  assert.equal((await run('await screenshot()')).images.length, 1, 'the next call has room again');
});

test('scales images that are too large, and reports it', async () => {
  const limited = await startAgent({
    home: shared.chain.relay.home,
    port: shared.chain.relay.port,
    args: ['--image-limit', '20000', '--idle', '0'],
  });
  try {
    await agent.reset();
    await agent.execute('await browser.close()');
    const { images, text } = await limited.execute(
      `await page.goto('${shared.site.url('/tall')}'); await screenshot({ fullPage: true })`,
    );
    assert.equal(images.length, 4);
    assert.ok(images.every((image) => bytesOf(image).length <= 20_000));
    const notes = [...text.matchAll(/Image scaled from (\d+)x(\d+) to (\d+)x(\d+)/g)];
    const [, , high, width, height] = notes.at(-1).map(Number);
    const picture = jpeg.decode(bytesOf(images[3]));
    assert.deepEqual([picture.width, picture.height], [width, height]);
    // Bars of 40 pixels with hues 7 degrees apart. Scaled down, the middle of the picture keeps its color.
    const top = (high - 24) * 3;
    const hue = (Math.floor((top + high / 2) / 40) * 7) % 360;
    const at = (Math.floor(picture.height / 2) * picture.width + Math.floor(width / 2)) * 4;
    assertHue(picture.data.subarray(at, at + 3), hue);
    await limited.execute('await page.close()');
  } finally {
    await limited.stop();
  }
});

/** Which of the three colors is the strongest and which the weakest tells the hue within 60 degrees. */
function assertHue([red, green, blue], hue) {
  const third = Math.round(hue / 120) % 3;
  const strongest = [red, green, blue].indexOf(Math.max(red, green, blue));
  assert.equal(strongest, third, `${[red, green, blue]} for the hue ${hue}`);
}

test('shows a tall page in tiles that are legible, a few at a time', async () => {
  const first = await run(
    `await page.goto('${shared.site.url('/tall')}'); await screenshot({ fullPage: true })`,
  );
  const [, count, width] =
    /^\[Tiles 1 to 4 of (\d+), from the top, of (\d+)x12000 pixels\. Next: add \{ tile: 5 \}\. /.exec(
      first.text,
    ) ?? assert.fail(first.text);
  const images = [...first.images];
  for (let next = 5; next <= count; next += 4) {
    const { images: more, text } = await run(`await screenshot({ fullPage: true, tile: ${next} })`);
    const last = Math.min(count, next + 3);
    assert.ok(text.startsWith(`[Tiles ${next} to ${last} of ${count}, `), text);
    images.push(...more);
  }
  assert.equal(images.length, Number(count));
  for (const image of images) {
    const size = sizeOf(image);
    assert.equal(size[0], Number(width));
    // A model scales an image to 1568 pixels and 1.15 megapixels; text has to stay at 77 % of its size or more.
    const scale = Math.min(1568 / Math.max(...size), Math.sqrt(1_150_000 / (size[0] * size[1])));
    assert.ok(scale >= 0.77, `${size} at ${scale}`);
  }
  const overlaps = images.slice(0, -1).map(() => 24);
  const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);
  assert.equal(
    sum(images.map((image) => sizeOf(image)[1])) - sum(overlaps),
    12_000,
    'nothing is missing',
  );
  assert.match((await fails(`await screenshot({ fullPage: true, tile: 99 })`)).text, /no tile 99/);
});

test('shows a tall element, and a tall picture that the code made, in tiles', async () => {
  for (const [code, next] of [
    [`await screenshot(page.locator('body'), { type: 'jpeg' })`, 'add { tile: 5 }'],
    [`page.screenshot({ fullPage: true })`, 'screenshot({ fullPage: true, tile: 5 })'],
  ]) {
    const { images, text } = await run(`await page.goto('${shared.site.url('/tall')}'); ${code}`);
    assert.equal(images.length, 4);
    assert.match(text, /^\[Tiles 1 to 4 of \d+, from the top, of \d+x12000 pixels\./);
    assert.ok(text.includes(`Next: ${next}.`), text);
  }
  const { images } = await run(`await screenshot(page.locator('div').nth(3))`);
  assert.equal(images.length, 1);
});

test('draws labels in each tile at their elements', async () => {
  const { images } = await run(
    `await page.goto('${shared.site.url('/far')}'); await screenshot({ fullPage: true, labels: true })`,
  );
  const [, height] = sizeOf(images[0]);
  const [left, top] = [100, 5_000];
  const number = Math.floor(top / (height - 24));
  assert.ok(number > 0, 'not in the first tile');
  const tile = images[number];
  const { data, width } = PNG.sync.read(bytesOf(tile));
  const y = (top % (height - 24)) + 29;
  const colourAt = (x) => [...data.subarray((y * width + x) * 4, (y * width + x) * 4 + 3)].join();
  assert.notEqual(colourAt(left), '255,255,255', 'the outline');
  assert.equal(colourAt(left - 1), '255,255,255', 'outside of it');
});

test('accepts only options that it has, and types that it can scale', async () => {
  assert.match(
    (await fails(`await screenshot({ fullpage: true })`)).text,
    /TypeError: screenshot has no option 'fullpage'\. Options: fullPage, labels, tile, clip, type,/,
  );
  const small = await run(`await screenshot({ type: 'jpeg' })`);
  assert.deepEqual(
    [small.images[0].mimeType, small.text.includes('scaled')],
    ['image/jpeg', false],
  );
  assert.match(
    (await fails(`await screenshot({ type: 'webp' })`)).text,
    /TypeError: screenshot supports the types png and jpeg, not webp/,
  );
  assert.match(
    (await run('Buffer.from([0xff, 0xd8, 0xff, 0xe0])')).text,
    /^<Buffer ff d8 ff e0>$/,
    'the first bytes alone are not an image',
  );
});
