export default (pi) => ({
  name: "probe",
  label: "probe",
  description: "probe",
  parameters: pi.zod.object({}),
  async execute(_id, params) {
    const { ui } = pi;
    const asked = ui.select("Which?", ["a"]);
    const facts = {
      hasUI: pi.hasUI,
      promise: asked instanceof Promise,
      select: await asked,
      confirm: await ui.confirm("Sure?", "Really?"),
      input: await ui.input("Name?", "Ada"),
      editor: await ui.editor("Text", "prefill"),
      custom: await ui.custom(() => {
        throw new Error("never called");
      }),
      notify: ui.notify("hello", "warning"),
      status: ui.setStatus("key", "text"),
      set: ui.setEditorText("text"),
      get: ui.getEditorText(),
    };
    return { content: [{ type: "text", text: Object.entries(facts).map(([key, value]) => `${key}=${JSON.stringify(value)}`).join(" ") }] };
  },
});
