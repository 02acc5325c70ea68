// The colours of the theme by the names that tools use.
//
// A colour is an index of the palette of 256, on a dark and on a light ground; where a screen has more
// colours, the same ones are sent in red, green and blue. The host draws with the same values:
// `crates/render/src/palette.rs`.

/** The terminal's own colour. */
export const OWN = -1;

/** On dark, on light; a ground may have another colour where there are more than 256. */
export type Color = readonly [dark: number, light: number, trueDark?: number, trueLight?: number];

const OWN_COLOR: Color = [OWN, OWN];

export const COLORS: Readonly<Record<string, Color>> = {
  accent: [74, 25],
  border: [67, 67],
  borderAccent: [74, 31],
  borderMuted: [240, 250],
  success: [71, 28],
  error: [167, 124],
  warning: [172, 130],
  info: [74, 25],
  link: [74, 25],
  muted: [244, 242],
  dim: [242, 245],
  text: OWN_COLOR,
  thinkingText: [244, 242],
  userMessageText: OWN_COLOR,
  customMessageText: OWN_COLOR,
  customMessageLabel: [140, 91],
  toolTitle: OWN_COLOR,
  toolOutput: [244, 242],
  toolDiffAdded: [71, 28],
  toolDiffRemoved: [167, 124],
  toolDiffContext: [244, 242],
  mdHeading: [179, 130],
  mdLink: [74, 25],
  mdLinkUrl: [242, 245],
  mdCode: [109, 30],
  mdCodeBlock: [71, 28],
  mdCodeBlockBorder: [242, 245],
  mdQuote: [244, 242],
  mdQuoteBorder: [242, 245],
  mdHr: [242, 245],
  mdListBullet: [109, 30],
  syntaxComment: [65, 65],
  syntaxKeyword: [68, 26],
  syntaxFunction: [179, 94],
  syntaxVariable: [110, 24],
  syntaxString: [173, 124],
  syntaxNumber: [108, 29],
  syntaxType: [72, 30],
  syntaxOperator: OWN_COLOR,
  syntaxPunctuation: OWN_COLOR,
  thinkingOff: [240, 250],
  thinkingMinimal: [242, 247],
  thinkingLow: [67, 67],
  thinkingMedium: [74, 31],
  thinkingHigh: [139, 96],
  thinkingXhigh: [176, 127],
  thinkingMax: [204, 161],
  bashMode: [71, 28],
  pythonMode: [179, 94],
  statusLine: [244, 242],
  statusLineSep: [240, 250],
  statusLineModel: [140, 91],
  statusLinePath: [74, 25],
  statusLineGitClean: [71, 28],
  statusLineGitDirty: [172, 130],
  statusLineContext: [244, 242],
  statusLineSpend: [109, 30],
  statusLineStaged: [71, 28],
  statusLineDirty: [172, 130],
  statusLineUntracked: [74, 25],
  statusLineOutput: [139, 96],
  statusLineCost: [139, 96],
  statusLineSubagents: [74, 25],
};

export const BACKGROUNDS: Readonly<Record<string, Color>> = {
  selectedBg: [237, 254],
  userMessageBg: [236, 254],
  customMessageBg: [236, 254],
  toolPendingBg: [235, 255],
  toolSuccessBg: [235, 255, 0x1f2a1f, 0xe4f1e4],
  toolErrorBg: [52, 224, 0x3a1f1f, 0xf8e4e4],
  statusLineBg: [235, 254],
};

const STEPS = [0, 95, 135, 175, 215, 255];
const BASIC = [
  0x000000, 0x800000, 0x008000, 0x808000, 0x000080, 0x800080, 0x008080, 0xc0c0c0, 0x808080,
  0xff0000, 0x00ff00, 0xffff00, 0x0000ff, 0xff00ff, 0x00ffff, 0xffffff,
];

/** Red, green and blue of an index. */
export function rgbOf(index: number): number {
  if (index < 16) return BASIC[index] ?? 0;
  if (index >= 232) return (8 + (index - 232) * 10) * 0x010101;
  const [red, green, blue] = [
    Math.floor((index - 16) / 36),
    Math.floor((index - 16) / 6) % 6,
    (index - 16) % 6,
  ].map((step) => STEPS[step] as number) as [number, number, number];
  return (red << 16) | (green << 8) | blue;
}

/** A colour on one of the grounds: its index, and its red, green and blue. */
export function shade(color: Color, isLight: boolean): { index: number; rgb: number } {
  const index = color[isLight ? 1 : 0];
  return { index, rgb: color[isLight ? 3 : 2] ?? rgbOf(Math.max(0, index)) };
}
