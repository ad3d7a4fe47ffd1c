/**
 * The realm in which an agent's code runs: fresh JavaScript built-ins, so that code cannot change those of the runner, plus
 * Node's globals. The realm agrees with Playwright on what is an error and what is a typed array. What the runner needs of
 * promises cannot be changed, because whether code has failed is known only through them. This is not a security boundary.
 */

import vm from 'node:vm';

/** Not shared with the code: an agent that needs the machine has its own shell. */
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

/** @type {Record<string, any>} */
const hostGlobals = globalThis;

/**
 * @param {object} globals what is in scope; globals that the code adds end up here too
 * @returns {Record<string, any>}
 */
export function createRealm(globals) {
  vm.createContext(globals);
  protectPromises(vm.runInContext('Promise', globals), ['then', 'constructor']);
  shareOwnPromises();
  shareGlobals(globals);
  shareErrorClasses(globals);
  return globals;
}

/** Playwright returns promises of this realm to the code. The runner calls their methods, too. */
function shareOwnPromises() {
  protectMethods(Promise, ['all', 'allSettled', 'any', 'race', 'reject', 'resolve']);
  protectPromises(Promise, ['then', 'catch', 'finally', 'constructor']);
}

/**
 * `await` reads `then` and `constructor` of a promise of another realm. Without them it takes a rejected promise for a
 * value, and an error for a success.
 * @param {PromiseConstructor} ofRealm
 * @param {string[]} names
 */
function protectPromises(ofRealm, names) {
  const { prototype } = ofRealm;
  const species = Object.getOwnPropertyDescriptor(ofRealm, Symbol.species);
  Object.defineProperty(ofRealm, Symbol.species, { ...species, configurable: false });
  protectMethods(prototype, names);
  // `util.inspect` finds the name of a class only in a property that is not an accessor.
  const named = Object.create(Object.getPrototypeOf(prototype), {
    constructor: { value: ofRealm },
  });
  Object.setPrototypeOf(prototype, named);
}

/**
 * Makes properties of an object permanent. Others can still be added, and an object that inherits these can have its own:
 * in strict code, assigning to an inherited property that is read-only would throw.
 * @param {object} owner
 * @param {string[]} names
 */
function protectMethods(owner, names) {
  for (const name of names) {
    const descriptor = Object.getOwnPropertyDescriptor(owner, name);
    if (!descriptor?.configurable) {
      continue;
    }
    Object.defineProperty(owner, name, {
      configurable: false,
      enumerable: false,
      get: () => descriptor.value,
      /** @param {unknown} value */
      set(value) {
        if (this !== owner) {
          const own = { configurable: true, enumerable: true, writable: true, value };
          Object.defineProperty(this, name, own);
        }
      },
    });
  }
}

/** @param {object} globals */
function shareGlobals(globals) {
  const builtIns = new Set(vm.runInContext('Object.getOwnPropertyNames(globalThis)', globals));
  const ofNode = Object.getOwnPropertyNames(globalThis).filter(
    (name) => !builtIns.has(name) && !WITHHELD.includes(name),
  );
  for (const name of [...ofNode, ...TYPED_ARRAYS]) {
    // A getter, because Node loads many of its globals only when they are first used.
    Object.defineProperty(globals, name, {
      configurable: true,
      get: () => hostGlobals[name],
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

/**
 * Makes `instanceof Error` in the code true for Playwright's errors as well.
 * @param {object} globals
 */
function shareErrorClasses(globals) {
  for (const name of ERRORS) {
    const realmClass = vm.runInContext(name, globals);
    Object.defineProperty(realmClass, Symbol.hasInstance, {
      /** @param {unknown} error */
      value(error) {
        // Subclasses inherit this method, but must not match every error of the runner.
        return (
          Function.prototype[Symbol.hasInstance].call(this, error) ||
          (this === realmClass && error instanceof hostGlobals[name])
        );
      },
    });
  }
}
