const says = (value) => ({ content: [{ type: "text", text: JSON.stringify(value) }] });
const tool = (name, execute) => ({ name, description: name, parameters: { type: "object" }, execute });

export default (pi) => [
  tool("ask", async () =>
    says([
      pi.hasUI,
      await pi.ui.select("Which?", ["red", "green"]),
      await pi.ui.confirm("Sure?", "Really?"),
      await pi.ui.input("Name?", "Ada"),
      await pi.ui.editor("Text", "draft"),
    ]),
  ),
  tool("tell", async () => {
    const before = pi.ui.getEditorText();
    pi.ui.notify("look", "warning");
    pi.ui.setStatus("k", "busy");
    pi.ui.setStatus("k", undefined);
    pi.ui.setEditorText("new");
    return says([before, pi.ui.getEditorText()]);
  }),
  tool("wait", async () => says(await pi.ui.confirm("Sure?", "", { timeout: 86400000 }))),
];
