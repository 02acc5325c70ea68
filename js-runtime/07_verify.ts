// Code that does not come by the module loader: what `require` compiles, text and bytes that become code,
// native code. In isolates of a project Rust checks all of it against what the user trusted
// (`crates/engine/src/verify.rs`); in those of the user's own tools it is let through.
//
// Deno's `node:module` and `node:vm` call `internals.haftCode`, put there by `CORRECTIONS` in `build.rs`.

import { core, internals } from "ext:core/mod.js";
import {
  op_haft_check_native,
  op_haft_check_required,
  op_haft_check_text,
  op_haft_check_wasm,
  op_haft_is_verified,
} from "ext:core/ops";

const { apply, construct, defineProperty } = Reflect;
const { isView } = ArrayBuffer;
const { parse } = JSON;

internals.haftCode = Object.freeze({
  /** Checks the code that `require` compiles. */
  required(code: unknown): void {
    if (op_haft_is_verified()) op_haft_check_required(`${code}`);
  },
  /** Checks that text may be run as code. */
  text(text: unknown): void {
    if (op_haft_is_verified()) op_haft_check_text(`${text ?? ""}`);
  },
  /** True if texts that become code are checked one by one, so that no context may let all of them pass. */
  isVerified: (): boolean => op_haft_is_verified(),
  /** Checks what a message to the inspector runs as code. */
  inspect(message: string): void {
    if (!op_haft_is_verified()) return;
    const { params } = parse(message);
    for (const name of ["expression", "functionDeclaration", "scriptSource", "condition"]) {
      if (typeof params?.[name] === "string") op_haft_check_text(params[name]);
    }
  },
  /** Checks the native code at `path`. */
  native(path: unknown): void {
    if (op_haft_is_verified()) op_haft_check_native(`${path}`);
  },
});

type Any = (...args: any[]) => any;

/** The bytes of a buffer source, copied: they cannot change between the check and their use. */
function copied(source: any): Uint8Array | undefined {
  try {
    if (isView(source)) {
      return new Uint8Array(source.buffer, source.byteOffset, source.byteLength).slice();
    }
    return new Uint8Array(source).slice();
  } catch {
    return undefined;
  }
}

/** Returns the bytes to compile after the check. V8 refuses a source that is not a buffer. */
function checked(source: any, url = ""): any {
  const isBuffer = isView(source) || core.isAnyArrayBuffer(source);
  const bytes = isBuffer ? copied(source) : undefined;
  if (bytes === undefined) return source;
  op_haft_check_wasm(bytes, url);
  return bytes;
}

/** Puts checks in front of everything that makes WebAssembly of bytes, and of `Deno.dlopen`. */
export function verifyCode(deno: any): void {
  if (!op_haft_is_verified()) return;
  const { dlopen } = deno;
  defineProperty(deno, "dlopen", {
    value: (path: unknown, symbols: unknown) => {
      const file = path instanceof URL ? decodeURIComponent(path.pathname) : path;
      op_haft_check_native(`${file}`);
      return apply(dlopen, deno, [file, symbols]);
    },
  });
  const { Module, compile, instantiate } = WebAssembly;
  const replace = (name: string, value: Any): void => {
    defineProperty(WebAssembly, name, { value, writable: true, configurable: true });
  };
  const Checked: any = new Proxy(Module, {
    construct: (target, [source, ...rest], newTarget) =>
      construct(target, [checked(source), ...rest], newTarget === Checked ? target : newTarget),
  });
  defineProperty(Module.prototype, "constructor", { value: Checked });
  replace("Module", Checked);
  replace("compile", async (source, ...rest) =>
    apply(compile, WebAssembly, [checked(source), ...rest]),
  );
  replace("instantiate", async (source, ...rest) =>
    apply(instantiate as Any, WebAssembly, [checked(source), ...rest]),
  );
  // The bytes are checked as a whole, so nothing is compiled while they still come.
  const streamed = async (source: unknown): Promise<any> => {
    const response = (await source) as Response;
    return checked(await response.arrayBuffer(), response.url);
  };
  replace("compileStreaming", async (source, ...rest) =>
    apply(compile, WebAssembly, [await streamed(source), ...rest]),
  );
  replace("instantiateStreaming", async (source, ...rest) =>
    apply(instantiate as Any, WebAssembly, [await streamed(source), ...rest]),
  );
}
