const factory = () => ({
  name: "factory",
  description: "d",
  parameters: { type: "object" },
  execute: async () => {
    const place = new Error("here").stack?.match(/factory\.ts:\d+/)?.[0];
    return { content: [{ type: "text", text: `${place}` }] };
  },
});
export = factory;
