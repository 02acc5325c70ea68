import { ScrollView, TabBar, TERMINAL, getEditorKeybindings, latexToUnicode, parseKey } from "@oh-my-pi/pi-tui";
import { BorderedLoader, convertToLlm, generateDiffString, isToolCallEventType, parseFrontmatter, renderDiff } from "@oh-my-pi/pi-coding-agent";
export default (pi) => {
  pi.hasUI = true;
  const before = pi.hasUI;
  return {
    name: "probe",
    description: "d",
    parameters: { type: "object" },
    async execute(_id, _params, _onUpdate, ctx) {
      const { logger } = pi;
      logger.startTiming();
      const timed = await logger.time("work", async (n: number) => n * 2, 21);
      logger.endTiming();
      const diff = generateDiffString("a\nb\nc", "a\nB\nc");
      const lines = {
        hasUI: [before, pi.hasUI],
        logger: [timed, logger.time("mark"), logger.openSpanPath(), logger.registerLogSink(() => {})()],
        settings: [pi.pi.settings.get("a.b"), pi.pi.settings === ctx.settings, typeof pi.pi.settings.getCwd()],
        skills: pi.pi.getActiveSkills(),
        artifacts: ctx.sessionManager.getArtifactsDir(),
        diff: [diff, renderDiff(diff.diff).includes("+2 B")],
        events: isToolCallEventType("bash", { toolName: "bash" }),
        llm: convertToLlm([{ role: "user", content: "x" }, { role: "custom", content: "y" }, { role: "notes" }]).map(({ role }) => role),
        frontmatter: parseFrontmatter("---\nname: x\n---\nbody\n"),
        loader: new BorderedLoader({}, pi.pi.theme, "Loading").render(20).length,
        keys: ["\x1b[5~", "\x1b[6;2~", "A", "a", "\x1b[Z", "\r"].map((key) => parseKey(key)),
        classes: [typeof ScrollView, typeof TabBar, TERMINAL.isImageLine("x"), typeof getEditorKeybindings().matches],
        latex: latexToUnicode("$x_1^2 \\leq \\frac{a+b}{2}$"),
      };
      return { content: [{ type: "text", text: Object.entries(lines).map(([key, value]) => `${key}: ${JSON.stringify(value)}`).join("\n") }] };
    },
  };
};
