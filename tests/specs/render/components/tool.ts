import * as tui from "@earendil-works/pi-tui";
import { getSelectListTheme, getSettingsListTheme } from "@oh-my-pi/pi-coding-agent";

const PARTS = {
  loader: () => new tui.Loader(undefined, (text) => text, (text) => text, "Working"),
  cancellable: () => new tui.CancellableLoader({}, (text) => text, (text) => text, "Stop me", { frames: [] }),
  select: () => new tui.SelectList([{ value: "a", label: "Alpha", description: "first" }, { value: "b", label: "Beta" }], 5, getSelectListTheme()),
  settings: () => new tui.SettingsList([{ id: "x", label: "Colour", currentValue: "red", values: ["red", "blue"], description: "What colour it has" }], 5, getSettingsListTheme(), () => {}, () => {}),
  input: () => {
    const input = new tui.Input();
    input.setValue("typed");
    return input;
  },
  editor: () => {
    const editor = new tui.Editor({}, { borderColor: (text) => text });
    editor.setText("one\ntwo");
    return editor;
  },
  image: () => new tui.Image("iVBORw0KGgoAAAANSUhEUgAAAAIAAAADCAIAAAA2iEnWAAAAAElFTkSuQmCC", "image/png", { fallbackColor: (text) => text }, { filename: "a.png" }),
  inline: () => new tui.Text(tui.renderInlineMarkdown("**bold** `code`", { bold: (t) => `<${t}>`, code: (t) => `[${t}]` }), 0, 0),
  terminal: () => new tui.TUI(),
};

export default () => [{
  name: "shows",
  description: "Draws one component",
  parameters: { type: "object" },
  execute: async () => ({ content: [{ type: "text", text: "done" }] }),
  renderCall: ({ part }) => PARTS[part](),
  renderResult: () => undefined,
}];
