/** @jsxRuntime classic */
/** @jsx h */
const h = (tag: string, props: Record<string, string> | null, ...children: unknown[]) =>
  `<${tag}${Object.entries(props ?? {}).map(([key, value]) => ` ${key}="${value}"`).join("")}>${children.join("")}</${tag}>`;

export default (pi) => ({
  name: "probe",
  label: "probe",
  description: "probe",
  parameters: pi.zod.object({}),
  async execute(_id, params) {
    return { content: [{ type: "text", text: <p class="big">{1 + 1} <b>bold</b></p> }] };
  },
});
