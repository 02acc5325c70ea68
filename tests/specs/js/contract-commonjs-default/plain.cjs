module.exports = async () => ({ name: "plain", description: "", parameters: {}, execute: () => ({ content: [{ type: "text", text: "ok" }] }) });
