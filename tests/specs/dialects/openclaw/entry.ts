// As `definePluginEntry` returns it, without the package.
export default {
  id: "notes",
  name: "Notes",
  register(api: any) {
    api.registerTool({
      name: "note",
      description: "Keeps a note",
      parameters: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
      execute: async (_id: string, { text }: any) => ({ content: [{ type: "text", text: `kept ${text}` }] }),
    });
    api.registerService({ id: "clock" });
    api.on("message", () => {});
  },
};
