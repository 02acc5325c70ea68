// The symbols of the theme by the keys that tools use: Unicode that every terminal font has.

/** The symbols by their groups, most of which are properties of the theme. */
// biome-ignore format: a group is read as a whole
export const SYMBOL_GROUPS = {
  status: {
    success: "✓", error: "✗", warning: "⚠", info: "ℹ", pending: "○", disabled: "⊘", enabled: "●",
    running: "●", shadowed: "◌", aborted: "■", done: "✓",
  },
  nav: { cursor: "→", selected: "▸", expand: "▸", collapse: "▾", back: "←" },
  tree: { branch: "├─", last: "└─", vertical: "│", horizontal: "─", hook: "└" },
  progress: { filled: "█", empty: "░" },
  boxRound: {
    topLeft: "╭", topRight: "╮", bottomLeft: "╰", bottomRight: "╯", horizontal: "─", vertical: "│",
    cross: "┼", teeDown: "┬", teeUp: "┴", teeRight: "├", teeLeft: "┤",
  },
  boxDotted: { horizontal: "┈", vertical: "┊" },
  boxSharp: {
    topLeft: "┌", topRight: "┐", bottomLeft: "└", bottomRight: "┘", horizontal: "─", vertical: "│",
    cross: "┼", teeDown: "┬", teeUp: "┴", teeRight: "├", teeLeft: "┤",
  },
  sep: {
    powerline: "│", powerlineThin: "│", powerlineLeft: "│", powerlineRight: "│",
    powerlineThinLeft: "│", powerlineThinRight: "│", powerlineCapLeft: "▌", block: "▌", space: " ",
    asciiLeft: ">", asciiRight: "<", dot: " · ", slash: " / ", pipe: " | ",
  },
  icon: {
    model: "◆", plan: "☰", prewalk: "➤", goal: "◎", pause: "‖", loop: "↻", folder: "▸",
    worktree: "⑂", search: "⌕", scratchFolder: "▹", file: "▪", git: "±", branch: "⑂", pr: "⤴",
    pin: "◈", tokens: "∑", context: "◫", cost: "$", subscription: "§", advisor: "◉",
    advisorClosed: "◌", time: "◷", omp: "π", esc: "⎋", ghost: "◍", agents: "◇", job: "▣",
    cache: "▤", cacheMiss: "▥", input: "↓", output: "↑", throughput: "⇅", intelligence: "✦",
    host: "⌂", session: "§", package: "▦", warning: "⚠", rewind: "↶", auto: "∞", fast: "»",
    extensionSkill: "✦", extensionTool: "⚒", extensionSlashCommand: "/", extensionMcp: "⧉",
    extensionRule: "§", extensionHook: "↪", extensionPrompt: "❯", extensionContextFile: "▪",
    extensionInstruction: "¶", vimNormal: "N", vimInsert: "I", vimVisual: "V", vimVisualLine: "L",
    mic: "◖", camera: "◙",
  },
  thinking: {
    minimal: "▁", low: "▂", medium: "▄", high: "▆", xhigh: "▇", max: "█", autoPending: "∞",
  },
  checkbox: { checked: "☑", unchecked: "☐" },
  radio: { selected: "◉", unselected: "○" },
  format: { bullet: "•", dash: "–", bracketLeft: "[", bracketRight: "]" },
  md: { quoteBorder: "│", hrChar: "─", bullet: "•", colorSwatch: "■" },
  chip: { image: "▣", video: "▶", paste: "▤" },
  tool: {
    write: "✎", edit: "✎", bash: "$", webSearch: "⌕", todo: "☑", task: "◇", delete: "✗", move: "→",
  },
} satisfies Record<string, Record<string, string>>;

/** One symbol for all languages: no font has one for each. */
export const LANGUAGE_SYMBOL = "▪";

/** The symbols by their whole keys: `status.success`. */
export const SYMBOLS: ReadonlyMap<string, string> = new Map(
  Object.entries(SYMBOL_GROUPS).flatMap(([group, symbols]) =>
    Object.entries(symbols).map(([name, symbol]) => [`${group}.${name}`, symbol] as const),
  ),
);
