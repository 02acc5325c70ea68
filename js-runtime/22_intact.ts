// Detects that a tool replaced the language's own functions, which all other tools depend on.
//
// Prevention would break honest polyfills, so this only checks, after each load and each call, and
// notifies Rust, which gives that module an isolate of its own. The difficulty is the cost: a row of
// plain comparisons, which V8 compiles to loads, takes a fraction of a microsecond, and a loop over a
// table several times that. So rows are made of the tables below, together with the snapshot.

import { op_haft_built_ins_changed } from "ext:core/ops";

const { ownKeys } = Reflect;
const { iterator, replace, hasInstance } = Symbol;

const words = (text: string): string[] => text.split(" ");

/** Members of an object that must stay what they are. */
type Kept = readonly [owner: object, names: readonly PropertyKey[]];

const OF_OBJECTS = "functions of Object or of functions, or what all objects have";
const OF_ARRAYS = "functions of Array";

/** Functions of arrays that may be polyfilled, but not taken away. */
const PRESENT = words(
  "at copyWithin entries fill findIndex findLast findLastIndex flat flatMap keys lastIndexOf " +
    "reduceRight reverse toReversed toSorted toSpliced toString unshift values with",
);

/** Returns a function that tells whether the members are what they are now: comparisons in a row. */
function comparing(kept: readonly Kept[]): () => boolean {
  const values: unknown[] = [];
  const variable = (value: unknown): string => `v${values.push(value) - 1}`;
  const rows = kept.flatMap(([owner, names]) => {
    const object = variable(owner);
    return names.map((name) => {
      const member = typeof name === "string" ? `.${name}` : `[${variable(name)}]`;
      return `${object}${member} === ${variable((owner as any)[name])}`;
    });
  });
  return evaluated(rows, values);
}

/** Returns a function that tells whether arrays have what they have now, and nothing that changes all of them. */
function completeArrays(): () => boolean {
  const rows = PRESENT.map((name) => `"${name}" in v0`);
  // A number or `toJSON` there changes every array; a helper with a name of its own does not.
  return evaluated([...rows, '!("0" in v0)', '!("toJSON" in v0)'], [Array.prototype]);
}

/** Makes a function of conditions about the variables `v0`, `v1` and so on. */
function evaluated(conditions: string[], values: unknown[]): () => boolean {
  const names = values.map((_, index) => `v${index}`);
  return new Function(...names, `return () => ${conditions.join(" && ")}`)(...values);
}

const object = Object.prototype;
const objectKeys = ownKeys(object).length;

/** Checks with the words for a change. Globals come first: what is next is asked of them. */
const CHECKS: readonly { changed: string; isIntact: () => boolean }[] = [
  {
    changed: "global constructors",
    isIntact: comparing([
      [globalThis, words("Array Object Promise Map Set Error TypeError JSON RegExp Symbol")],
      [globalThis, words("AbortController AbortSignal")],
    ]),
  },
  {
    changed: OF_OBJECTS,
    isIntact: comparing([
      [Object, words("assign create defineProperty entries freeze fromEntries keys")],
      [Object, words("getOwnPropertyDescriptor getPrototypeOf setPrototypeOf")],
      [Function.prototype, [...words("call apply bind"), hasInstance]],
    ]),
  },
  // Everything that exists, or seems to exist, on every object of all modules.
  { changed: OF_OBJECTS, isIntact: () => ownKeys(object).length === objectKeys },
  {
    changed: OF_ARRAYS,
    isIntact: comparing([
      [
        Array.prototype,
        words("push map join slice filter find forEach some every includes indexOf"),
      ],
      [Array.prototype, [...words("concat reduce pop shift splice sort"), iterator]],
      [Array, words("isArray from")],
    ]),
  },
  { changed: OF_ARRAYS, isIntact: completeArrays() },
  {
    changed: "functions of strings, regular expressions or JSON",
    isIntact: comparing([
      [String.prototype, words("replace includes charCodeAt slice split trim startsWith")],
      [RegExp.prototype, [...words("test exec"), replace]],
      [JSON, words("parse stringify")],
    ]),
  },
  {
    changed: "functions of Map, Set or Promise",
    isIntact: comparing([
      [Map.prototype, words("get set has delete")],
      [Set.prototype, words("add has")],
      [Promise.prototype, words("then")],
      [Promise, words("resolve reject all")],
    ]),
  },
];

function whatChanged(): string | undefined {
  try {
    // By index: a tool may have replaced what iterates.
    for (let at = 0; at < CHECKS.length; at++) {
      const check = CHECKS[at] as (typeof CHECKS)[number];
      if (!check.isIntact()) return check.changed;
    }
    return undefined;
  } catch {
    return "built-ins so that they throw";
  }
}

let isTold = false;

/** Looks whether the built-ins are still the language's own; if not, `moduleId` was the last to run. */
export function checkBuiltIns(moduleId: number): void {
  if (isTold) return;
  const changed = whatChanged();
  if (changed === undefined) return;
  isTold = true;
  op_haft_built_ins_changed(moduleId, changed);
}
