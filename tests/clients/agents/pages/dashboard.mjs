/** A dashboard with a frame of its own site, one of another site, a chart, alerts, and a report that takes a while. */

import { layout, list } from './layout.mjs';

const FIGURES = [
  ['Visitors', '18,204'],
  ['Orders', '912'],
  ['Revenue', '€48,310'],
  ['Refunds', '14'],
];
const EVENTS = [
  ['09:14', 'Deployed version 4.2'],
  ['09:31', 'Cache cleared'],
  ['10:02', 'Backup finished'],
  ['10:45', 'New member: Jonas Hale'],
];
const BARS = [40, 65, 30, 80, 55, 95, 70];
export const CHART = { width: 360, height: 160 };
export const CONSOLE_ERROR = 'Quota for region eu-west-3 is exhausted';

const bar = (height, index) =>
  `<rect x="${index * 50 + 10}" y="${150 - height}" width="36" height="${height}" fill="#36c"/>`;

const BODY = `
<header><h1>Operations</h1><div role="tablist" aria-label="Views">${list(['Overview', 'Traffic', 'Alerts'], (name) => `<button role="tab" aria-selected="${name === 'Overview'}">${name}</button>`)}</div>
  <button id="refresh">Refresh data</button> <button id="run">Run report</button><p id="report" role="status"></p></header>
<main><section aria-label="Key figures" class="columns">${list(FIGURES, ([name, value]) => `<div class="card"><h2>${name}</h2><div class="value">${value}</div></div>`)}</section>
  <section aria-label="Visitors per day"><svg id="chart" role="img" aria-label="Visitors per day" width="${CHART.width}" height="${CHART.height}" style="background:#f4f4f4">${BARS.map(bar).join('')}</svg></section>
  <section aria-label="Alerts"><h2>Alerts</h2><label><input type="checkbox" id="critical"> Only critical</label><ul id="alerts"></ul></section>
  <section aria-label="Events"><h2>Events</h2><table><thead><tr><th>Time</th><th>Event</th></tr></thead><tbody>${list(EVENTS, ([time, text]) => `<tr><td>${time}</td><td>${text}</td></tr>`)}</tbody></table></section>
  <div class="columns"><iframe title="Filters" src="/dashboard/filters"></iframe><iframe title="Support chat" id="chat"></iframe></div></main>`;

const SCRIPT = `
  find('#chat').src = location.origin.replace('127.0.0.1', 'localhost') + '/dashboard/chat';
  const ALERTS = [['Disk almost full on db-2', true], ['Certificate expires in 20 days', false], ['Queue is growing', true], ['Slow queries', false]];
  // As frameworks do, this makes new elements each time.
  const render = () => {
    const shown = ALERTS.filter(([, isCritical]) => isCritical || !find('#critical').checked);
    find('#alerts').innerHTML = shown.map(([text]) => '<li>' + text + ' <button data-alert="' + text + '" aria-label="Acknowledge: ' + text + '">Acknowledge</button></li>').join('');
  };
  render();
  find('#critical').addEventListener('change', render);
  find('#alerts').addEventListener('click', async ({ target }) => {
    if (target.dataset.alert) {
      target.parentElement.append(' Done.');
      await report('/api/acknowledge', { alert: target.dataset.alert });
    }
  });
  find('#refresh').addEventListener('click', async () => {
    await report('/api/refresh', {});
    console.error('${CONSOLE_ERROR}');
  });
  find('#run').addEventListener('click', async () => {
    find('#report').textContent = 'The report is running…';
    const { total } = await report('/api/report', {});
    find('#report').textContent = 'Report finished: ' + total + ' sessions.';
  });`;

export const dashboard = layout({ title: 'Operations', body: BODY, script: SCRIPT });

export const filters = layout({
  title: 'Filters',
  body: `<form><label for="region">Region</label><select id="region"><option>All regions</option><option>Europe</option><option>Asia</option><option>Americas</option></select>
    <label for="from">From</label><input id="from" type="text" placeholder="YYYY-MM-DD"><label><input type="checkbox" id="bots"> Include bots</label><button>Apply filters</button></form><p id="applied" role="status"></p>`,
  script: `find('form').addEventListener('submit', async (event) => {
    event.preventDefault();
    find('#applied').textContent = 'Filters applied.';
    await report('/api/filters', { region: find('#region').value, from: find('#from').value, bots: find('#bots').checked });
  });`,
});

export const chat = layout({
  title: 'Support chat',
  body: `<h2>Support</h2><ul id="messages"><li>Agent: How can we help?</li></ul><form><label for="text">Message</label><input id="text"><button>Send message</button></form>`,
  script: `find('form').addEventListener('submit', async (event) => {
    event.preventDefault();
    const { reply } = await report('/api/chat', { text: find('#text').value });
    find('#messages').insertAdjacentHTML('beforeend', '<li>Agent: ' + reply + '</li>');
  });`,
});
