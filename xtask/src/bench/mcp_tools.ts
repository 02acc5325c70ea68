// What is called over MCP: the least that a tool can be, and a pair that shows when a signal fires.
const says = (text: string) => ({ content: [{ type: "text", text }] });

let tell: ((result: unknown) => void) | undefined;

export default (pi: any) => [
  {
    name: "echo",
    label: "Echo",
    description: "Says what it is told",
    parameters: pi.zod.object({ text: pi.zod.string() }),
    async execute(_id: string, params: any) {
      return says(params.text);
    },
  },
  {
    name: "wait",
    description: "Waits",
    parameters: pi.zod.object({}),
    execute(_id: string, _params: any, onUpdate: any, _ctx: any, signal: AbortSignal) {
      onUpdate?.(says("waiting"));
      return new Promise((resolve) => {
        signal.addEventListener("abort", () => {
          tell?.(says("abort"));
          resolve(says("aborted"));
        });
      });
    },
  },
  {
    name: "heard",
    description: "Hears of an abort",
    parameters: pi.zod.object({}),
    execute: () =>
      new Promise((resolve) => {
        tell = resolve;
      }),
  },
];
