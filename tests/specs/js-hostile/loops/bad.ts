// Tools by name, each wrong in its own way.
import { runInNewContext } from "node:vm";

const text = (value: unknown) => ({ content: [{ type: "text", text: String(value) }] });

const tools: Record<string, () => unknown> = {
  getter: () => ({ get content() { for (;;); } }),
  toJSON: () => ({ content: [], details: { toJSON() { for (;;); } } }),
  timer: () => new Promise(() => setTimeout(() => { for (;;); }, 0)),
  ticks: () => new Promise(() => { const again = () => process.nextTick(again); again(); }),
  thenable: () => { const self = { then: (resolve: (value: unknown) => void) => resolve(self) }; return self; },
  never: () => new Promise(() => {}),
  regexp: () => text(/^(a+)+$/.test(`${"a".repeat(40)}b`)),
  comparator: () => text([2, 1].sort(() => { for (;;); })),
  otherContext: () => runInNewContext("for (;;);"),
  waits: () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0),
  catches: () => { for (;;) try { for (;;); } catch {} finally { for (;;); } },
};

export default (pi) =>
  Object.entries(tools).map(([name, execute]) => ({
    name,
    label: name,
    description: name,
    parameters: pi.zod.object({}),
    execute,
  }));
