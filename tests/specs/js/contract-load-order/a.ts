globalThis.order = [...(globalThis.order ?? []), "a"];
export default (pi) => ({ name: "a", description: "", parameters: {}, execute: () => ({ content: [{ type: "text", text: globalThis.order.join(", ") }] }) });
