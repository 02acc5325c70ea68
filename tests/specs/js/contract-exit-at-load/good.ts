export default () => ({ name: "good", description: "", parameters: {}, execute: () => ({ content: [{ type: "text", text: "ok" }] }) });
