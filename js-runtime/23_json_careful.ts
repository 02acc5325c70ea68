// Writes any JavaScript value as JSON text, by hand.
//
// For plain data the text is the same as that of `JSON.stringify`. Beyond that: a cycle is
// "[Circular]", what throws is "[Threw: …]", what is nested too deeply "[Too deep]"; BigInt is a
// decimal string; Map is an object (or pairs, if a key is not a string), Set and typed arrays are
// lists, RegExp its source, Error has `name`, `message`, its `cause` and own fields. The text is
// built in pieces under a budget, so that a bomb ends early.

/** The text would be longer than it may be. */
export class JsonTooLarge extends Error {
  override name = "JsonTooLarge";
}

const { isArray } = Array;
const isFiniteNumber = Number.isFinite;
const { keys, hasOwn, prototype: objectPrototype, getPrototypeOf } = Object;
const { isView } = ArrayBuffer;
const { prototype: arrayPrototype } = Array;
const stringify = JSON.stringify;

// Rust reads 512 levels (`crates/tool/src/json.rs`), and what is written here stands inside of others.
const MAX_DEPTH = 500;

/** Writes one value. */
export class CarefulJson {
  #left: number;
  #pieces: string[] = [];
  readonly #ancestors: object[] = [];

  constructor(maxChars: number) {
    this.#left = maxChars;
  }

  /** The JSON text of `value`; `null` for what JSON leaves out. */
  write(value: unknown): string {
    if (!this.#value(value, "")) this.#put("null");
    return this.#pieces.join("");
  }

  #put(piece: string): void {
    this.#left -= piece.length;
    if (this.#left < 0) throw new JsonTooLarge();
    this.#pieces[this.#pieces.length] = piece;
  }

  #string(text: string): void {
    // Quoting copies; a text that cannot fit is not copied.
    if (text.length > this.#left) throw new JsonTooLarge();
    this.#put(stringify(text.isWellFormed() ? text : text.toWellFormed()));
  }

  /** Writes `value`, with `before` in front; false, with nothing written, if JSON leaves it out. */
  #value(value: unknown, before: string): boolean {
    switch (typeof value) {
      case "undefined":
      case "function":
      case "symbol":
        return false;
      case "object":
        if (value !== null) return this.#object(value, before);
    }
    this.#put(before);
    if (typeof value === "string") this.#string(value);
    else if (typeof value === "bigint") this.#string(String(value));
    else this.#put(typeof value === "number" && !isFiniteNumber(value) ? "null" : String(value));
    return true;
  }

  #object(value: object, before: string): boolean {
    if (this.#ancestors.includes(value)) return this.#mark("[Circular]", before);
    if (this.#ancestors.length >= MAX_DEPTH) return this.#mark("[Too deep]", before);
    if (bytesOf(value) * 2 > this.#left) throw new JsonTooLarge();
    const { value: instead, threw } = attempt(() => replacement(value));
    if (threw !== undefined) return this.#mark(threw, before);
    this.#ancestors[this.#ancestors.length] = value;
    const written =
      instead === undefined || instead.value === value
        ? this.#members(value, before)
        : this.#value(instead.value, before);
    this.#ancestors.length -= 1;
    return written;
  }

  #members(value: object, before: string): boolean {
    const list = attempt(() => isArray(value));
    if (list.threw !== undefined) return this.#mark(list.threw, before);
    return list.value ? this.#list(value as unknown[], before) : this.#fields(value, before);
  }

  #list(list: unknown[], before: string): boolean {
    this.#put(`${before}[`);
    const length = attempt(() => list.length);
    for (let index = 0; index < (length.value ?? 0); index++) {
      const comma = index === 0 ? "" : ",";
      if (!this.#member(list, index, comma)) this.#put(`${comma}null`);
    }
    this.#put("]");
    return true;
  }

  #fields(object: object, before: string): boolean {
    const names = attempt(() => keys(object));
    if (names.value === undefined) return this.#mark(names.threw ?? "", before);
    this.#put(`${before}{`);
    let comma = "";
    for (const name of names.value) {
      if (name.length > this.#left) throw new JsonTooLarge();
      const key = stringify(name.isWellFormed() ? name : name.toWellFormed());
      if (this.#member(object, name, `${comma}${key}:`)) comma = ",";
    }
    this.#put("}");
    return true;
  }

  #member(holder: any, key: string | number, before: string): boolean {
    const read = attempt(() => holder[key]);
    return read.threw === undefined
      ? this.#value(read.value, before)
      : this.#mark(read.threw, before);
  }

  #mark(text: string, before: string): boolean {
    this.#put(before);
    this.#string(text);
    return true;
  }
}

interface Attempted<T> {
  value?: T;
  threw?: string;
}

// Every look into a tool's object may run its code: getters, proxies, `toJSON`.
function attempt<T>(action: () => T): Attempted<T> {
  try {
    return { value: action() };
  } catch (error) {
    return { threw: `[Threw: ${messageOf(error)}]` };
  }
}

/** Number of bytes of a buffer or a view; 0 for other values. They are shown as lists of numbers. */
export function bytesOf(value: unknown): number {
  return isView(value) || value instanceof ArrayBuffer ? value.byteLength : 0;
}

/** Value that is written in the place of an object. */
class Replaced {
  constructor(readonly value: unknown) {}
}

function replacement(value: any): Replaced | undefined {
  const toJSON = value.toJSON;
  // What a tool put on the prototypes of all objects is not this object's wish.
  if (typeof toJSON === "function" && toJSON !== inherited(value)) {
    return new Replaced(toJSON.call(value, ""));
  }
  if (isPlain(value)) return undefined;
  if (value instanceof Map) return new Replaced(fromMap(value));
  if (value instanceof Set) return new Replaced([...value]);
  if (value instanceof Error) return new Replaced(fromError(value));
  if (value instanceof RegExp) return new Replaced(String(value));
  if (value instanceof ArrayBuffer) return new Replaced(Array.from(new Uint8Array(value)));
  if (isView(value)) return new Replaced(fromView(value));
  if (value instanceof String || value instanceof Number || value instanceof Boolean) {
    return new Replaced(value.valueOf());
  }
  return undefined;
}

function inherited(value: object): unknown {
  return ((isArray(value) ? arrayPrototype : objectPrototype) as any).toJSON;
}

function isPlain(value: object): boolean {
  const prototype = getPrototypeOf(value);
  return prototype === objectPrototype || prototype === arrayPrototype || prototype === null;
}

function fromMap(map: Map<unknown, unknown>): unknown {
  const pairs = [...map];
  return pairs.every(([key]) => typeof key === "string")
    ? Object.fromEntries(pairs as [string, unknown][])
    : pairs;
}

function fromError(error: Error): Record<string, unknown> {
  const shown: Record<string, unknown> = { name: error.name, message: error.message };
  if (hasOwn(error, "cause")) shown["cause"] = error.cause;
  if (error instanceof AggregateError) shown["errors"] = error.errors;
  return Object.assign(shown, error);
}

function fromView(view: ArrayBufferView): unknown[] {
  if (view instanceof DataView) {
    return Array.from(new Uint8Array(view.buffer, view.byteOffset, view.byteLength));
  }
  return Array.from(view as unknown as ArrayLike<unknown>);
}

/** The message of anything that can be thrown. */
export function messageOf(error: unknown): string {
  try {
    return error instanceof Error ? error.message : String(error);
  } catch {
    return "an error that cannot be shown";
  }
}
