exports.default = () => ({ name: "a", description: "", parameters: {}, execute: () => ({ content: [{ type: "text", text: "ok" }] }) });
