export default () => ({ name: "same", description: "", parameters: {}, execute: () => ({ content: [{ type: "text", text: "ok" }] }) });
