export default (pi) => ({
  name: "throwing",
  label: "throwing",
  description: "throwing",
  parameters: pi.zod.object({ what: pi.zod.string() }),
  async execute(_id, params) {
    switch (params.what) {
      case "error":
        throw new RangeError("too far");
      case "object":
        throw { message: "lost" };
      case "number":
        throw 42;
      case "late":
        await new Promise((done) => setTimeout(done, 1));
        throw new Error("too late", { cause: new Error("inner") });
    }
  },
});
