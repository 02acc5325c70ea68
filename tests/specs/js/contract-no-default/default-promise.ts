export default Promise.resolve(() => ({ name: "a", description: "", parameters: {}, execute: () => ({ content: [{ type: "text", text: "ok" }] }) }));
