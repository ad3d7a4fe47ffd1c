/** Makes a script of an agent's code: top-level `await` and `return`, and the last expression's value as the result. */

import vm from 'node:vm';

import { parse } from 'acorn';

/** The name of the code in stack traces. */
export const FILE = 'code.js';
const HEAD = '(async () => {';

/** Code that is no JavaScript, with the place in it. */
export class CodeError extends Error {
  name = 'SyntaxError';
}

/**
 * @param {string} code
 * @returns {{ script: vm.Script, needsPage: boolean }} `needsPage`: the code uses `page` before it sets it.
 */
export function compile(code) {
  const program = parseCode(code);
  const last = program.body.at(-1);
  let body = code;
  if (last?.type === 'ExpressionStatement') {
    const expression = code.slice(last.start, last.end).replace(/;$/, '');
    body = `${code.slice(0, last.start)}return (${expression}\n);`;
  }
  try {
    // The head takes no room: columns of the first line are the ones of the code.
    const script = new vm.Script(`${HEAD}${body}\n})()`, { filename: FILE, columnOffset: -HEAD.length });
    return { script, needsPage: readsPage(program) };
  } catch (error) {
    throw new CodeError(error.message);
  }
}

function parseCode(code) {
  try {
    return parse(code, {
      ecmaVersion: 'latest',
      sourceType: 'script',
      allowAwaitOutsideFunction: true,
      allowReturnOutsideFunction: true,
    });
  } catch (error) {
    if (!(error instanceof SyntaxError) || !error.loc) {
      throw error;
    }
    throw new CodeError(describe(code, error));
  }
}

function describe(code, error) {
  const { line, column } = error.loc;
  const source = code.split('\n')[line - 1] ?? '';
  const reason = error.message.replace(/ \(\d+:\d+\)$/, '');
  const advice = /'import' and 'export'/.test(reason) ? '. There are no modules here: `page`, `context`, `browser` are there already' : '';
  // A very long line is shown around its fault.
  const from = Math.max(0, column - 100);
  return `${reason}${advice}\nline ${line}, column ${column + 1}:\n  ${source.slice(from, column + 60)}\n  ${' '.repeat(column - from)}^`;
}

/** Whether the scope's `page` is read before the code sets it, going by the text. A `page` of the code's own does not count. */
function readsPage(program) {
  let answer;
  const visit = (node, own) => {
    if (answer !== undefined || !node || typeof node.type !== 'string') {
      return;
    }
    if (node.type === 'Identifier') {
      answer = node.name === 'page' && !own ? true : undefined;
      return;
    }
    if (node.type === 'AssignmentExpression' && node.operator === '=' && node.left.type === 'Identifier' && node.left.name === 'page') {
      visit(node.right, own);
      answer ??= own ? undefined : false;
      return;
    }
    const inner = own || declaresPage(node);
    for (const [key, value] of Object.entries(node)) {
      const isName = (key === 'property' || key === 'key') && !node.computed && !(key === 'key' && node.shorthand);
      if (!isName) {
        [value].flat().forEach((child) => visit(child, inner));
      }
    }
  };
  visit(program, false);
  return answer ?? false;
}

function declaresPage(node) {
  const names = (pattern) => {
    switch (pattern?.type) {
      case 'Identifier': return [pattern.name];
      case 'ObjectPattern': return pattern.properties.flatMap((property) => names(property.value ?? property.argument));
      case 'ArrayPattern': return pattern.elements.flatMap(names);
      case 'AssignmentPattern': return names(pattern.left);
      case 'RestElement': return names(pattern.argument);
      default: return [];
    }
  };
  const patterns = [
    ...(node.params ?? []),
    ...[node.body ?? []].flat().filter((child) => child.type === 'VariableDeclaration').flatMap((child) => child.declarations.map(({ id }) => id)),
    ...[node.left ?? []].flat().filter((child) => child.type === 'VariableDeclaration').flatMap((child) => child.declarations.map(({ id }) => id)),
  ];
  return patterns.flatMap(names).includes('page');
}
