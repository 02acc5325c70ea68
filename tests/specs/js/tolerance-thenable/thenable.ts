export default () => ({
  then(resolve: (tool: object) => void) {
    resolve({ name: "awaited", description: "", parameters: {}, execute: () => ({ content: [{ type: "text", text: "ok" }] }) });
  },
});
