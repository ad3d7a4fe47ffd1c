/**
 * The accessibility tree of a page as lines of text. Compact lines leave out what costs an agent tokens and tells it
 * nothing: wrappers, addresses, repeated text, and refs of elements that cannot be acted on. Knows nothing about pages.
 */

/**
 * A node of `page.ariaSnapshotJSON()`. A string is static text.
 * @typedef {{ role: string, name?: string, text?: string, ref?: string, cursor?: string, active?: boolean, url?: string,
 *   placeholder?: string, box?: { x: number, y: number, width: number, height: number }, children?: Child[],
 *   [property: string]: unknown }} AriaNode
 */
/** @typedef {AriaNode | string} Child */
/** @typedef {{ depth: number, text: string, node: Child }} Line */

export const INTERACTIVE_ROLES = new Set([
  'button',
  'link',
  'textbox',
  'checkbox',
  'radio',
  'combobox',
  'option',
  'menuitem',
  'menuitemcheckbox',
  'menuitemradio',
  'tab',
  'switch',
  'slider',
  'searchbox',
  'spinbutton',
  'treeitem',
  'listbox',
]);

const EMPHASIS = new Set(['strong', 'emphasis']);
/** They only group or format what is in them. */
const WRAPPERS = new Set(['generic', 'paragraph', 'rowgroup', 'none', ...EMPHASIS]);
/** One of many that look alike. What belongs to one of them is read together. */
const ITEMS = new Set(['row', 'listitem', 'article', 'treeitem', 'option']);
const CELLS = new Set(['cell', 'gridcell', 'columnheader', 'rowheader']);
const STATES = /** @type {const} */ ([
  'checked',
  'disabled',
  'expanded',
  'invalid',
  'level',
  'pressed',
  'selected',
  'active',
]);

/** @param {unknown} tree what `ariaSnapshotJSON` returned @returns {Child[]} */
export const nodesOf = (tree) => /** @type {Child[]} */ ([tree].flat().filter(Boolean));

/** @param {Child | undefined} node @returns {Child[]} */
const childrenOf = (node) =>
  typeof node === 'object' ? (node.text ? [node.text] : (node.children ?? [])) : [];

/** @param {AriaNode} node */
export const isInteractive = ({ role, cursor }) =>
  INTERACTIVE_ROLES.has(role) || cursor === 'pointer';

/** Calls `visit` with every node that is not text. @param {Child[]} nodes @param {(node: AriaNode) => void} visit */
export function visitNodes(nodes, visit) {
  for (const node of nodes) {
    if (typeof node === 'object') {
      visit(node);
      visitNodes(node.children ?? [], visit);
    }
  }
}

/** @param {Child[]} nodes @returns {Child[]} */
export function compact(nodes) {
  const kept = joinText(nodes).flatMap(compactNode);
  return kept.filter((node, index) => !isLabelOf(node, kept[index + 1], kept[index - 1]));
}

/** @param {Child} node @returns {Child[]} */
function compactNode(node) {
  if (typeof node === 'string') {
    return [node];
  }
  const { role, name, ref, active, url: _, text: __, children: ___, cursor, ...rest } = node;
  const acts = isInteractive(node);
  const content = compact(childrenOf(node)).filter((child) => child !== name);
  const isRepeated = acts && name && !hasInteractive(content) && includesText(name, content);
  const children = isRepeated ? [] : content;
  if (WRAPPERS.has(role) && !name && !acts) {
    return children;
  }
  if (role === 'listitem' && !name && !acts && children.length === 1) {
    return children;
  }
  const hasRef = acts || role === 'iframe' || active;
  return [
    {
      role,
      ...(name ? { name } : {}),
      ...rest,
      ...(active && acts ? { active } : {}),
      ...(hasRef && ref ? { ref } : {}),
      ...(children.length > 0 ? { children } : {}),
    },
  ];
}

