import { execFile, execFileSync, execSync, spawn, spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
const caught = (action: () => unknown) => {
  try {
    return action();
  } catch (error: any) {
    const { code, errno, syscall, path, spawnargs, status, signal, pid, output, stdout, stderr } = error;
    return { code, errno, syscall, path, spawnargs, status, signal, pid, output, stdout, stderr };
  }
};
export default () => ({
  name: "probe",
  description: "d",
  parameters: { type: "object" },
  async execute() {
    writeFileSync("plain", "no program");
    const { error, ...rest } = spawnSync("nope-1", ["a"]);
    const denied: any = spawnSync("./plain");
    const emitted = await new Promise<any>((done) => spawn("nope-1", ["a"]).on("error", done));
    const called = await new Promise<any>((done) => execFile("nope-1", ["a"], (failed) => done(failed)));
    const lines = {
      spawnSync: [error?.message, (error as any).code, rest],
      denied: [denied.error.code, denied.status, denied.pid],
      cwd: caught(() => { const { error, status } = spawnSync("true", { cwd: "/nowhere-1" }); return [(error as any).code, status]; }),
      execFileSync: caught(() => execFileSync("nope-1", ["a"])),
      execSync: (caught(() => execSync("exit 3", { stdio: "pipe" })) as any).status,
      spawn: [emitted.code, emitted.syscall, emitted.path, emitted.spawnargs],
      execFile: [called.code, called.errno],
    };
    return { content: [{ type: "text", text: Object.entries(lines).map(([key, value]) => `${key}: ${JSON.stringify(value)}`).join("\n") }] };
  },
});
