// `pi-tui`: the components that tools draw their calls and results with, and the theme.
//
// The components are the published package's. Ours are the theme, what omp has beyond that package, and
// the measures beneath all components: they count columns as the host does, in a time that grows with
// the length of a line only. The terminal belongs to the program around the tool.

import { renderLatex } from "@earendil-works/pi-tui/dist/latex.js";

export { Input } from "@earendil-works/pi-tui/dist/components/input.js";
export * from "@earendil-works/pi-tui/dist/components/select-list.js";
export * from "@earendil-works/pi-tui/dist/components/settings-list.js";
export { Spacer } from "@earendil-works/pi-tui/dist/components/spacer.js";
export { type FuzzyMatch, fuzzyFilter, fuzzyMatch } from "@earendil-works/pi-tui/dist/fuzzy.js";
export * from "@earendil-works/pi-tui/dist/keybindings.js";
export { getKeybindings as getEditorKeybindings } from "@earendil-works/pi-tui/dist/keybindings.js";
export {
  decodeKittyPrintable,
  isKeyRelease,
  isKeyRepeat,
  Key,
  type KeyId,
  matchesKey,
  parseKey,
} from "@earendil-works/pi-tui/dist/keys.js";
export {
  CURSOR_MARKER,
  type Focusable,
  isFocusable,
  type OverlayAnchor,
  type OverlayHandle,
  type OverlayMargin,
  type OverlayOptions,
  type SizeValue,
} from "@earendil-works/pi-tui/dist/tui.js";
export { BorderedLoader, DynamicBorder } from "./bordered-loader.ts";
export { type Component, Container, type Style, spaces as padding } from "./component.ts";
export { Editor, type EditorOptions, type EditorScreen, type EditorTheme } from "./editor.ts";
export { getLanguageFromPath, highlightCode } from "./highlight.ts";
export { Image, type ImageOptions } from "./image.ts";
export { CancellableLoader, Loader, type LoaderIndicatorOptions } from "./loader.ts";
export {
  type DefaultTextStyle,
  Markdown,
  type MarkdownOptions,
  type MarkdownTheme,
  renderInlineMarkdown,
} from "./markdown.ts";
export { applyBackgroundToLine } from "./measures.ts";
export { ScrollView, type ScrollViewOptions } from "./scroll-view.ts";
export { type Tab, TabBar, type TabBarTheme } from "./tab-bar.ts";
export {
  __getters,
  allocateImageId,
  type CellDimensions,
  CombinedAutocompleteProvider,
  calculateImageCellSize,
  calculateImageRows,
  deleteAllKittyImages,
  deleteKittyImage,
  detectCapabilities,
  encodeITerm2,
  encodeKitty,
  getCapabilities,
  getCellDimensions,
  getGifDimensions,
  getImageDimensions,
  getJpegDimensions,
  getNativeClipboard,
  getPngDimensions,
  getWebpDimensions,
  hyperlink,
  type ImageDimensions,
  imageFallback,
  isAppleTerminalSession,
  isKittyProtocolActive,
  isViewportTUI,
  ProcessTerminal,
  renderImage,
  resetCapabilitiesCache,
  StdinBuffer,
  setCapabilities,
  setCapabilityOverrides,
  setCellDimensions,
  setImageTranscoder,
  setKittyProtocolActive,
  TERMINAL,
  type TerminalCapabilities,
  TUI,
} from "./terminal.ts";
export { Box, type BoxBorder, Text, TruncatedText } from "./text.ts";
export { ansi256ToHex, initTheme, Theme, theme } from "./theme.ts";
export * from "./theme-components.ts";
export {
  getSegmenter,
  replaceTabs,
  stripEscapes as stripTerminalSequences,
  visibleWidth,
} from "./width.ts";
export { sliceByColumn, sliceWithWidth, truncateToWidth, wrapTextWithAnsi } from "./wrap.ts";
export { renderLatex };

/** Names in omp for the text that `truncateToWidth` puts at the end. */
export const Ellipsis = { Unicode: 0, Ascii: 1, Omit: 2 } as const;

/** Returns a formula as text, with or without its dollars; as it is written if it has unknown commands. */
export function latexToUnicode(latex: string): string {
  const formula = /^\s*\${1,2}([\s\S]*?)\${1,2}\s*$/.exec(latex)?.[1] ?? latex;
  return renderLatex(formula) ?? formula;
}
