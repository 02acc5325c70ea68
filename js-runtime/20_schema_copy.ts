// Copies a JSON Schema that an author wrote by hand into plain data of our own.
//
// Refuses what JSON cannot carry (cycles, BigInt, getters that throw, other libraries' schemas),
// naming the place, so that one bad schema costs one tool and not the whole list. Functions,
// symbols and `undefined` are left out, as JSON does: that is how TypeBox's markers go.

/** A JSON Schema that is an object. */
export type Schema = Record<string, any>;

/** A schema that cannot be sent to a model. The message names the place. */
export class SchemaError extends Error {
  override name = "SchemaError";
}

const { isArray } = Array;
const isFiniteNumber = Number.isFinite;
const { keys, defineProperty } = Object;

// Bounds for proxies that never end; schemas written by hand are far smaller. Rust reads 512 levels
// (`crates/tool/src/json.rs`), and the schema stands inside of others.
const MAX_DEPTH = 500;
const MAX_NODES = 100_000;
const MAX_SHOWN_STEPS = 8;

interface Copying {
  nodes: number;
  readonly ancestors: object[];
  readonly path: string[];
}

/** A deep copy of `value` that consists of plain JSON data only. */
export function copySchema(value: object): Schema {
  return copy(value, { nodes: 0, ancestors: [], path: [] }) as Schema;
}

/** True for an object that is not an array. */
export function isSchemaObject(value: unknown): value is Schema {
  return typeof value === "object" && value !== null && !isArray(value);
}

/** Sets a key that may be called `__proto__`. */
export function put(target: Schema, key: string, value: unknown): void {
  if (key !== "__proto__") target[key] = value;
  else defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });
}

function copy(value: unknown, state: Copying): unknown {
  switch (typeof value) {
    case "string":
    case "boolean":
      return value;
    case "number":
      if (!isFiniteNumber(value)) refuse(state, `is ${value}, which JSON cannot carry`);
      return value;
    case "bigint":
      return refuse(state, `is the BigInt ${value}n, which JSON cannot carry: write a number`);
    case "object":
      return value === null ? null : copyObject(value, state);
    default:
      return undefined;
  }
}

function copyObject(value: object, state: Copying): unknown {
  if (state.ancestors.includes(value)) refuse(state, "contains itself: use `$ref`");
  if (state.ancestors.length >= MAX_DEPTH) refuse(state, "is nested too deeply");
  if (++state.nodes > MAX_NODES) refuse(state, "is too large for a schema");
  state.ancestors.push(value);
  const copied = isArray(value) ? copyList(value, state) : copyFields(value as Schema, state);
  state.ancestors.pop();
  return copied;
}

function copyList(list: unknown[], state: Copying): unknown[] {
  const copied: unknown[] = [];
  for (let index = 0; index < list.length; index++) {
    const item = copyAt(list as unknown as Schema, String(index), state);
    if (item !== undefined) copied.push(item);
  }
  return copied;
}

function copyFields(fields: Schema, state: Copying): unknown {
  const library = librarySchema(fields);
  if (library !== undefined) {
    refuse(state, `is a ${library} schema inside a JSON Schema: write the whole in one of the two`);
  }
  const toJSON = read(fields, "toJSON", state);
  if (typeof toJSON === "function") {
    return copy(
      guarded(() => toJSON.call(fields), state),
      state,
    );
  }
  const copied: Schema = {};
  for (const key of guarded(() => keys(fields), state)) {
    const field = copyAt(fields, key, state);
    if (field !== undefined) put(copied, key, field);
  }
  return copied;
}

// A getter of the author runs here, once.
function copyAt(holder: Schema, key: string, state: Copying): unknown {
  state.path.push(key);
  const copied = copy(read(holder, key, state), state);
  state.path.pop();
  return copied;
}

function read(holder: Schema, key: string, state: Copying): any {
  return guarded(() => holder[key], state);
}

function guarded<T>(action: () => T, state: Copying): T {
  try {
    return action();
  } catch (error) {
    return refuse(state, `cannot be read: ${error instanceof Error ? error.message : "it throws"}`);
  }
}

function librarySchema(value: Schema): string | undefined {
  try {
    if (isSchemaObject(value["_zod"])) return "zod";
    if (typeof value["_def"]?.typeName === "string") return "zod 3";
  } catch {
    // A getter that throws is reported with its own place.
  }
  return undefined;
}

function refuse(state: Copying, problem: string): never {
  const { path } = state;
  const steps = path.length > MAX_SHOWN_STEPS ? [...path.slice(0, MAX_SHOWN_STEPS), "…"] : path;
  const place = steps.length === 0 ? "it" : `\`${steps.join("/")}\``;
  throw new SchemaError(`\`parameters\` cannot be sent as JSON Schema: ${place} ${problem}`);
}
