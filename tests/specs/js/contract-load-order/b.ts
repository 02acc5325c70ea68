globalThis.order = [...(globalThis.order ?? []), "b"];
await new Promise((done) => setTimeout(done, 30));
globalThis.order.push("b awaited");
export default () => ({ name: "b", description: "", parameters: {}, execute: () => ({ content: [{ type: "text", text: "ok" }] }) });
