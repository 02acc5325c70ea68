// Tools by name, each wrong in its own way.

const text = (value: unknown) => ({ content: [{ type: "text", text: String(value) }] });

const tools: Record<string, (signal: AbortSignal, pi) => unknown> = {
  loop: () => { for (;;); },
  bomb: () => { const all = []; for (;;) all.push({ text: `number ${all.length}` }); },
  never: () => new Promise(() => {}),
};

export default (pi) =>
  Object.entries(tools).map(([name, execute]) => ({
    name,
    label: name,
    description: name,
    parameters: pi.zod.object({}),
    execute: (_id, _params, _onUpdate, _ctx, signal) => execute(signal, pi),
  }));
