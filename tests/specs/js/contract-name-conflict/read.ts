export default () => ({ name: "read", description: "", parameters: {}, execute: () => ({ content: [{ type: "text", text: "ok" }] }) });
