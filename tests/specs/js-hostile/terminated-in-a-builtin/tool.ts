const tool = (name: string, execute: () => unknown) => ({
  name,
  description: "d",
  parameters: { type: "object" },
  async execute() {
    return { content: [{ type: "text", text: String(execute()) }] };
  },
});

export default () => [
  tool("spin", () => {
    // The evaluation of Deno's built-in module `node:module` sets this global: it never ends.
    Object.defineProperty(globalThis, "nodeBootstrap", {
      set() {
        for (;;);
      },
    });
    return process.getBuiltinModule("node:module");
  }),
  tool("fine", () => "fine"),
];
