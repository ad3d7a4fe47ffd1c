/**
 * What a snapshot of a page has to contain. Chromium's own accessibility tree says it, read on the browser's own port, so
 * it depends on none of the servers. Also finds it in the snapshots.
 */

import { connectRaw } from '../../harness/raw_client.mjs';
import { until } from '../../harness/processes.mjs';

/** Chromium's role, and what the servers call it. */
const ROLES = new Map(
  [
    ...['button', 'link', 'textbox', 'searchbox', 'combobox', 'listbox', 'option', 'checkbox'],
    ...['radio', 'switch', 'slider', 'spinbutton', 'tab', 'menuitem', 'treeitem'],
  ].map((role) => [role, [role]]),
);
ROLES.set('Date', ['Date', 'textbox']);

/** Servers give options no ref of their own: they are chosen by their name. */
const needsRef = (role) => role !== 'option';

const normalize = (text) => text.replaceAll('\\"', '"').replace(/\s+/g, ' ').trim();
const valueOf = (property) => String(property?.value ?? '');

/** The interactive elements and the text of a page that is open in a browser with this debugging port. */
export async function readInventory(ownUrl, url) {
  const client = await connectRaw(ownUrl);
  try {
    const { targetId } = await client.send('Target.createTarget', { url });
    const attach = { targetId, flatten: true };
    const { sessionId } = await client.send('Target.attachToTarget', attach);
    const nodes = await readNodes(client, sessionId);
    await client.send('Target.closeTarget', { targetId });
    return toInventory(nodes);
  } finally {
    client.kill();
  }
}

/** The nodes of all frames, those in other processes included. */
async function readNodes(client, session) {
  const follow = { autoAttach: true, waitForDebuggerOnStart: false, flatten: true };
  await client.send('Target.setAutoAttach', follow, session);
  await untilLoaded(client, session);
  const others = client.eventsOf(session, 'Target.attachedToTarget');
  const nodes = [];
  for (const id of [session, ...others.map((other) => other.sessionId)]) {
    await untilLoaded(client, id);
    const { frameTree } = await client.send('Page.getFrameTree', {}, id);
    for (const frameId of framesOf(frameTree)) {
      nodes.push(...(await client.send('Accessibility.getFullAXTree', { frameId }, id)).nodes);
    }
  }
  return nodes;
}

const framesOf = ({ frame, childFrames = [] }) => [frame.id, ...childFrames.flatMap(framesOf)];

/** Until the page and the frames of its own process have loaded. */
const untilLoaded = (client, session) =>
  until('the page has loaded', async () => {
    const expression = "document.readyState === 'complete' && location.href !== 'about:blank'";
    const { result } = await client.send('Runtime.evaluate', { expression }, session);
    return result.value;
  });

function toInventory(nodes) {
  const byId = new Map(nodes.map((node) => [node.nodeId, node]));
  const isPartOfDate = (node) => {
    const parent = byId.get(node.parentId);
    return parent !== undefined && (valueOf(parent.role) === 'Date' || isPartOfDate(parent));
  };
  // Chromium shows how a date field is built inside.
  const shown = nodes.filter((node) => !node.ignored && !isPartOfDate(node));
  return {
    elements: shown
      .filter(({ role }) => ROLES.has(valueOf(role)))
      .map(({ role, name }) => ({ role: valueOf(role), name: normalize(valueOf(name)) })),
    texts: shown
      .filter(({ role }) => valueOf(role) === 'StaticText')
      .map(({ name }) => normalize(valueOf(name)))
      .filter(Boolean),
  };
}

/**
 * What a snapshot lacks: elements with their role and name, as often as they are in the page and with a ref, and text.
 * @param {{ elements: { role: string, name: string }[], texts: string[] }} inventory
 * @param {string} snapshot of any of the servers
 */
export function missingIn({ elements, texts }, snapshot) {
  const found = elementsIn(snapshot);
  const whole = normalize(snapshot);
  const lost = elements.filter(({ role, name }) => {
    const at = found.findIndex(
      (other) =>
        ROLES.get(role).includes(other.role) &&
        other.name === name &&
        (other.hasRef || !needsRef(role)),
    );
    // Each stands for one element only.
    return at < 0 || found.splice(at, 1).length === 0;
  });
  return {
    elements: lost.map(({ role, name }) => `${role} "${name}"`),
    texts: [...new Set(texts.filter((text) => !whole.includes(text)))],
  };
}

/** An element in any of the formats: an optional uid, a role, a name, what else is known, and text. */
const ELEMENT =
  /(?:uid=(?<uid>\S+) )?\b(?<role>[A-Za-z]+)(?: "(?<name>(?:[^"\\]|\\.)*)")?(?<rest>(?: \[(?:[^\]"]|"(?:[^"\\]|\\.)*")*\])*)/g;

/** @param {string} snapshot */
function elementsIn(snapshot) {
  const known = new Set([...ROLES.values()].flat());
  const lines = snapshot.split('\n').filter((line) => !line.trim().startsWith('- /'));
  return lines.flatMap((line, index) =>
    [...line.matchAll(ELEMENT)]
      .filter(({ groups, index: at }) => known.has(groups.role) && isHead(line, at))
      .map(({ 0: all, groups: { uid, role, name, rest }, index: at }) => ({
        role,
        name: normalize(name ?? nameInside(line.slice(at + all.length), lines[index + 1] ?? '')),
        hasRef: uid !== undefined || rest.includes('[ref='),
      })),
  );
}

/** Whether an element can start here: at the start of its line, in a cell, or as the content of another one. */
const isHead = (line, at) => /^(\s*- '?|\s*)$|(\| |: )$/.test(line.slice(0, at));

/** The name of an element that has none of its own: of the picture in it, or its text. */
function nameInside(rest, next) {
  const inside = rest.replace(/^'?:\s*/, '') || next;
  return /(?:img|image) "((?:[^"\\]|\\.)*)"/.exec(inside)?.[1] ?? inside;
}
