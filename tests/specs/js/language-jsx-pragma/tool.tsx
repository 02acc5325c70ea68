/** @jsx h */
/** @jsxFrag Group */
const Group = "group";
const h = (name: string, props: object | null, ...children: unknown[]) => ({ name, props, children });

export default () => ({
  name: "probe",
  description: "d",
  parameters: { type: "object" },
  execute: async () => ({ content: [{ type: "text", text: JSON.stringify(<><b id="x">text</b></>) }] }),
});
