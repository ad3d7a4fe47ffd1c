/**
 * Compiles an agent's code into a script: with top-level `await` and `return`, and the value of the last expression as the
 * result. Never runs it.
 */

/** @import { Options, Program } from 'acorn' */

import vm from 'node:vm';

import { parse } from 'acorn';

/** The file name of the code in stack traces. */
export const FILE = 'code.js';
const PREFIX = '(async () => {';
/** How many braces are tried as the start of an object. For each, the code is parsed once. */
const MAX_BRACES_TRIED = 20;

/** A syntax error in the code, with its position in the message. */
export class CodeError extends Error {
  name = 'SyntaxError';
}

/** @type {Options} */
const PARSE_OPTIONS = {
  ecmaVersion: 'latest',
  sourceType: 'script',
  allowAwaitOutsideFunction: true,
  allowReturnOutsideFunction: true,
};

/** @typedef {{ code: string, program: Program }} Parsed */
/** @typedef {{ line: number, column: number }} Position `column` starts at 0, as acorn counts */

/**
 * @param {string} text
 * @returns {{ script: vm.Script, needsPage: boolean }} `needsPage`: the code may read `page` before it sets it
 */
export function compile(text) {
  const { code, program } = parseCode(withoutShebang(text));
  const last = lastStatement(program);
  let body = code;
  if (last?.type === 'ExpressionStatement') {
    const expression = code.slice(last.start, last.end).replace(/;$/, '');
    body = `${code.slice(0, last.start)}return (${expression}\n);`;
  }
  try {
    return { script: toScript(body), needsPage: readsPage(program) };
  } catch (error) {
    const { message } = /** @type {Error} */ (error);
    throw new CodeError(withPosition(code, message, positionInV8(code)));
  }
}

