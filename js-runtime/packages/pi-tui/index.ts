// `pi-tui`: the components that tools draw their calls and results with, and the theme.
//
// Written for the contract of the original (spec omp 9), not from its code. Here are components, text
// measures and styles; the terminal belongs to the program around the tool.

export { BorderedLoader } from "./bordered-loader.ts";
export {
  applyBackgroundToLine,
  type Component,
  Container,
  CURSOR_MARKER,
  type Focusable,
  isFocusable,
  Spacer,
  type Style,
  spaces as padding,
} from "./component.ts";
export { Editor, type EditorOptions, type EditorTheme } from "./editor.ts";
export { type FuzzyMatch, fuzzyFilter, fuzzyMatch } from "./fuzzy.ts";
export { getLanguageFromPath, highlightCode } from "./highlight.ts";
export {
  allocateImageId,
  calculateImageCellSize,
  calculateImageRows,
  deleteAllKittyImages,
  deleteKittyImage,
  encodeITerm2,
  encodeKitty,
  getGifDimensions,
  getImageDimensions,
  getJpegDimensions,
  getPngDimensions,
  getWebpDimensions,
  Image,
  type ImageDimensions,
  type ImageOptions,
  imageFallback,
  renderImage,
} from "./image.ts";
export { Input } from "./input.ts";
export {
  getEditorKeybindings,
  getKeybindings,
  type KeybindingDefinition,
  type KeybindingsConfig,
  KeybindingsManager,
  setKeybindings,
  TUI_KEYBINDINGS,
} from "./keybindings.ts";
export { isKeyRelease, Key, matchesKey, parseKey } from "./keys.ts";
export { latexToUnicode } from "./latex.ts";
export { CancellableLoader, Loader, type LoaderIndicatorOptions } from "./loader.ts";
export {
  type DefaultTextStyle,
  Markdown,
  type MarkdownTheme,
  renderInlineMarkdown,
} from "./markdown.ts";
export type {
  OverlayAnchor,
  OverlayHandle,
  OverlayMargin,
  OverlayOptions,
  SizeValue,
} from "./overlay.ts";
export type { CellDimensions } from "./screen.ts";
export { ScrollView, type ScrollViewOptions } from "./scroll-view.ts";
export { type SelectItem, SelectList, type SelectListTheme } from "./select-list.ts";
export {
  type SettingItem,
  SettingsList,
  type SettingsListOptions,
  type SettingsListTheme,
} from "./settings-list.ts";
export { type Tab, TabBar, type TabBarTheme } from "./tab-bar.ts";
export {
  CombinedAutocompleteProvider,
  detectCapabilities,
  getCapabilities,
  getCellDimensions,
  hyperlink,
  ProcessTerminal,
  resetCapabilitiesCache,
  StdinBuffer,
  setCapabilities,
  setCellDimensions,
  TERMINAL,
  type TerminalCapabilities,
  TUI,
} from "./terminal.ts";
export { Box, type BoxBorder, Text, TruncatedText } from "./text.ts";
export { ansi256ToHex, initTheme, Theme, theme } from "./theme.ts";
export {
  getEditorTheme,
  getMarkdownTheme,
  getSelectListTheme,
  getSettingsListTheme,
  keyHint,
  keyText,
  rawKeyHint,
} from "./theme-components.ts";
export {
  getSegmenter,
  replaceTabs,
  stripEscapes as stripTerminalSequences,
  visibleWidth,
} from "./width.ts";
export { sliceByColumn, sliceWithWidth, truncateToWidth, wrapTextWithAnsi } from "./wrap.ts";

/** Names in omp for the text that `truncateToWidth` puts at the end. */
export const Ellipsis = { Unicode: 0, Ascii: 1, Omit: 2 } as const;
