// Tools by name, each wrong in its own way.
import { openSync, readFileSync } from "node:fs";

const text = (value: unknown) => ({ content: [{ type: "text", text: String(value) }] });

const resident = () => Number(/VmRSS:\s*(\d+)/.exec(readFileSync("/proc/self/status", "utf8"))![1]);

const tools: Record<string, () => unknown> = {
  heap: () => { const all = []; for (;;) all.push({ text: `number ${all.length}` }); },
  texts: () => { const all = []; for (;;) all.push(Buffer.from("x".repeat(40_000_000)).toString("latin1")); },
  oneText: () => text(Object.keys({ ["\u1234".repeat(400_000_000)]: 1 })[0].length),
  map: () => { const all = new Map(); for (;;) all.set(all.size, {}); },
  clones: () => { const all = []; const one = new Array(100_000).fill(1); for (;;) all.push(structuredClone(one)); },
  buffers: () => { const all = []; for (;;) all.push(new Uint8Array(10_000_000).fill(1)); },
  oneBuffer: () => text(new ArrayBuffer(4_000_000_000).byteLength),
  both: () => { try { new ArrayBuffer(4_000_000_000); } catch { const all = []; for (;;) all.push({ text: `number ${all.length}` }); } return text("none"); },
  shared: () => { const all = []; for (;;) all.push(new Uint8Array(new SharedArrayBuffer(10_000_000)).fill(1)); },
  growing: () => { const all = []; for (;;) { const one = new ArrayBuffer(8, { maxByteLength: 200_000_000 }); one.resize(200_000_000); all.push(one); } },
  wasm: () => { const one = new WebAssembly.Memory({ initial: 1 }); for (;;) { one.grow(100); new Uint8Array(one.buffer).fill(1); } },
  endless: () => text(readFileSync("/dev/zero").length),
  endlessLater: async () => text((await Deno.readFile("/dev/zero")).length),
  endlessText: async () => text((await Deno.readTextFile("/dev/zero")).length),
  endlessDescriptor: () => text(readFileSync(openSync("/dev/zero", "r")).length),
  large: () => text(readFileSync("large").length),
  small: () => text(readFileSync("/proc/self/status").length > 100 && readFileSync("bad.ts", "utf8").length > 100),
  // What was killed gives its memory back on a thread of the lowest priority.
  memory: async () => { while (resident() > 400_000) await new Promise((done) => setTimeout(done, 20)); return text("little"); },
};

export default (pi) =>
  Object.entries(tools).map(([name, execute]) => ({
    name,
    label: name,
    description: name,
    parameters: pi.zod.object({}),
    execute,
  }));

// It is hidden from modules, and code from text still finds it.
const Deno: any = new Function("return Deno")();
