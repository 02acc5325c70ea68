// Arguments that nothing can change between the question and the start of a call.
//
// Checked arguments are copied once, right after the check: every getter and every proxy is read that one
// time. What is shown is written from this copy, and `approval`, `formatApprovalDetails` and
// `execute` get a copy of it each, so that what one of them changes reaches none of the others.

const { isArray } = Array;
const { getPrototypeOf, create, defineProperty, prototype: objectPrototype } = Object;
const { ownKeys, apply } = Reflect;
const stringify = JSON.stringify;
const NativeMap = Map;
const NativeSet = Set;
const NativeDate = Date;
const NativeRegExp = RegExp;
const toIsoString = Date.prototype.toISOString;
const timeOf = Date.prototype.getTime;
const mapEach = Map.prototype.forEach;
const mapSet = Map.prototype.set;
const mapGet = Map.prototype.get;
const setEach = Set.prototype.forEach;
const setAdd = Set.prototype.add;
const isEnumerable = Object.prototype.propertyIsEnumerable;
const isFiniteNumber = Number.isFinite;
const isWellFormed = String.prototype.isWellFormed;
const toWellFormed = String.prototype.toWellFormed;
const sourceOf = Object.getOwnPropertyDescriptor(RegExp.prototype, "source")!.get!;
const flagsOf = Object.getOwnPropertyDescriptor(RegExp.prototype, "flags")!.get!;

/** Deeper than JSON text can be that came to us; what is deeper is not copied. */
const MAX_DEPTH = 512;

/** Copies of one object, so that a cycle stays one. */
type Copies = Map<object, unknown>;

/**
 * A copy of checked arguments that shares nothing with them. Instances of a tool's own classes and
 * functions cannot be copied; `frozenText` shows what is in them, so that a change is noticed.
 */
export function frozenCopy(value: unknown): unknown {
  return copy(value, new NativeMap(), 0);
}

function copy(value: any, copies: Copies, depth: number): unknown {
  if (typeof value !== "object" || value === null || depth > MAX_DEPTH) return value;
  const known = apply(mapGet, copies, [value]);
  if (known !== undefined) return known;
  if (isArray(value)) {
    const list: unknown[] = [];
    apply(mapSet, copies, [value, list]);
    const { length } = value;
    for (let index = 0; index < length; index++)
      put(list, index, copy(value[index], copies, depth + 1));
    return list;
  }
  const prototype = getPrototypeOf(value);
  if (prototype === objectPrototype || prototype === null) {
    const fields = prototype === null ? create(null) : {};
    apply(mapSet, copies, [value, fields]);
    for (const key of ownKeys(value)) {
      if (apply(isEnumerable, value, [key])) put(fields, key, copy(value[key], copies, depth + 1));
    }
    return fields;
  }
  const built = copyOfBuiltIn(value, copies, depth);
  return built ?? value;
}

// `fields[key] = …` would call a setter of `__proto__`.
function put(target: object, key: string | symbol | number, value: unknown): void {
  const slot = create(null);
  slot.value = value;
  slot.writable = true;
  slot.enumerable = true;
  slot.configurable = true;
  defineProperty(target, key, slot);
}

function copyOfBuiltIn(value: any, copies: Copies, depth: number): unknown {
  switch (getPrototypeOf(value)) {
    case NativeDate.prototype:
      return new NativeDate(apply(timeOf, value, []));
    case NativeRegExp.prototype:
      return new NativeRegExp(apply(sourceOf, value, []), apply(flagsOf, value, []));
    case NativeMap.prototype: {
      const map = new NativeMap();
      apply(mapSet, copies, [value, map]);
      const each = (item: unknown, key: unknown) =>
        apply(mapSet, map, [copy(key, copies, depth + 1), copy(item, copies, depth + 1)]);
      apply(mapEach, value, [each]);
      return map;
    }
    case NativeSet.prototype: {
      const set = new NativeSet();
      apply(mapSet, copies, [value, set]);
      apply(setEach, value, [
        (item: unknown) => apply(setAdd, set, [copy(item, copies, depth + 1)]),
      ]);
      return set;
    }
    default:
      return undefined;
  }
}

/** The text of a frozen copy for the user, as JSON. `toJSON` methods are not called. */
export function frozenText(value: unknown): string {
  return write(value, 0, new NativeSet()) ?? "null";
}

function write(value: any, depth: number, above: Set<unknown>): string | undefined {
  switch (typeof value) {
    case "string":
      return quoted(value);
    case "number":
      return isFiniteNumber(value) ? `${value}` : quoted(`${value}`);
    case "boolean":
      return `${value}`;
    case "bigint":
      return quoted(`${value}n`);
    case "function":
    case "symbol":
      return quoted(`[${typeof value}]`);
    case "undefined":
      return undefined;
  }
  if (value === null) return "null";
  if (depth > MAX_DEPTH) return quoted("[Too deep]");
  if (above.has(value)) return quoted("[Circular]");
  above.add(value);
  const text = writeObject(value, depth, above);
  above.delete(value);
  return text;
}

function writeObject(value: any, depth: number, above: Set<unknown>): string {
  if (isArray(value)) return writeList(value, depth, above);
  switch (getPrototypeOf(value)) {
    case NativeDate.prototype:
      return quoted(
        isFiniteNumber(apply(timeOf, value, [])) ? apply(toIsoString, value, []) : "Invalid Date",
      );
    case NativeRegExp.prototype:
      return quoted(`/${apply(sourceOf, value, [])}/${apply(flagsOf, value, [])}`);
    case NativeMap.prototype: {
      const pairs: unknown[] = [];
      apply(mapEach, value, [
        (item: unknown, key: unknown) => put(pairs, pairs.length, [key, item]),
      ]);
      return writeList(pairs, depth, above);
    }
    case NativeSet.prototype: {
      const items: unknown[] = [];
      apply(setEach, value, [(item: unknown) => put(items, items.length, item)]);
      return writeList(items, depth, above);
    }
  }
  let text = "{";
  for (const key of ownKeys(value)) {
    if (typeof key !== "string" || !apply(isEnumerable, value, [key])) continue;
    const item = write(value[key], depth + 1, above);
    if (item !== undefined) text += `${text === "{" ? "" : ","}${quoted(key)}:${item}`;
  }
  return `${text}}`;
}

function writeList(list: unknown[], depth: number, above: Set<unknown>): string {
  let text = "[";
  for (let index = 0; index < list.length; index++) {
    text += `${index === 0 ? "" : ","}${write(list[index], depth + 1, above) ?? "null"}`;
  }
  return `${text}]`;
}

function quoted(text: string): string {
  return stringify(apply(isWellFormed, text, []) ? text : apply(toWellFormed, text, []));
}
