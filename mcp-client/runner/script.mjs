/**
 * Writes the session so far as a script that runs without Tabwire's tools: the code of the calls, with refs as locators,
 * secrets as variables of the environment, and the functions that only exist in an agent's scope. Never runs anything, and
 * contains neither a token nor a secret.
 */

/** @import { Program } from 'acorn' */
/** @import { Element, Transcript } from './transcript.mjs' */

import { lastStatement, namesIn, parseCode, readsPage, withoutShebang } from './compile.mjs';
import { REPLACEMENTS } from './script_functions.mjs';

/** A node of the syntax tree, walked without regard to its type. @typedef {any} Node */
/** @typedef {{ start: number, end: number, text: string }} Edit */
/** @typedef {{ text: string, names: Set<string>, globals: string[], program: Program, hasRefs: boolean }} Written */

/** Names that a script has anyway. */
const GIVEN = ['page', 'context', 'browser', 'console'];
/** Statements that only call one of these show the agent something. A script has nobody to show it to. */
const SHOWING = [
  'snapshot',
  'markdown',
  'find',
  'screenshot',
  'output',
  'logs',
  'requests',
  'record',
  'script',
  'help',
  'pages',
];

const HEADER = `import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { chromium } from 'playwright-core';

// The address contains a secret, so it is read when the script runs. \`tabwire serve\` has to be running.
const home = process.env.TABWIRE_HOME ?? \`\${homedir()}/.tabwire\`;
const url = readFileSync(\`\${home}/cdp-url\`, 'utf8').trim();`;

/**
 * @param {Transcript} transcript
 * @param {{ names: string[], browser: string | null }} session the names in scope, and the browser if it was chosen by name
 * @returns {Promise<string>}
 */
export async function toScript({ calls, forgotten, failed }, { names, browser }) {
  const written = [];
  for (const { code, refs } of calls) {
    const elements = new Map();
    for (const [ref, element] of refs) {
      elements.set(ref, await element);
    }
    written.push(write(code, elements, names));
  }
  const used = new Set(written.flatMap((call) => [...call.names]));
  const opensPage = written.find(({ program }) => mentions(program, 'page'))?.program;
  const hasOwnPage = opensPage !== undefined && readsPage(opensPage);
  const parts = [
    HEADER,
    connect(browser),
    ...comments(
      forgotten,
      failed,
      written.some(({ hasRefs }) => hasRefs),
    ),
    [...pageLines(used, hasOwnPage), ...helpers(used, names), ...globalsOf(written)].join('\n'),
    ...written.map(({ text }) => text).filter(Boolean),
    ending(used, hasOwnPage),
  ];
  return `${parts.filter(Boolean).join('\n\n')}\n`;
}

/** @param {string | null} browser */
const connect = (browser) =>
  `const browser = await chromium.connectOverCDP(${browser === null ? 'url' : `\`\${url}&browser=${encodeURIComponent(browser)}\``});
const [context] = browser.contexts();`;

/** @param {number} forgotten @param {number} failed @param {boolean} hasRefs */
function comments(forgotten, failed, hasRefs) {
  const count = (/** @type {number} */ number) => (number === 1 ? '1 call' : `${number} calls`);
  const lines = [
    ...(forgotten > 0 ? [`// The first ${count(forgotten)} of the session are missing.`] : []),
    ...(failed > 0
      ? [`// Left out: ${count(failed)} that failed, with what was done before that.`]
      : []),
    ...(hasRefs
      ? ['// Replace the refs (aria-ref=…): they were computed, and are valid in the session only.']
      : []),
  ];
  return lines.length > 0 ? [lines.join('\n')] : [];
}

/** @param {Set<string>} used @param {boolean} hasOwnPage */
function pageLines(used, hasOwnPage) {
  if (!used.has('page')) {
    return [];
  }
  return hasOwnPage
    ? ['let page = await context.newPage();', 'const ownPage = page;']
    : ['let page;'];
}

/** @param {Set<string>} used @param {string[]} names */
function helpers(used, names) {
  const lines = [];
  for (const name of names) {
    if (used.has(name) && !GIVEN.includes(name)) {
      const missing = `throw new Error('${name} exists only in Tabwire. Replace it.');`;
      lines.push(REPLACEMENTS[name] ?? `const ${name} = () => { ${missing} };`);
    }
  }
  const prints = used.has(PRINT) ? [PRINT_SOURCE] : [];
  return [...lines, ...prints];
}

