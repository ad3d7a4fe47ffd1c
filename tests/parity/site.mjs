/** The pages that the operations of the parity suite use. */

import { html, javascript, startSite } from '../harness/site.mjs';

const FORM = `<title>Form</title>
  <style>body { margin: 8px; height: 3000px; font: 16px sans-serif } #box { width: 80px; height: 40px; background: teal }
    #source, #target { width: 60px; height: 60px; display: inline-block; background: gold } #hovered:hover { color: rgb(255, 0, 0) }</style>
  <h1>Form</h1>
  <button id="once" onclick="log('click')" ondblclick="log('dblclick')">Press</button>
  <span id="hovered" onmouseenter="log('hover')">Hover</span>
  <input id="text" onkeydown="log('key ' + event.key)"><input id="check" type="checkbox"><input id="file" type="file">
  <select id="select"><option>one</option><option>two</option></select>
  <div id="box"></div><div id="source" draggable="true" ondragstart="event.dataTransfer.setData('text/plain', 'dragged')"></div>
  <div id="target" ondragover="event.preventDefault()" ondrop="log('drop ' + event.dataTransfer.getData('text/plain'))"></div>
  <button id="confirm" onclick="log('confirmed ' + confirm('sure?'))">Confirm</button>
  <button id="late" onclick="setTimeout(() => document.body.insertAdjacentHTML('beforeend', '<p id=later>later</p>'), 50)">Late</button>
  <pre id="log"></pre>
  <script>const log = (text) => document.getElementById('log').append(text + ';');</script>`;

export const startParitySite = () =>
  startSite({
    '/form': FORM,
    '/next': '<title>Next</title><h1>Next</h1>',
    '/frames': html(
      (site) => `<title>Frames</title><iframe id="same" src="/inner?same"></iframe>
        <iframe id="cross" src="${site.url('/nest', 'localhost')}"></iframe>`,
    ),
    '/nest': html(
      (site) =>
        `<title>Nest</title><p>nest</p><iframe id="back" src="${site.url('/inner?nested')}"></iframe>`,
    ),
    '/inner': `<title>Inner</title><p>inner</p><button onclick="this.textContent = 'pressed'">inner</button>`,
    '/worker': `<title>Worker</title><script>window.worker = new Worker('/worker.js')</script>`,
    '/worker.js': javascript('self.answer = 42; onmessage = ({ data }) => postMessage(data * 2);'),
    '/data': (request, response) => {
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ answer: 42, header: request.headers['x-test'] ?? null }));
    },
    '/headers': (request, response) => {
      response.setHeader('content-type', 'text/html');
      response.end(`<title>${request.headers['x-test'] ?? 'none'}</title>`);
    },
    '/redirect': (_request, response) => response.writeHead(302, { location: '/next' }).end(),
  });
