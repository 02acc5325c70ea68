// Tools by name, each wrong in its own way.

const text = (value: unknown) => ({ content: [{ type: "text", text: String(value) }] });

const tools: Record<string, () => unknown> = {
  big: () => text("x".repeat(200_000_000)),
  cyclic: () => { const details: Record<string, unknown> = { big: 10n, call: () => 1 }; details.self = details; return { content: [], details }; },
  symbols: () => ({ content: [], details: { [Symbol("key")]: 1, value: Symbol("value") } }),
  deep: () => { let details = {}; for (let n = 0; n < 100_000; n++) details = { details }; return { content: [], details }; },
  proxy: () => new Proxy({}, { get() { throw new Error("do not look"); } }),
  proxyDetails: () => ({ content: [], details: new Proxy({}, { ownKeys() { throw new Error("do not look"); } }) }),
  thenThrows: () => ({ get then() { throw new Error("no then"); } }),
  throwsNull: () => { throw null; },
  throwsSymbol: () => { throw Symbol("sign"); },
  throwsProxy: () => { throw new Proxy({}, { get() { throw 1; }, getPrototypeOf() { throw 2; } }); },
  recursion: () => { const deeper = (n: number): number => deeper(n + 1) + 1; return text(deeper(0)); },
  deepText: () => text(JSON.stringify(JSON.parse("[".repeat(100_000) + "]".repeat(100_000))).length),
};

export default (pi) =>
  Object.entries(tools).map(([name, execute]) => ({
    name,
    label: name,
    description: name,
    parameters: pi.zod.object({}),
    execute,
  }));
