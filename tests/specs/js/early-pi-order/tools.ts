// One `execute` that says what it got, in every form in which authors write it.
const kind = (value: any): string => {
  if (value === undefined) return "nothing";
  if (typeof value === "function") return "onUpdate";
  if (typeof value !== "object") return typeof value;
  if (typeof value.addEventListener === "function") return "signal";
  return "sessionManager" in value ? "ctx" : "params";
};
const said = (...given: unknown[]) => ({ content: [{ type: "text", text: given.map(kind).join(" ") }] });

class Late {
  name = "method";
  description = "a method of a class";
  parameters = { type: "object" };
  async execute(_id: string, _params: object, _signal?: AbortSignal, _onUpdate?: () => void) {
    return said(...arguments);
  }
}

const forms: Record<string, (...given: any[]) => any> = {
  early: async (toolCallId, params, signal, onUpdate) => said(toolCallId, params, signal, onUpdate),
  extension: (id, params, abortSignal, update, ctx) => said(id, params, abortSignal, update, ctx),
  commented(id /* (a, b) */, params = { a: ")" }, /* onUpdate, */ _signal = undefined, ...rest) {
    return said(id, params, _signal, ...rest);
  },
  taken: (id, params, { aborted, addEventListener }, onUpdate) => said(id, params, { addEventListener }, onUpdate),
  small: (a, b, c, d) => (c?.aborted ? said() : said(a, b, c, d)),
  last: (_, b, _s, _u, ctx) => said(_, b, _s, _u, ctx),
  later: (id, params, onUpdate, ctx, signal) => said(id, params, onUpdate, ctx, signal),
  four: (id, params, onUpdate, ctx) => said(id, params, onUpdate, ctx),
  unused: (id, params, _, __, signal) => said(id, params, _, __, signal),
  unknown: (a, b, c, d) => said(a, b, c, d),
  context: (id, params, onUpdate, { sessionManager }, signal) => said(id, params, onUpdate, { sessionManager }, signal),
};

export default () => [
  new Late(),
  ...Object.entries(forms).map(([name, execute]) => ({
    name,
    description: "says what it got",
    parameters: { type: "object" },
    execute,
  })),
];
