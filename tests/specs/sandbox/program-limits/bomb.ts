export default (pi) => ({
  name: "module-bomb",
  description: "Starts three hundred processes",
  parameters: { type: "object" },
  execute: async () => {
    const { code } = await pi.exec("sh", ["bomb"]);
    return { content: [{ type: "text", text: `exit code ${code}` }] };
  },
});