const PRINT = 'print';
const PRINT_SOURCE = `const ${PRINT} = (value) => value !== undefined && console.log(value);`;

/** @param {Written[]} written */
function globalsOf(written) {
  const names = [...new Set(written.flatMap(({ globals }) => globals))];
  return names.length > 0 ? [`let ${names.join(', ')};`] : [];
}

/** @param {Set<string>} used @param {boolean} hasOwnPage */
function ending(used, hasOwnPage) {
  const close = used.has('keep')
    ? 'if (!kept.has(ownPage)) await ownPage.close();\n'
    : 'await ownPage.close();\n';
  return `${hasOwnPage ? close : ''}await browser.close(); // disconnects; the browser stays open`;
}

/**
 * The code of one call.
 * @param {string} original
 * @param {Map<string, Element | undefined>} elements by ref
 * @param {string[]} names
 * @returns {Written}
 */
function write(original, elements, names) {
  const { code, program } = parseCode(withoutShebang(original));
  const last = lastStatement(program);
  /** @type {Edit[]} */
  const edits = [];
  const kept = program.body.filter((statement) => !isShowing(statement, names));
  program.body
    .filter((statement) => !kept.includes(statement))
    .forEach(({ start, end }) => edits.push({ start, end, text: '' }));
  kept.forEach((statement) => visit(statement, (node) => edits.push(...editsOf(node, elements))));
  const used = new Set(kept.flatMap((statement) => namesUsed(statement, names)));
  if (last?.type === 'ExpressionStatement' && kept.includes(last)) {
    const shown = asPrinted(last, code);
    edits.push(...shown);
    shown.forEach(({ text }) => text.startsWith(PRINT) && used.add(PRINT));
  }
  const text = blockOf(apply(code, edits), kept);
  const hasRefs = /aria-ref=/.test(text);
  return { text, names: used, globals: globalsIn(kept, names), program, hasRefs };
}

/** What these return says nothing. */
const ACTIONS =
  /^(click|dblclick|tap|fill|type|press\w*|check|uncheck|setChecked|hover|focus|blur|clear|dragTo|selectOption|setInputFiles|goto|reload|goBack|goForward|close|bringToFront|waitFor\w*)$/;

/**
 * What the last statement returns is awaited if it is a promise, and printed.
 * @param {Node} last
 * @param {string} code
 * @returns {Edit[]}
 */
function asPrinted({ start, end, expression }, code) {
  if (['AssignmentExpression', 'UpdateExpression'].includes(expression.type)) {
    return [];
  }
  const isAwaited = expression.type === 'AwaitExpression';
  const { callee } = isAwaited ? expression.argument : expression;
  if (ACTIONS.test(callee?.property?.name ?? '')) {
    return isAwaited ? [] : [{ start, end: start, text: 'await ' }];
  }
  const isPlain = isAwaited || ['Literal', 'TemplateLiteral'].includes(expression.type);
  const isSimple = ['CallExpression', 'MemberExpression', 'Identifier'].includes(expression.type);
  const [before, after] = isPlain ? ['', ''] : isSimple ? ['await ', ''] : ['await (', ')'];
  const [opening, closing] = [code.slice(start, expression.start), code.slice(expression.end, end)];
  return [
    { start, end: expression.start, text: `${PRINT}(${before}${opening}` },
    { start: expression.end, end, text: `${closing.replace(/;?\s*$/, '')}${after});` },
  ];
}

/** @param {Node} statement @param {string[]} names */
function isShowing({ type, expression }, names) {
  if (type !== 'ExpressionStatement') {
    return false;
  }
  let node = expression.type === 'AwaitExpression' ? expression.argument : expression;
  if (node.type !== 'CallExpression') {
    return false;
  }
  node = node.callee.type === 'MemberExpression' ? node.callee.object : node.callee;
  return node.type === 'Identifier' && SHOWING.includes(node.name) && names.includes(node.name);
}

