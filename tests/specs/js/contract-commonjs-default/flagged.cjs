Object.defineProperty(exports, "__esModule", { value: true });
exports.default = () => ({ name: "flagged", description: "", parameters: {}, execute: () => ({ content: [{ type: "text", text: "ok" }] }) });
