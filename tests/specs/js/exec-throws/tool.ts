export default (pi) => ({
  name: "probe",
  label: "probe",
  description: "probe",
  parameters: pi.zod.object({}),
  async execute(_id, params) {
    const facts: Record<string, string> = {};
    const probe = async (name: string, run: () => unknown) => {
      try {
        await run();
        facts[name] = "no error";
      } catch (error) {
        facts[name] = `${(error as Error).name} ${(error as NodeJS.ErrnoException).code} ${(error as Error).message}`;
      }
    };
    await probe("missing", () => pi.exec("no-such-program", []));
    await probe("cwd", () => pi.exec("true", [], { cwd: "/no/such/folder" }));
    await probe("nul", () => pi.exec("echo", ["a\0b"]));
    await probe("args", () => (pi.exec as any)("true"));
    await probe("signal", () => (pi.exec as any)("true", [], { signal: "now" }));
    return { content: [{ type: "text", text: Object.entries(facts).map(([name, fact]) => `${name}: ${fact}`).join("\n") }] };
  },
});
