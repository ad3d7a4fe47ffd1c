/**
 * The realm that an agent's code runs in: the language as new, so that nothing the code does to it reaches this program, with
 * the names that Node adds, and at one with Playwright about what is an error and what is a typed array.
 */

import vm from 'node:vm';

/** What of Node's own the code does not see: an agent that wants the machine has its shell. */
const WITHHELD = ['process', 'global'];
const TYPED_ARRAYS = [
  'ArrayBuffer',
  'SharedArrayBuffer',
  'DataView',
  'Int8Array',
  'Uint8Array',
  'Uint8ClampedArray',
  'Int16Array',
  'Uint16Array',
  'Int32Array',
  'Uint32Array',
  'Float32Array',
  'Float64Array',
  'BigInt64Array',
  'BigUint64Array',
];
const ERRORS = [
  'Error',
  'AggregateError',
  'EvalError',
  'RangeError',
  'ReferenceError',
  'SyntaxError',
  'TypeError',
  'URIError',
];

/** @param {object} globals what is in scope; what the code adds to it stays there */
export function createRealm(globals) {
  vm.createContext(globals);
  lendNames(globals);
  lendClasses(globals);
  return globals;
}

function lendNames(globals) {
  const language = new Set(vm.runInContext('Object.getOwnPropertyNames(globalThis)', globals));
  const added = Object.getOwnPropertyNames(globalThis).filter(
    (name) => !language.has(name) && !WITHHELD.includes(name),
  );
  for (const name of [...added, ...TYPED_ARRAYS]) {
    // Many are loaded only when they are used.
    Object.defineProperty(globals, name, {
      configurable: true,
      get: () => globalThis[name],
      set: (value) =>
        Object.defineProperty(globals, name, {
          configurable: true,
          enumerable: true,
          writable: true,
          value,
        }),
    });
  }
}

/** An error of Playwright's is one to the code's `instanceof` as well. */
function lendClasses(globals) {
  for (const name of ERRORS) {
    const own = vm.runInContext(name, globals);
    Object.defineProperty(own, Symbol.hasInstance, {
      value(error) {
        // Classes that the code makes of it inherit this.
        return (
          Function.prototype[Symbol.hasInstance].call(this, error) ||
          (this === own && error instanceof globalThis[name])
        );
      },
    });
  }
}