/**
 * A sentence with an emphasized word is one text: it is shorter, and a search finds what is next to the word.
 * @param {Child[]} nodes
 * @returns {Child[]}
 */
function joinText(nodes) {
  /** @type {Child[]} */
  const joined = [];
  nodes.forEach((node, index) => {
    const before = joined.at(-1);
    const text = inlineText(node);
    const isEmphasis = text !== undefined && [node, nodes[index - 1]].some(isObject);
    if (isEmphasis && typeof before === 'string') {
      joined[joined.length - 1] = `${before}${/^[.,;:!?)]/.test(text) ? '' : ' '}${text}`;
    } else {
      joined.push(text ?? node);
    }
  });
  return joined;
}

/** @param {Child | undefined} node */
const isObject = (node) => typeof node === 'object';

/** The text of a node that is text, emphasized or not. @param {Child} node @returns {string | undefined} */
function inlineText(node) {
  if (typeof node === 'string') {
    return node;
  }
  const isText = EMPHASIS.has(node.role) && !node.name && !isInteractive(node);
  return isText && childrenOf(node).length > 0 ? textOf(childrenOf(node)) : undefined;
}

/** Text that is the name of the field beside it. @param {Child} node @param {(Child | undefined)[]} beside */
const isLabelOf = (node, ...beside) =>
  typeof node === 'string' &&
  beside.some((other) => typeof other === 'object' && isInteractive(other) && other.name === node);

/** @param {Child[]} nodes @returns {boolean} */
const hasInteractive = (nodes) =>
  nodes.some(
    (node) =>
      typeof node === 'object' &&
      (isInteractive(node) || node.role === 'iframe' || hasInteractive(childrenOf(node))),
  );

/** Whether all text of the nodes is part of a name. @param {string} name @param {Child[]} nodes @returns {boolean} */
const includesText = (name, nodes) =>
  nodes.every((node) =>
    typeof node === 'string'
      ? name.includes(node)
      : name.includes(node.name ?? '') && includesText(name, childrenOf(node)),
  );

/**
 * Only what can be acted on, and what it is in if that has a name.
 * @param {Child[]} nodes
 * @returns {Child[]}
 */
export function onlyInteractive(nodes) {
  return nodes.flatMap((node) => {
    if (typeof node === 'string') {
      return [];
    }
    const children = onlyInteractive(childrenOf(node));
    if (isInteractive(node)) {
      const text = childrenOf(node).filter((child) => typeof child === 'string');
      return [{ ...node, text: undefined, children: [...text, ...children] }];
    }
    const isPlace = node.name || node.role === 'iframe' || node.role === 'dialog';
    return isPlace && children.length > 0 ? [{ ...node, text: undefined, children }] : children;
  });
}

/**
 * @param {Child[]} nodes
 * @param {number} [depth]
 * @returns {Line[]}
 */
export function toLines(nodes, depth = 0) {
  return nodes.flatMap((node) => {
    if (typeof node === 'string') {
      return [{ depth, text: JSON.stringify(node), node }];
    }
    const children = childrenOf(node);
    const inline = node.role === 'row' ? cellsInOneLine(children) : textOf(children);
    if (inline !== undefined) {
      return [{ depth, text: `${head(node)}${inline && `: ${inline}`}`, node }];
    }
    const below = toLines(children, depth + 1);
    const [only] = below;
    // A heading that is a link, a link that is a picture: one line is easier to read than two.
    return only && below.length === 1
      ? [{ depth, text: `${head(node)}: ${only.text}`, node }]
      : [{ depth, text: `${head(node)}:`, node }, ...below];
  });
}

/** The content of a node if it is only text. @param {Child[]} children */
const textOf = (children) =>
  children.every((child) => typeof child === 'string') ? children.join(' ') : undefined;

/**
 * A row as one line, if each of its cells has at most one thing in it.
 * @param {Child[]} cells
 */
