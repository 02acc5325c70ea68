import { serve, sql } from "bun";
const attempt = (action: () => unknown): string => {
  try {
    return String(action());
  } catch (error) {
    return (error as Error).message;
  }
};
const B = Bun as any;
const cases: [string, () => unknown][] = [
  ["called", () => B.serve({ port: 0 })],
  ["imported", () => serve({} as any)],
  ["made", () => new B.Transpiler()],
  ["a member", () => B.redis.get("key")],
  ["a template", () => (sql as any)`SELECT 1`],
  ["looked for", () => ["serve" in Bun, typeof B.serve, typeof B.nothing, "nothing" in Bun]],
  ["cwd", () => [typeof B.cwd, B.cwd === process.cwd()]],
  ["semver", () => [B.semver.satisfies("1.4.5", "^1.2"), B.semver.satisfies("2.0.0-rc.1", ">=1"), B.semver.order("1.10.0", "1.9.0")]],
  ["peek", () => [B.peek(Promise.resolve(4)), B.peek.status(new Promise(() => {}))]],
  ["stdin", () => B.stdin.size],
];
export default () => ({
  name: "probe",
  description: "d",
  parameters: { type: "object" },
  async execute() {
    const lines = cases.map(([what, action]) => `${what}: ${attempt(action)}`);
    await Bun.write(Bun.stdout, "to the log\n");
    return { content: [{ type: "text", text: lines.join("\n") }] };
  },
});
