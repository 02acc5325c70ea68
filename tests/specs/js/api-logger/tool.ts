export default (pi) => ({
  name: "probe",
  label: "probe",
  description: "probe",
  parameters: pi.zod.object({}),
  async execute(_id, params) {
    const loop: Record<string, unknown> = {};
    loop.loop = loop;
    for (const level of ["debug", "info", "warn", "error"]) pi.logger[level](`${level} %s`, { level, loop, big: 1n, error: new Error("inner") });
    pi.logger.info("alone");
    pi.logger.warn(undefined as any, null as any);
    return { content: [{ type: "text", text: "logged" }] };
  },
});
