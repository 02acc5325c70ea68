import { compiledAtImport } from "./at-import.ts";

// (func (export "add") (param i32 i32) (result i32) local.get 0 local.get 1 i32.add)
const ADD = new Uint8Array([
  0, 97, 115, 109, 1, 0, 0, 0, 1, 7, 1, 96, 2, 127, 127, 1, 127, 3, 2, 1, 0, 7, 7, 1, 3, 97, 100, 100, 0, 0, 10, 9, 1,
  7, 0, 32, 0, 32, 1, 106, 11,
]);

export default async () => {
  const inFactory = await WebAssembly.instantiate(ADD);
  const checks: Record<string, () => Promise<unknown>> = {
    wasm: async () => {
      const compiled = await WebAssembly.compile(ADD);
      const { exports } = await WebAssembly.instantiate(compiled);
      const second = await WebAssembly.instantiate(ADD);
      const sums = [exports, second.instance.exports, inFactory.instance.exports, compiledAtImport.exports];
      return sums.map((it: any) => it.add(2, 3));
    },
    invalid: async () => {
      const wrong = new Uint8Array([1, 2, 3, 4]);
      const errors = await Promise.all(
        [WebAssembly.compile(wrong), WebAssembly.instantiate(wrong)].map((it) => it.catch((error) => error.name)),
      );
      return errors;
    },
    wait: async () => {
      const cell = new Int32Array(new SharedArrayBuffer(8));
      const timedOut = (Atomics as any).waitAsync(cell, 0, 0, 20);
      const woken = (Atomics as any).waitAsync(cell, 1, 0);
      Atomics.notify(cell, 1);
      return [await timedOut.value, await woken.value];
    },
    finalised: async () => {
      let called: unknown;
      const registry = new FinalizationRegistry((held) => {
        called = held;
      });
      (() => registry.register({}, "held"))();
      for (let round = 0; called === undefined && round < 5000; round++) {
        new Array(100_000).fill(round).map((it) => ({ it }));
        await new Promise((done) => setTimeout(done, 0));
      }
      return called;
    },
  };
  return {
    name: "probe",
    description: "d",
    parameters: { type: "object", properties: { what: { type: "string" } } },
    async execute(_id: string, { what }: { what: string }) {
      return { content: [{ type: "text", text: JSON.stringify(await checks[what]()) }] };
    },
  };
};
