process.exit(3);
export default () => ({ name: "a", description: "", parameters: {}, execute: () => ({ content: [{ type: "text", text: "ok" }] }) });
