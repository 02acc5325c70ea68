// The places in stacks are those of this file, not of what runs.
interface Options {
  deep: boolean;
}

function inner(options: Options): never {
  throw new Error(`no ${options.deep}`);
}

export default (pi) => ({
  name: "probe",
  label: "probe",
  description: "probe",
  parameters: pi.zod.object({}),
  async execute(_id, params) {
    try {
      inner({ deep: true });
    } catch (error) {
      const lines = (error as Error).stack!.split("\n").slice(0, 3);
      return { content: [{ type: "text", text: lines.join("\n") }] };
    }
  },
});
