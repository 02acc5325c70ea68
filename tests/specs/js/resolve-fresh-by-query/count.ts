let calls = 0;

export default (pi) => ({
  name: new URL(import.meta.url).search === "?second" ? "count_second" : "count",
  label: "count",
  description: "count",
  parameters: pi.zod.object({}),
  async execute(_id, params) {
    calls += 1;
    return { content: [{ type: "text", text: String(calls) }] };
  },
});
