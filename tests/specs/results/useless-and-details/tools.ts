const content = [{ type: "text", text: "nothing found" }];

export default (pi) => ({
  name: "find",
  label: "Find",
  description: "Finds.",
  parameters: pi.zod.object({ how: pi.zod.string() }),
  async execute(_id, { how }) {
    switch (how) {
      case "useless":
        return { content, useless: true };
      case "useless and failed":
        return { content, useless: true, isError: true };
      case "useful":
        return { content, useless: false, more: "dropped" };
      case "null":
        return { content, details: null };
      case "list":
        return { content, details: [1, { b: 2, a: 1 }] };
      case "meta":
        return { content, details: { meta: { own: true } } };
      default:
        return { content, details: how };
    }
  },
});
