export default (pi) => [
  {
    name: "loops",
    label: "loops",
    description: "loops",
    parameters: pi.zod.object({}),
    approval: () => {
      for (;;);
    },
    async execute() {
      return { content: [{ type: "text", text: "ran" }] };
    },
  },
  {
    name: "fine",
    label: "fine",
    description: "fine",
    parameters: pi.zod.object({}),
    async execute() {
      return { content: [{ type: "text", text: "fine" }] };
    },
  },
];
