/** The frame of all pages: head, styles, and the script that reports what is done to the server. */

const STYLE = `
  body { font: 15px/1.5 system-ui, sans-serif; margin: 0; color: #222; }
  header, main, footer { padding: 12px 24px; } nav ul { list-style: none; display: flex; gap: 16px; padding: 0; }
  table { border-collapse: collapse; } td, th { padding: 4px 10px; border-bottom: 1px solid #ddd; text-align: left; }
  .grid { display: grid; grid-template-columns: repeat(4, 1fr); gap: 16px; } .card { border: 1px solid #ddd; padding: 12px; }
  button, .button { cursor: pointer; } .columns { display: flex; gap: 24px; } .muted { color: #777; } label { display: block; }
  .menu ul { display: none; position: absolute; background: white; border: 1px solid #ccc; padding: 8px; } .menu:hover ul { display: block; }
  iframe { border: 1px solid #ccc; width: 420px; height: 220px; } .selected { background: #eef; }`;

/** In every page: `report(path, data)` tells the site what happened, and returns its answer. */
const SCRIPT = `
  const report = async (path, data) =>
    (await fetch(path, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(data) })).json();
  const find = (selector) => document.querySelector(selector);
  const all = (selector) => [...document.querySelectorAll(selector)];`;

/** @param {{ title: string, body: string, script?: string }} page */
export const layout = ({ title, body, script = '' }) => `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>${title}</title><link rel="icon" href="data:,"><style>${STYLE}</style>
<script>${SCRIPT}</script></head>
<body>${body}<script>${script}</script></body></html>`;

export const list = (items, render) => items.map(render).join('\n');