function cellsInOneLine(cells) {
  const texts = cells.map((cell) =>
    typeof cell === 'object' && CELLS.has(cell.role) ? cellText(cell) : undefined,
  );
  return cells.length > 0 && texts.every((text) => text !== undefined)
    ? texts.join(' | ')
    : undefined;
}

/** @param {AriaNode} cell @returns {string | undefined} */
function cellText(cell) {
  const children = childrenOf(cell);
  const [child] = children;
  if (statesOf(cell) || cell.ref) {
    return undefined;
  }
  if (children.length === 0) {
    return cell.name ?? '';
  }
  if (children.length > 1 || child === undefined) {
    return undefined;
  }
  if (typeof child === 'string') {
    return cell.name && !cell.name.includes(child) ? undefined : child;
  }
  const inline = textOf(childrenOf(child));
  return inline === undefined ? undefined : `${head(child)}${inline && `: ${inline}`}`;
}

/** @param {AriaNode} node */
function head(node) {
  const { role, name, ref, cursor, url, placeholder } = node;
  return [
    role,
    name && JSON.stringify(name),
    statesOf(node),
    placeholder && placeholder !== name && `[placeholder=${JSON.stringify(placeholder)}]`,
    url && `[url=${url}]`,
    ref && `[ref=${ref}]`,
    // In a compact tree the ref says as much.
    cursor && `[cursor=${cursor}]`,
  ]
    .filter(Boolean)
    .join(' ');
}

/** @param {AriaNode} node */
const statesOf = (node) =>
  STATES.filter((state) => node[state] !== undefined && node[state] !== false)
    .map((state) => (node[state] === true ? `[${state}]` : `[${state}=${node[state]}]`))
    .join(' ');

/** @param {Line} line */
export const showLine = ({ depth, text }) => `${'  '.repeat(depth)}${text}`;

/** Everything in a tree, as text. @param {unknown} tree */
export const wholeText = (tree) => toLines(nodesOf(tree)).map(showLine).join('\n');

/**
 * The lines that match, each with its ancestors. If a line belongs to a row or an item, all of that is included: the
 * button that an agent looks for is often next to the text that it knows.
 * @param {Line[]} lines
 * @param {(text: string) => boolean} matches
 * @returns {{ found: Line[], count: number }}
 */
export function search(lines, matches) {
  /** @type {Set<number>} */
  const wanted = new Set();
  let count = 0;
  lines.forEach(({ text }, index) => {
    if (matches(text)) {
      count += 1;
      itemAround(lines, index).forEach((line) => wanted.add(line));
      ancestorsOf(lines, index).forEach((line) => wanted.add(line));
    }
  });
  return { found: lines.filter((_, index) => wanted.has(index)), count };
}

/** The indices of all lines that enclose a line, from the innermost. @param {Line[]} lines @param {number} index */
export function ancestorsOf(lines, index) {
  const ancestors = [];
  let depth = lines[index]?.depth ?? 0;
  for (let at = index - 1; at >= 0 && depth > 0; at -= 1) {
    const line = /** @type {Line} */ (lines[at]);
    if (line.depth < depth) {
      ancestors.push(at);
      depth = line.depth;
    }
  }
  return ancestors;
}

const MAX_ITEM_LINES = 20;

/** The lines of the innermost item that a line belongs to, if they are few; else the line. @param {Line[]} lines @param {number} index */
function itemAround(lines, index) {
  const isItem = (/** @type {number} */ at) => {
    const node = lines[at]?.node;
    return typeof node === 'object' && ITEMS.has(node.role);
  };
  const start = [index, ...ancestorsOf(lines, index)].find(isItem);
  if (start === undefined) {
    return [index];
  }
  const depth = /** @type {Line} */ (lines[start]).depth;
  let end = start + 1;
  while ((lines[end]?.depth ?? -1) > depth) {
    end += 1;
  }
  return end - start > MAX_ITEM_LINES
    ? [index]
    : Array.from({ length: end - start }, (_, at) => start + at);
}
