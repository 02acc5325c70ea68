export default (pi) => ({
  name: "probe",
  description: "d",
  parameters: { type: "object" },
  async execute() {
    const { stdout, stderr } = await pi.exec("sh", ["-c", "printf '\\357\\273\\277{}'; printf '\\357\\273\\277e' >&2"]);
    return { content: [{ type: "text", text: JSON.stringify([JSON.parse(stdout), stderr]) }] };
  },
});
