export default (pi) => ({
  name: "floods",
  label: "floods",
  description: "floods",
  parameters: pi.zod.object({}),
  async execute() {
    const line = "x".repeat(60_000);
    for (let n = 0; n < 1000; n++) pi.logger.info(line);
    pi.logger.info("y".repeat(10_000_000));
    pi.logger.info("the end");
    return { content: [{ type: "text", text: "logged 70 MB" }] };
  },
});
