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
/** Noise does not compress, so an image of it is as large as possible. */
const NOISE = `<body style="margin:0"><canvas width=600 height=300></canvas><script>const c = document.querySelector('canvas').getContext('2d'); const i = c.createImageData(600, 300);
  for (let k = 0; k < i.data.length; k++) i.data[k] = k % 4 === 3 ? 255 : Math.random() * 256; c.putImageData(i, 0, 0)</script>`;

const shared = useChain({
  pages: {
    '/': '<title>Form</title><button>Send</button>',
    '/labelled': LABELLED,
    '/noise': NOISE,
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
    assert.equal(images[0].mimeType, 'image/jpeg');
    assert.ok(bytesOf(images[0]).length <= 20_000);
    assert.match(text, /The page is 12000 pixels tall; this is the top\. Next part: screenshot\(/);
    const [, width, height] = /Image scaled from \d+x8000 to (\d+)x(\d+)/.exec(text);
    const picture = jpeg.decode(bytesOf(images[0]));
    assert.deepEqual([picture.width, picture.height], [Number(width), Number(height)]);
    await limited.execute('await page.close()');
  } finally {
    await limited.stop();
  }
});

test('scales a JPEG with an edge that is too long, and accepts only types that it can scale', async () => {
  for (const code of [
    `await screenshot(page.locator('body'), { type: 'jpeg', quality: 20 })`,
    `page.screenshot({ type: 'jpeg', quality: 20, fullPage: true })`,
  ]) {
    const {
      images: [image],
      text,
    } = await run(`await page.goto('${shared.site.url('/tall')}'); ${code}`);
    assert.equal(image.mimeType, 'image/jpeg');
    const { width, height, data } = jpeg.decode(bytesOf(image));
    assert.equal(height, 8_000);
    assert.match(text, /Image scaled from \d+x12000 to \d+x8000/);
    // Three old rows become two. The middle of a bar keeps its colour: hsl(70 90% 50%) is yellow.
    const at = (Math.round((10.5 * 40 * 2) / 3) * width + Math.floor(width / 2)) * 4;
    const [red, green, blue] = data.subarray(at, at + 3);
    assert.ok(red > 180 && green > 220 && blue < 60, `${red}, ${green}, ${blue}`);
  }
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
