// Detects that a tool replaced the language's own functions, which all other tools depend on.
//
// Prevention would break honest polyfills, so this only checks, after each load and each call, and
// notifies Rust, which gives that module an isolate of its own. The difficulty is the cost: a row of
// plain comparisons, which V8 compiles to loads, takes a fraction of a microsecond. Listing the keys
// of `Array.prototype` alone would take three times as long as all of this.

import { op_haft_built_ins_changed } from "ext:core/ops";

const { ownKeys } = Reflect;

const array = Array.prototype as any;
const string = String.prototype as any;
const func = Function.prototype as any;
const regexp = RegExp.prototype as any;
const object = Object.prototype;
const map = Map.prototype as any;
const set = Set.prototype as any;
const promise = Promise.prototype as any;
const world = globalThis as any;

const { iterator, replace, hasInstance } = Symbol;
const objectKeys = ownKeys(object).length;

const pushed = array.push;
const mapped = array.map;
const joined = array.join;
const sliced = array.slice;
const filtered = array.filter;
const found = array.find;
const each = array.forEach;
const some = array.some;
const every = array.every;
const included = array.includes;
const indexed = array.indexOf;
const concatenated = array.concat;
const reduced = array.reduce;
const popped = array.pop;
const shifted = array.shift;
const spliced = array.splice;
const sorted = array.sort;
const iterated = array[iterator];
const called = func.call;
const applied = func.apply;
const bound = func.bind;
const isInstance = func[hasInstance];
const replaced = string.replace;
const includes = string.includes;
const charCode = string.charCodeAt;
const cut = string.slice;
const split = string.split;
const trimmed = string.trim;
const starts = string.startsWith;
const tested = regexp.test;
const executed = regexp.exec;
const regexpReplaced = regexp[replace];
const mapGet = map.get;
const mapSet = map.set;
const mapHas = map.has;
const mapDelete = map.delete;
const setAdd = set.add;
const setHas = set.has;
const then = promise.then;
const { parse, stringify } = JSON;
const { isArray, from } = Array;
const {
  assign,
  create,
  defineProperty,
  entries,
  freeze,
  fromEntries,
  getOwnPropertyDescriptor,
  getPrototypeOf,
  keys,
  setPrototypeOf,
} = Object;
const { resolve, reject, all } = Promise;
const world0 = {
  Array,
  Object,
  Promise,
  Map,
  Set,
  Error,
  TypeError,
  JSON,
  RegExp,
  Symbol,
  AbortController,
  AbortSignal: world.AbortSignal,
};

function areArraysIntact(): boolean {
  return (
    array.push === pushed &&
    array.map === mapped &&
    array.join === joined &&
    array.slice === sliced &&
    array.filter === filtered &&
    array.find === found &&
    array.forEach === each &&
    array.some === some &&
    array.every === every &&
    array.includes === included &&
    array.indexOf === indexed &&
    array.concat === concatenated &&
    array.reduce === reduced &&
    array.pop === popped &&
    array.shift === shifted &&
    array.splice === spliced &&
    array.sort === sorted &&
    array[iterator] === iterated &&
    Array.isArray === isArray &&
    Array.from === from &&
    // A number or `toJSON` there changes every array; a helper with a name of its own does not.
    !("0" in array) &&
    !("toJSON" in array) &&
    isArrayComplete()
  );
}

// The rest may be polyfilled, but not taken away.
function isArrayComplete(): boolean {
  return (
    "at" in array &&
    "copyWithin" in array &&
    "entries" in array &&
    "fill" in array &&
    "findIndex" in array &&
    "findLast" in array &&
    "findLastIndex" in array &&
    "flat" in array &&
    "flatMap" in array &&
    "keys" in array &&
    "lastIndexOf" in array &&
    "reduceRight" in array &&
    "reverse" in array &&
    "toReversed" in array &&
    "toSorted" in array &&
    "toSpliced" in array &&
    "toString" in array &&
    "unshift" in array &&
    "values" in array &&
    "with" in array
  );
}

function areObjectsIntact(): boolean {
  return (
    Object.assign === assign &&
    Object.create === create &&
    Object.defineProperty === defineProperty &&
    Object.entries === entries &&
    Object.freeze === freeze &&
    Object.fromEntries === fromEntries &&
    Object.getOwnPropertyDescriptor === getOwnPropertyDescriptor &&
    Object.getPrototypeOf === getPrototypeOf &&
    Object.keys === keys &&
    Object.setPrototypeOf === setPrototypeOf &&
    func.call === called &&
    func.apply === applied &&
    func.bind === bound &&
    func[hasInstance] === isInstance &&
    // Everything that exists, or seems to exist, on every object of all modules.
    ownKeys(object).length === objectKeys
  );
}

function areTextsIntact(): boolean {
  return (
    string.replace === replaced &&
    string.includes === includes &&
    string.charCodeAt === charCode &&
    string.slice === cut &&
    string.split === split &&
    string.trim === trimmed &&
    string.startsWith === starts &&
    regexp.test === tested &&
    regexp.exec === executed &&
    regexp[replace] === regexpReplaced &&
    JSON.parse === parse &&
    JSON.stringify === stringify
  );
}

function areContainersIntact(): boolean {
  return (
    map.get === mapGet &&
    map.set === mapSet &&
    map.has === mapHas &&
    map.delete === mapDelete &&
    set.add === setAdd &&
    set.has === setHas &&
    promise.then === then &&
    Promise.resolve === resolve &&
    Promise.reject === reject &&
    Promise.all === all
  );
}

function areGlobalsIntact(): boolean {
  return (
    world.Array === world0.Array &&
    world.Object === world0.Object &&
    world.Promise === world0.Promise &&
    world.Map === world0.Map &&
    world.Set === world0.Set &&
    world.Error === world0.Error &&
    world.TypeError === world0.TypeError &&
    world.JSON === world0.JSON &&
    world.RegExp === world0.RegExp &&
    world.Symbol === world0.Symbol &&
    world.AbortController === world0.AbortController &&
    world.AbortSignal === world0.AbortSignal
  );
}

function whatChanged(): string | undefined {
  try {
    // Globals first: what is asked next is asked of them.
    if (!areGlobalsIntact()) return "global constructors";
    if (!areObjectsIntact()) return "functions of Object or of functions, or what all objects have";
    if (!areArraysIntact()) return "functions of Array";
    if (!areTextsIntact()) return "functions of strings, regular expressions or JSON";
    if (!areContainersIntact()) return "functions of Map, Set or Promise";
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
