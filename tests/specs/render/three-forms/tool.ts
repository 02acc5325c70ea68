import { Text } from "@mariozechner/pi-tui";

const says = (text) => ({ content: [{ type: "text", text }], details: { text } });
const line = (text) => new Text(text, 0, 0);
const tool = (name, renderers) => ({
  name,
  description: name,
  parameters: { type: "object" },
  execute: async (_id, { who }) => says(`Hello, ${who}!`),
  ...renderers,
});

export default () => [
  // pi's first form.
  tool("old", {
    renderCall: (args, theme) => line(theme.fg("toolTitle", theme.bold("old ")) + args.who),
    renderResult: (result, { expanded, isPartial }, theme) =>
      line(theme.fg("success", result.details.text) + ` ${expanded} ${isPartial}`),
  }),
  // omp's: options before the theme.
  tool("omp", {
    renderCall: (args, options, theme) =>
      line(`${theme.bold("omp")} ${args.who} ${JSON.stringify(options)} ${Object.keys(options)}`),
    renderResult: (result, options, theme, args) =>
      line(`${theme.symbol("status.success")} ${args.who} ${Object.keys(args)} ${result.isError} ${JSON.stringify(options)}`),
  }),
  // pi's later one: a context behind the theme, the same state for call and result.
  tool("later", {
    renderCall(args, theme, context) {
      context.state.count = (context.state.count ?? 0) + 1;
      return line(`${theme.bold(this.name)} ${context.args.who} ${context.toolCallId} ${context.expanded} ${context.lastComponent}`);
    },
    renderResult(result, options, theme, context) {
      return line(`${theme.bold(context.args.who)} ${context.state.count} ${context.isError} ${context.cwd === process.cwd()}`);
    },
  }),
  // Asynchronous renderers are awaited; a result of `undefined` prints nothing.
  tool("later_still", {
    renderCall: async (args) => (await null, line(`async ${args.who}`)),
    renderResult: () => undefined,
  }),
  { ...tool("failing", { renderResult: (result) => line(`said no: ${result.isError} ${result.content[0].text}`) }),
    execute: async () => { throw new Error("no"); } },
];