/** A shebang is valid only at the start of a script, and the script starts with the prefix. @param {string} text */
export const withoutShebang = (text) => text.replace(/^#!/, '//');

/**
 * The prefix does not count: columns of the first line are those of the code.
 * @param {string} body
 */
const toScript = (body) =>
  new vm.Script(`${PREFIX}${body}\n})()`, { filename: FILE, columnOffset: -PREFIX.length });

/** @param {Program} program */
export const lastStatement = ({ body }) => body.findLast(({ type }) => type !== 'EmptyStatement');

/**
 * Parses the code. If it ends with braces that can be an object, they are put in parentheses, as Node's REPL does.
 * @param {string} code
 * @returns {Parsed}
 */
export function parseCode(code) {
  try {
    const program = parse(code, PARSE_OPTIONS);
    const last = lastStatement(program);
    const asObject = last?.type === 'BlockStatement' ? parseAsObject(code, last.start) : undefined;
    return asObject ?? { code, program };
  } catch (error) {
    // acorn adds these two to the error.
    const { pos, loc } = /** @type {{ pos?: number, loc?: Position }} */ (error);
    if (!(error instanceof SyntaxError) || !loc) {
      throw error;
    }
    const message = error.message.replace(/ \(\d+:\d+\)$/, '');
    return parseWithTrailingObject(code, pos) ?? fail(withPosition(code, message, loc));
  }
}

/**
 * @param {string} message
 * @returns {never}
 */
function fail(message) {
  throw new CodeError(message);
}

/**
 * `{ a: 1, b: 2 }` is not a valid block. The object may start at any brace before the error where a statement could.
 * @param {string} code
 * @param {number | undefined} errorAt
 */
function parseWithTrailingObject(code, errorAt) {
  const braces = [...code.slice(0, errorAt).matchAll(/(?<=^\s*|[;}\n]\s*)\{/g)];
  for (const { index } of braces.slice(-MAX_BRACES_TRIED).reverse()) {
    const parsed = parseAsObject(code, index);
    if (parsed) {
      return parsed;
    }
  }
  return undefined;
}

/**
 * Parses everything from a brace to the end as an object, if a statement can start there.
 * @param {string} code
 * @param {number} from
 * @returns {Parsed | undefined}
 */
function parseAsObject(code, from) {
  const [before, braces] = [code.slice(0, from), code.slice(from).replace(/[;\s]+$/, '')];
  try {
    parse(before, PARSE_OPTIONS);
    const wrapped = `${before};(${braces}\n)`;
    const program = parse(wrapped, PARSE_OPTIONS);
    const last = program.body.at(-1);
    return last?.type === 'ExpressionStatement' && last.expression.type === 'ObjectExpression'
      ? { code: wrapped, program }
      : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Where V8 rejects code that acorn accepts. V8 reports the position only in the excerpt at the top of the stack trace.
 * @param {string} code
 * @returns {Position | undefined}
 */
function positionInV8(code) {
  try {
    toScript(code);
  } catch (error) {
    const { stack = '' } = /** @type {Error} */ (error);
    const [, line, , indent = ''] = /:(\d+)\n(.*)\n( *)\^/.exec(stack) ?? [];
    return { line: Number(line), column: indent.length - (line === '1' ? PREFIX.length : 0) };
  }
  return undefined;
}

/**
 * Adds the position and an excerpt of the code to a message.
 * @param {string} code
 * @param {string} message
 * @param {Position} [position]
 */
function withPosition(code, message, { line, column } = { line: NaN, column: 0 }) {
  const source = code.split('\n')[line - 1];
  if (source === undefined) {
    return message;
  }
  const advice = /'import' and 'export'/.test(message)
    ? '. Modules are not available; `page`, `context` and `browser` are already in scope'
    : '';
  // Of a very long line, only the part around the error is shown.
  const from = Math.max(0, column - 100);
  const excerpt = `  ${source.slice(from, column + 60)}\n  ${' '.repeat(column - from)}^`;
  return `${message}${advice}\nline ${line}, column ${column + 1}:\n${excerpt}`;
}

/**
 * A node of the syntax tree, walked without regard to its type.
 * @typedef {any} Node
 */

/**
 * Whether the code may read the `page` of the scope before it sets it, judging by the syntax tree. A variable named `page`
 * that the code declares does not count.
 * @param {Program} program
 */
export function readsPage(program) {
  if (declaresPage(program)) {
    return false;
  }
  for (const statement of program.body) {
    // Only an assignment that is a statement of its own is certain to run; one in a condition, loop or function is not.
    if (statement.type === 'ExpressionStatement' && setsPage(statement.expression)) {
      return containsRead(/** @type {Node} */ (statement.expression).right);
    }
    if (containsRead(statement)) {
      return true;
    }
  }
  return false;
}

/** @param {Node} node */
const setsPage = (node) =>
  node?.type === 'AssignmentExpression' &&
  node.operator === '=' &&
  node.left.type === 'Identifier' &&
  node.left.name === 'page';

/**
 * @param {Node} node
 * @returns {boolean}
 */
function containsRead(node) {
  if (!node || typeof node.type !== 'string' || declaresPage(node)) {
    return false;
  }
  if (node.type === 'Identifier') {
    return node.name === 'page';
  }
  const isName = (/** @type {string} */ key) =>
    (key === 'property' || key === 'key') && !node.computed && !(key === 'key' && node.shorthand);
  const isSet = (/** @type {string} */ key) => key === 'left' && setsPage(node);
  return Object.entries(node).some(
    ([key, value]) => !isName(key) && !isSet(key) && [value].flat().some(containsRead),
  );
}

/**
 * Whether a function, block or loop declares a `page` of its own.
 * @param {Node} node
 */
function declaresPage(node) {
  const declared = [node.body ?? [], node.left ?? []]
    .flat()
    .filter((child) => child.type === 'VariableDeclaration')
    .flatMap((child) => child.declarations.map((/** @type {Node} */ { id }) => id));
  return [...(node.params ?? []), ...declared].flatMap(namesIn).includes('page');
}

/**
 * The variable names in a binding pattern.
 * @param {Node} pattern
 * @returns {string[]}
 */
export function namesIn(pattern) {
  switch (pattern?.type) {
    case 'Identifier':
      return [pattern.name];
    case 'ObjectPattern':
      return pattern.properties.flatMap((/** @type {Node} */ property) =>
        namesIn(property.value ?? property.argument),
      );
    case 'ArrayPattern':
      return pattern.elements.flatMap(namesIn);
    case 'AssignmentPattern':
      return namesIn(pattern.left);
    case 'RestElement':
      return namesIn(pattern.argument);
    default:
      return [];
  }
}
