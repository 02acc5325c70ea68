const says = (text: string, details = {}) => ({ content: [{ type: "text", text }], details });

// Two modules: `relay` and its tools are an extension of pi, the others are tools of oh-my-pi.
export default (pi: any) => [
  {
    name: "peek",
    description: "Looks",
    approval: "read",
    parameters: pi.zod.object({ text: pi.zod.string() }),
    async execute(_id: string, { text }: any, onUpdate: any) {
      onUpdate(says("looking"));
      return says(`seen ${text}`, { of: "peek" });
    },
  },
  {
    name: "change",
    description: "Changes something",
    approval: "exec",
    parameters: { type: "object" },
    execute: async () => says("changed"),
  },
  {
    name: "breaks",
    description: "Throws",
    approval: "read",
    parameters: { type: "object" },
    async execute() {
      throw new Error("it does not work");
    },
  },
];
