export default () => ({ name: "tool", description: "", parameters: { type: "object" }, execute: () => ({ content: [] }) });
