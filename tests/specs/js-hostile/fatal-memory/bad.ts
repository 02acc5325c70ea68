// Buffers that Deno asks V8 for in a way that knows no refusal: V8 would end the process.
const text = (value: unknown) => ({ content: [{ type: "text", text: String(value) }] });

const tools: Record<string, () => unknown> = {
  image: () => new ImageData(20000, 20000).data.length,
  images: () => { const all = []; for (;;) all.push(new ImageData(2000, 2000)); },
  floats: () => new ImageData(20000, 20000, { pixelFormat: "rgba-float16" }).data.length,
};

export default (pi) =>
  Object.entries(tools).map(([name, execute]) => ({
    name,
    label: name,
    description: name,
    parameters: pi.zod.object({}),
    execute: () => text(execute()),
  }));
