export default (pi) => ({
  name: "probe",
  label: "probe",
  description: "probe",
  parameters: pi.zod.object({}),
  async execute(_id, params) {
    const fits = await pi.exec("sh", ["-c", "head -c 5000000 /dev/zero | tr '\\0' x; head -c 200000 /dev/zero | tr '\\0' y >&2"]);
    const cut = await pi.exec("sh", ["-c", "head -c 30000000 /dev/zero | tr '\\0' z"]);
    const facts = {
      fits: [fits.stdout.length, fits.stderr.length, fits.code],
      cut: [cut.stdout.length < 11_000_000, cut.stdout.length > 9_000_000, /[^z]/.test(cut.stdout + cut.stderr), cut.code],
    };
    return { content: [{ type: "text", text: JSON.stringify(facts) }] };
  },
});