/** @param {Node} node @param {Map<string, Element | undefined>} elements @returns {Edit[]} */
function editsOf(node, elements) {
  const [first, ...others] = node.type === 'CallExpression' ? node.arguments : [];
  const text = first?.type === 'Literal' && others.length === 0 ? first.value : undefined;
  const { callee } = node;
  if (
    callee?.type === 'Identifier' &&
    callee.name === 'secret' &&
    /^[A-Za-z_]\w*$/.test(text ?? '')
  ) {
    return [{ start: node.start, end: node.end, text: `process.env.${text}` }];
  }
  const method = callee?.type === 'MemberExpression' && !callee.computed && callee.property;
  const ref = method.name === 'getByRef' ? text : refIn(text);
  const element = elements.get(ref);
  if (element && ['locator', 'getByRef'].includes(method.name)) {
    return [{ start: method.start, end: node.end, text: element.code }];
  }
  const selector = node.type === 'Literal' && elements.get(refIn(node.value))?.selector;
  return selector ? [{ start: node.start, end: node.end, text: JSON.stringify(selector) }] : [];
}

/** @param {unknown} text @returns {any} */
const refIn = (text) => (typeof text === 'string' ? /^aria-ref=(\w+)$/.exec(text)?.[1] : undefined);

/** Applies edits that may contain each other: the outer one wins. @param {string} code @param {Edit[]} edits */
function apply(code, edits) {
  const isInsertion = (/** @type {Edit} */ { start, end }) => Number(start === end);
  const ordered = edits.toSorted(
    (a, b) => a.start - b.start || isInsertion(b) - isInsertion(a) || b.end - a.end,
  );
  let [text, at] = ['', 0];
  for (const { start, end, text: replacement } of ordered) {
    if (start >= at) {
      text += code.slice(at, start) + replacement;
      at = end;
    }
  }
  return (text + code.slice(at)).replace(/^[;\s]+/, '').trimEnd();
}

/** Variables of one call are not seen by the next. @param {string} text @param {Node[]} statements */
function blockOf(text, statements) {
  if (statements.length === 0) {
    return '';
  }
  if (statements.some(returns)) {
    return `await (async () => {\n${text}\n})();`;
  }
  const declares = statements.some(({ type }) => /Declaration$/.test(type));
  return declares ? `{\n${text}\n}` : text;
}

/** Whether a statement returns from the call. @param {Node} node @returns {boolean} */
const returns = (node) =>
  node.type === 'ReturnStatement' ||
  (!/Function|Class/.test(node.type) && childrenOf(node).some(returns));

/** @param {Node} node @returns {Node[]} */
const childrenOf = (node) =>
  Object.values(node)
    .flat()
    .filter((child) => typeof child?.type === 'string');

/** @param {Node} node @param {(node: Node, parent?: Node) => void} use @param {Node} [parent] */
function visit(node, use, parent) {
  use(node, parent);
  childrenOf(node).forEach((child) => visit(child, use, node));
}

/** Names of the scope that code uses. @param {Node} root @param {string[]} names */
function namesUsed(root, names) {
  /** @type {string[]} */
  const found = [];
  visit(root, (node, parent) => {
    const isProperty =
      parent?.type === 'MemberExpression' && !parent.computed && parent.property === node;
    const isKey = parent?.type === 'Property' && parent.key === node && !parent.shorthand;
    const isOwnCall = parent?.type === 'CallExpression' && isPlainSecret(parent);
    if (
      node.type === 'Identifier' &&
      !isProperty &&
      !isKey &&
      !isOwnCall &&
      names.includes(node.name)
    ) {
      found.push(node.name);
    }
  });
  return found;
}

/** Such a call becomes a variable of the environment. @param {Node} call */
const isPlainSecret = (call) =>
  call.callee.name === 'secret' && editsOf(call, new Map()).length > 0;

/** @param {Program} program @param {string} name */
const mentions = (program, name) => namesUsed(program, [name]).length > 0;

/** Variables that the code sets without declaring them, which a module does not allow. @param {Node[]} statements @param {string[]} names */
function globalsIn(statements, names) {
  const declared = new Set([...names, ...Object.getOwnPropertyNames(globalThis)]);
  /** @type {string[]} */
  const set = [];
  statements.forEach((statement) =>
    visit(statement, (node) => {
      [...(node.params ?? []), ...(/Declarat/.test(node.type) ? [node.id] : [])]
        .flatMap(namesIn)
        .forEach((name) => declared.add(name));
      if (node.type === 'AssignmentExpression') {
        set.push(...namesIn(node.left));
      }
    }),
  );
  return set.filter((name) => !declared.has(name));
}
