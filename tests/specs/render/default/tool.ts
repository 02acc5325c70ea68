const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAIAAAADCAIAAAA2iEnWAAAAAElFTkSuQmCC";

export default () => [
  {
    name: "lines",
    label: "Some lines",
    description: "Says lines",
    parameters: { type: "object" },
    async execute(_id, { count = 3 }) {
      const lines = Array.from({ length: count }, (_, at) => `line ${at + 1} of ${count}`);
      return { content: [{ type: "text", text: lines.join("\n") }, { type: "image", data: PNG, mimeType: "image/png" }] };
    },
  },
  {
    name: "fails",
    description: "Fails",
    parameters: { type: "object" },
    async execute() {
      throw new Error("it is \x1b[31mbroken\x1b[0m");
    },
  },
];
