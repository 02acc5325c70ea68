// A wrapper that hands a copy of the context on, with something of its own.
const call = (ctx: any) => {
  const own = Object.keys(ctx).join();
  const copy = { ...ctx, extra: 1 };
  const has = ["sessionManager", "modelRegistry", "isIdle", "hasQueuedMessages", "abort", "localProtocolOptions", "extra"];
  const missing = has.filter((key) => copy[key] === undefined);
  const { getArtifactsDir, getSessionId } = copy.localProtocolOptions;
  return [own, `missing: ${missing.join() || "none"}`, copy.sessionManager.getBranch().length, getArtifactsDir(), getSessionId() === ctx.sessionId, ctx.hasUI, typeof ctx.ui.select, copy.isIdle(), ctx.model?.id].join("\n");
};
let tampered: any;
export default () => [
  { name: "copied", description: "d", parameters: { type: "object" }, execute: (_id, _p, _u, ctx) => ({ content: [{ type: "text", text: call(ctx) }] }) },
  { name: "aborted", description: "d", parameters: { type: "object" }, async execute(_id, _p, _u, ctx, signal) { const copy = { ...ctx }; copy.abort(); return { content: [{ type: "text", text: String(signal.aborted) }] }; } },
  { name: "tampered", description: "d", parameters: { type: "object" }, execute(_id, _p, _u, ctx) { tampered = ctx; ctx.abort = () => {}; ctx.sessionManager = null; return { content: [] }; } },
];
