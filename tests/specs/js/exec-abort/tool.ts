import { existsSync } from "node:fs";

export default (pi) => ({
  name: "probe",
  label: "probe",
  description: "probe",
  parameters: pi.zod.object({}),
  async execute(_id, params) {
    const early = await pi.exec("sh", ["-c", "touch started"], { signal: AbortSignal.abort() });
    const stop = new AbortController();
    const running = pi.exec("sh", ["-c", "echo part; touch running; exec sleep 600"], { signal: stop.signal });
    while (!existsSync("running")) await new Promise((done) => setTimeout(done, 5));
    stop.abort();
    const { stdout, code, killed } = await running;
    const facts = { early: { code: early.code, killed: early.killed, started: existsSync("started") }, late: { stdout, code, killed } };
    return { content: [{ type: "text", text: JSON.stringify(facts) }] };
  },
});
