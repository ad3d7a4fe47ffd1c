/** Makes a script of an agent's code: top-level `await` and `return`, and the last expression's value as the result. */

import vm from 'node:vm';

import { parse } from 'acorn';

/** The name of the code in stack traces. */
export const FILE = 'code.js';
const HEAD = '(async () => {';
/** Places where an object may begin that are tried; each costs reading the code once. */
const MOST_BRACES = 20;

/** Code that is no JavaScript, with the place in it. */
export class CodeError extends Error {
  name = 'SyntaxError';
}

const PARSED_AS = {
  ecmaVersion: 'latest',
  sourceType: 'script',
  allowAwaitOutsideFunction: true,
  allowReturnOutsideFunction: true,
};

/**
 * @param {string} text
 * @returns {{ script: vm.Script, needsPage: boolean }} `needsPage`: the code uses `page` before it is certain to have set it.
 */
export function compile(text) {
  // A first line for a shell says nothing here, and is one only at the very beginning.
  const { code, program } = parseCode(text.replace(/^#!/, '//'));
  const last = program.body.findLast(isSaid);
  let body = code;
  if (last?.type === 'ExpressionStatement') {
    const expression = code.slice(last.start, last.end).replace(/;$/, '');
    body = `${code.slice(0, last.start)}return (${expression}\n);`;
  }
  try {
    return { script: toScript(body), needsPage: readsPage(program) };
  } catch (error) {
    throw new CodeError(placed(code, { message: error.message, ...placeOf(code) }));
  }
}

/** The head takes no room: columns of the first line are the ones of the code. */
const toScript = (body) =>
  new vm.Script(`${HEAD}${body}\n})()`, { filename: FILE, columnOffset: -HEAD.length });

/** The code is given back with parentheses around braces at its end that are a value. */
function parseCode(code) {
  try {
    const program = parse(code, PARSED_AS);
    const last = program.body.findLast(isSaid);
    return (last?.type === 'BlockStatement' && asValue(code, last.start)) || { code, program };
  } catch (error) {
    if (!(error instanceof SyntaxError) || !error.loc) {
      throw error;
    }
    // `{ a: 1, b: 2 }` is no block either: it may begin where a statement could, before the fault.
    const begins = [...code.slice(0, error.pos).matchAll(/(?<=^\s*|[;}\n]\s*)\{/g)]
      .slice(-MOST_BRACES)
      .reverse();
    for (const { index } of begins) {
      const found = asValue(code, index);
      if (found) {
        return found;
      }
    }
    throw new CodeError(
      placed(code, { message: error.message.replace(/ \(\d+:\d+\)$/, ''), ...error.loc }),
    );
  }
}

const isSaid = ({ type }) => type !== 'EmptyStatement';

/** Braces from here to the end as an object, if a statement can begin here and they can be one, as Node's prompt takes them. */
function asValue(code, from) {
  const [before, braces] = [code.slice(0, from), code.slice(from).replace(/[;\s]+$/, '')];
  try {
    parse(before, PARSED_AS);
    const wrapped = `${before};(${braces}\n)`;
    const program = parse(wrapped, PARSED_AS);
    return program.body.at(-1).expression?.type === 'ObjectExpression'
      ? { code: wrapped, program }
      : undefined;
  } catch {
    return undefined;
  }
}

/** Where V8 refuses code that the parser took: it says so only in its own picture of the line. */
function placeOf(code) {
  try {
    toScript(code);
  } catch (error) {
    const [, line, , caret] = /:(\d+)\n(.*)\n( *)\^/.exec(error.stack) ?? [];
    return { line: Number(line), column: (caret ?? '').length - (line === '1' ? HEAD.length : 0) };
  }
  return {};
}

function placed(code, { message, line, column }) {
  const advice = /'import' and 'export'/.test(message)
    ? '. There are no modules here: `page`, `context`, `browser` are there already'
    : '';
  const source = code.split('\n')[line - 1];
  if (source === undefined) {
    return message;
  }
  // A very long line is shown around its fault.
  const from = Math.max(0, column - 100);
  return `${message}${advice}\nline ${line}, column ${column + 1}:\n  ${source.slice(from, column + 60)}\n  ${' '.repeat(column - from)}^`;
}

/** Whether the scope's `page` may be read before the code sets it, going by the text. A `page` of the code's own does not count. */
function readsPage(program) {
  if (declaresPage(program)) {
    return false;
  }
  for (const statement of program.body) {
    // What stands in a condition, a loop or a function may not happen: only a statement of its own is certain.
    if (setsPage(statement.expression)) {
      return reads(statement.expression.right);
    }
    if (reads(statement)) {
      return true;
    }
  }
  return false;
}

const setsPage = (node) =>
  node?.type === 'AssignmentExpression' &&
  node.operator === '=' &&
  node.left.type === 'Identifier' &&
  node.left.name === 'page';

function reads(node) {
  if (!node || typeof node.type !== 'string' || declaresPage(node)) {
    return false;
  }
  if (node.type === 'Identifier') {
    return node.name === 'page';
  }
  const isName = (key) =>
    (key === 'property' || key === 'key') && !node.computed && !(key === 'key' && node.shorthand);
  const isSet = (key) => key === 'left' && setsPage(node);
  return Object.entries(node).some(
    ([key, value]) => !isName(key) && !isSet(key) && [value].flat().some(reads),
  );
}

function declaresPage(node) {
  const names = (pattern) => {
    switch (pattern?.type) {
      case 'Identifier':
        return [pattern.name];
      case 'ObjectPattern':
        return pattern.properties.flatMap((property) => names(property.value ?? property.argument));
      case 'ArrayPattern':
        return pattern.elements.flatMap(names);
      case 'AssignmentPattern':
        return names(pattern.left);
      case 'RestElement':
        return names(pattern.argument);
      default:
        return [];
    }
  };
  const patterns = [
    ...(node.params ?? []),
    ...[node.body ?? []]
      .flat()
      .filter((child) => child.type === 'VariableDeclaration')
      .flatMap((child) => child.declarations.map(({ id }) => id)),
    ...[node.left ?? []]
      .flat()
      .filter((child) => child.type === 'VariableDeclaration')
      .flatMap((child) => child.declarations.map(({ id }) => id)),
  ];
  return patterns.flatMap(names).includes('page');
}
