/** `record`: an animated picture of a page in the background, with clicks marked, made without changing the page. */

import assert from 'node:assert/strict';
import { readFile, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';

import { runnerFolder, useAgent } from '../harness/agent.mjs';
import { inExtension, useChain } from '../harness/chain.mjs';
import { until } from '../harness/processes.mjs';

const { timeline } = await import(path.join(await runnerFolder(), 'animation.mjs'));
const { add } = await import(path.join(await runnerFolder(), 'recorder.mjs'));

const BUTTON = 'position:absolute;left:300px;top:200px;width:100px;height:60px';
const PRESS = `<title>Press</title><body style="margin:0;background:rgb(255,255,255)">
  <button style="${BUTTON}" onclick="document.body.style.background='rgb(0,128,0)'">Press</button>`;
const BLUE = '<title>Blue</title><body style="margin:0;background:rgb(0,0,255)">';
const MOVING = `<title>Moving</title><style>@keyframes move { to { margin-left: 300px } }
  div { width: 40px; height: 40px; background: red; animation: move 1s infinite alternate }</style><div></div>`;

const shared = useChain({ pages: { '/': PRESS, '/blue': BLUE, '/moving': MOVING } });
/** It releases the browser soon after each call. */
const agent = useAgent(shared, ['--idle', '0.2']);
const { run, fails } = agent;

/** The frames of a GIF: how long each is shown in milliseconds, and the colors at some points. */
async function framesOf(file, points) {
  const data = (await readFile(file)).toString('base64');
  const decode = async ([base64, wanted]) => {
    const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
    const decoder = new ImageDecoder({ data: bytes, type: 'image/gif' });
    await decoder.tracks.ready;
    await decoder.completed;
    const frames = [];
    for (
      let frameIndex = 0;
      frameIndex < decoder.tracks.selectedTrack.frameCount;
      frameIndex += 1
    ) {
      const { image } = await decoder.decode({ frameIndex });
      const canvas = new OffscreenCanvas(image.displayWidth, image.displayHeight);
      const context = canvas.getContext('2d');
      context.drawImage(image, 0, 0);
      const colorAt = ([x, y]) => [...context.getImageData(x, y, 1, 1).data.slice(0, 3)];
      frames.push({ ms: image.duration / 1000, colors: wanted.map(colorAt) });
    }
    return frames;
  };
  const { text } = await run(
    `const tab = await context.newPage(); await tab.goto('${shared.site.url('/')}');
     const frames = await tab.evaluate(${decode}, ${JSON.stringify([data, points])}); await tab.close(); frames`,
  );
  return JSON.parse(text);
}

const isNear = (one, other) => one.every((channel, index) => Math.abs(channel - other[index]) < 24);
const MARK = [255, 87, 34];
/** A free spot, and the middle of the button. In pixels of the page, which are those of a recording that is wide enough. */
const POINTS = [
  [20, 20],
  [350, 230],
];
/** A change is painted, and then stays for longer than the 200 ms that two frames of a recording are apart. */
const WAIT = `await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
  await page.waitForTimeout(500)`;

const slot = async () =>
  (await fetch(`http://127.0.0.1:${shared.chain.relay.port}/client-slot`)).json();

test('shows what happened and where the code clicked, and leaves the page as it is', async () => {
  await run(`await page.goto('${shared.site.url('/')}')`);
  const html = 'page.evaluate(() => document.documentElement.outerHTML)';
  const { text: before } = await run(html);
  await run('await record.start({ width: 1280 })');
  const front = await inExtension(shared.chain, async () => {
    const [tab] = await chrome.tabs.query({ active: true });
    return tab.title;
  });
  assert.notEqual(front, 'Press', 'the page is in the background');
  await run(`await page.getByRole('button').click(); ${WAIT}`);
  const { text: after } = await run(html);
  await run(`await page.goto('${shared.site.url('/blue').replace('127.0.0.1', 'localhost')}')`);
  const { text } = await run('await record.stop()');
  const { path: file, seconds, width, bytes } = JSON.parse(text);
  assert.equal(after.replace(/ style="margin.*?"/, ''), before.replace(/ style="margin.*?"/, ''));
  assert.equal((await stat(file)).size, bytes);
  assert.equal((await stat(file)).mode & 0o777, 0o600);
  assert.ok(width > 700 && seconds > 1 && seconds < 60, text);
  const frames = await framesOf(file, POINTS);
  const [first, last] = [frames[0], frames.at(-1)];
  assert.ok(isNear(first.colors[0], [255, 255, 255]), JSON.stringify(frames));
  assert.ok(isNear(last.colors[0], [0, 0, 255]), JSON.stringify(frames));
  assert.ok(
    frames.some(({ colors }) => isNear(colors[0], [0, 128, 0])),
    JSON.stringify(frames),
  );
  const marked = frames.filter(({ colors }) => isNear(colors[1], MARK));
  assert.ok(marked.length > 0 && marked[0].ms >= 400, JSON.stringify(frames));
  assert.ok(!isNear(last.colors[1], MARK) && !isNear(first.colors[1], MARK));
  await rm(file);
});

test('goes on after the browser was released', async () => {
  await run(`await page.goto('${shared.site.url('/')}'); await record.start({ width: 400 })`);
  await until('the browser is released', async () => !(await slot()).busy);
  await run(`await page.getByRole('button').click(); ${WAIT}`);
  const { path: file, width } = JSON.parse((await run('await record.stop()')).text);
  assert.equal(width, 400);
  const scale = width / Number((await run('page.evaluate(() => innerWidth)')).text);
  const scaled = POINTS.map((point) => point.map((distance) => Math.round(distance * scale)));
  const frames = await framesOf(file, scaled);
  assert.ok(isNear(frames[0].colors[0], [255, 255, 255]), JSON.stringify(frames));
  assert.ok(isNear(frames.at(-1).colors[0], [0, 128, 0]), JSON.stringify(frames));
  assert.ok(
    frames.some(({ colors }) => isNear(colors[1], MARK)),
    JSON.stringify(frames),
  );
  await rm(file);
});

test('ends by itself, and says so', async () => {
  await run(
    `await page.goto('${shared.site.url('/moving')}'); await record.start({ seconds: 1, fps: 10, width: 300 })`,
  );
  await run('await page.waitForTimeout(1500)');
  const { path: file, seconds, width, note } = JSON.parse((await run('await record.stop()')).text);
  assert.ok(seconds >= 1 && seconds < 3.5, String(seconds));
  assert.equal(width, 300);
  assert.match(note, /full/);
  const frames = await framesOf(file, []);
  assert.ok(frames.length >= 2 && frames.length <= 25, String(frames.length));
  await rm(file);
});

test('is saved with the other files, also by a name', async () => {
  const folder = path.join(shared.chain.relay.home.path, 'files');
  for (const [options, name] of [
    ['', 'recording.gif'],
    [`{ path: 'order.gif' }`, 'order.gif'],
  ]) {
    await run(`await page.goto('${shared.site.url('/')}'); await record.start(${options})`);
    const { path: file } = JSON.parse((await run('await record.stop()')).text);
    assert.equal(file, path.join(folder, name));
    assert.equal((await stat(file)).mode & 0o777, 0o600);
  }
});

test('rejects what it cannot do', async () => {
  const file = path.join(shared.chain.relay.home.path, 'taken.gif');
  assert.match((await fails('await record.stop()')).text, /No recording is running/);
  assert.match((await fails('await record.start({ speed: 2 })')).text, /no option 'speed'/);
  assert.match((await fails('await record.start({ fps: 60 })')).text, /from 1 to 10/);
  assert.match((await fails(`await record.start({ path: 'a.webm' })`)).text, /end with \.gif/);
  const record = `await page.goto('${shared.site.url('/')}'); await record.start({ path: ${JSON.stringify(file)} })`;
  await run(record);
  assert.match((await fails('await record.start()')).text, /A recording is running/);
  assert.equal(JSON.parse((await run('await record.stop()')).text).path, file);
  await run(record);
  assert.match((await fails('await record.stop()')).text, /EEXIST/);
});

test('a click is shown before its effect, and pauses are shortened', () => {
  const frame = (time) => ({ png: Buffer.alloc(0), viewportWidth: 100, time });
  const [first, second, third] = [frame(10), frame(12.01), frame(40)];
  const click = { x: 1, y: 1, time: 12 };
  const shots = timeline([first, second, third], [click], 40.2);
  const found = shots.map(({ frame: shown, clicks, seconds }) => [
    shown.time,
    clicks.length,
    Number(seconds.toFixed(2)),
  ]);
  assert.deepEqual(found, [
    [10, 0, 2],
    [10, 1, 0.4],
    [12.01, 1, 0.59],
    [12.01, 0, 2],
    [40, 0, 1],
  ]);
});

test('a long recording keeps fewer frames of all of its time, and never loses the latest', () => {
  const recording = { frames: [], bytes: 0, fps: 5, seconds: 60, startedAt: 0 };
  for (let tenths = 0; tenths < 590; tenths += 1) {
    add(recording, { png: Buffer.alloc(10), viewportWidth: 100, time: tenths / 10 });
    assert.equal(recording.frames.at(-1).time, tenths / 10);
  }
  const { frames, bytes, endedAt } = recording;
  assert.ok(frames.length > 70 && frames.length <= 150, String(frames.length));
  assert.equal(bytes, frames.length * 10);
  assert.equal(frames[0].time, 0);
  const gaps = frames.slice(1).map(({ time }, index) => time - frames[index].time);
  assert.ok(Math.max(...gaps) < 1.5, String(Math.max(...gaps)));
  assert.equal(endedAt, undefined);
  add(recording, { png: Buffer.alloc(65 << 20), viewportWidth: 100, time: 59 });
  assert.equal(recording.endedAt, 59, 'it is too large');
});
