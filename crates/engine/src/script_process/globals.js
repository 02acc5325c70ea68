// The globals of a script. Evaluates to a function that gets what Rust provides and returns what Rust
// calls. Nothing here is a boundary: the script may change all of it, and harms only itself.
(native, names, args) => {
  "use strict";
  const { call, print, later, forget } = native;
  const { create, freeze, defineProperty } = Object;
  const { ownKeys } = Reflect;
  const { stringify, parse } = JSON;
  const { from } = Array;
  const textOf = String;
  const MapType = Map;
  const SetType = Set;
  const ErrorType = Error;

  // Kinds of requests, as in `isolate.rs`.
  const CALL = 0;
  const RAW = 1;
  const SEARCH = 2;
  const TYPES = 3;

  class ToolError extends ErrorType {
    constructor(tool, message, content) {
      super(message);
      defineProperty(this, "name", { value: "ToolError", configurable: true, writable: true });
      this.tool = tool;
      this.content = content;
    }
  }

  const known = create(null);
  for (const name of parse(names)) {
    known[name] = undefined;
  }
  const functionOf = (name) => {
    const own = (given) => call(CALL, name, given);
    own.raw = (given) => call(RAW, name, given);
    return freeze(own);
  };
  known.$search = freeze((query, options) => call(SEARCH, "", { ...options, query }));
  known.$types = freeze((name) => call(TYPES, textOf(name), undefined));

  // Names that the language itself looks up, and that mean no tool.
  const unknown = create(null);
  for (const name of ["then", "toJSON", "constructor", "valueOf", "toString", "prototype"]) {
    unknown[name] = true;
  }
  const get = (_target, name) => {
    if (typeof name !== "string" || (!(name in known) && name in unknown)) {
      return undefined;
    }
    // An unknown name fails when it is called, with the nearest names.
    known[name] ??= functionOf(name);
    return known[name];
  };
  const listed = parse(names);
  const has = (_target, name) => listed.includes(name);
  const refuse = () => false;
  const tools = new Proxy(
    create(null),
    freeze({
      __proto__: null,
      get,
      has,
      ownKeys: () => listed,
      getOwnPropertyDescriptor: (target, name) =>
        has(target, name)
          ? { value: get(target, name), enumerable: true, configurable: true }
          : undefined,
      set: refuse,
      defineProperty: refuse,
      deleteProperty: refuse,
      setPrototypeOf: refuse,
      preventExtensions: refuse,
    }),
  );

  const plain = (_key, value) => {
    if (typeof value === "bigint") {
      return textOf(value);
    }
    return value instanceof MapType || value instanceof SetType ? from(value) : value;
  };
  const shown = (value) => {
    if (typeof value === "string") {
      return value;
    }
    if (typeof value === "function") {
      return `[function ${textOf(value.name)}]`;
    }
    if (typeof value !== "object" || value === null) {
      return textOf(value);
    }
    if (value instanceof ErrorType) {
      return `${textOf(value.name)}: ${textOf(value.message)}`;
    }
    try {
      return stringify(value, plain) ?? textOf(value);
    } catch (error) {
      return `[object that is not JSON: ${textOf(error.message)}]`;
    }
  };
  const log = (...values) => {
    let line = "";
    for (let index = 0; index < values.length; index++) {
      line += (index === 0 ? "" : " ") + shown(values[index]);
    }
    print(line);
  };
  const nothing = () => {};
  const console = create(null);
  for (const name of ["log", "info", "debug", "warn", "error", "dir", "table", "trace"]) {
    console[name] = log;
  }
  for (const name of ["group", "groupEnd", "time", "timeEnd", "count", "assert", "clear"]) {
    console[name] = nothing;
  }
  const image = (block, mimeType) => {
    let data = typeof block === "object" && block !== null ? block.data : block;
    let type = typeof block === "object" && block !== null ? block.mimeType : mimeType;
    const url = typeof data === "string" && /^data:([^;,]+);base64,/.exec(data);
    if (url) {
      type = url[1];
      data = data.slice(url[0].length);
    }
    if (typeof data !== "string" || typeof type !== "string" || !type.startsWith("image/")) {
      throw new TypeError("image() wants {data, mimeType} of an image, with the data in base64");
    }
    print(data, type);
  };

  const globals = {
    tools,
    args: parse(args),
    console,
    text: (value) => print(shown(value)),
    image,
    ToolError,
    setTimeout: (work, delay, ...rest) => {
      if (typeof work !== "function") {
        throw new TypeError("setTimeout wants a function");
      }
      return later(rest.length === 0 ? work : () => work(...rest), delay);
    },
    clearTimeout: forget,
  };
  for (const name of ownKeys(globals)) {
    defineProperty(globalThis, name, {
      value: globals[name],
      writable: true,
      configurable: true,
      enumerable: false,
    });
  }

  return {
    // Runs the script. A function as its result is called: models like to write one.
    run: async (script) => {
      let value = await script();
      if (typeof value === "function") {
        value = await value();
      }
      return value === undefined ? undefined : (stringify(value, plain) ?? stringify(shown(value)));
    },
    error: (tool, message, content) => new ToolError(tool, message, parse(content)),
    shown: (error) => (error instanceof ErrorType ? shown(error) : `Thrown: ${shown(error)}`),
  };
};
