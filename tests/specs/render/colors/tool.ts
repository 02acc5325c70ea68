import { Text } from "@oh-my-pi/pi-tui";

const says = (text) => ({ content: [{ type: "text", text }] });

export default () => [
  {
    name: "paints",
    description: "Draws in colours",
    parameters: { type: "object" },
    execute: async () => says("done"),
    renderCall: (args, theme) => new Text(`${theme.fg("accent", "accent")} ${theme.bold(theme.fg("error", "error"))} ${theme.bg("selectedBg", "ground")}`, 0, 0),
    renderResult: (result, options, theme) => new Text(`${theme.fg("toolOutput", "output")} ${theme.fg("syntaxKeyword", "let")} ${theme.getColorMode()} ${theme.isLight}`, 0, 0),
  },
  { name: "plain", label: "Plain", description: "Draws nothing", parameters: { type: "object" }, execute: async () => says("done") },
  {
    name: "fails",
    description: "Fails",
    parameters: { type: "object" },
    execute: async () => ({ ...says("no"), isError: true }),
  },
  {
    name: "resets",
    description: "Ends every style, and forgets one",
    parameters: { type: "object" },
    execute: async () => says("done"),
    renderResult: () => ({ render: () => ["\x1b[1ma\x1b[0mb", "\x1b[38;2;1;2;3mc"] }),
  },
];
