export { applyBackgroundToLine, type Component, Container, CURSOR_MARKER, type Focusable, isFocusable, Spacer, type Style, spaces as padding, } from "./component.js";
export { Editor, type EditorOptions, type EditorTheme } from "./editor.js";
export { type FuzzyMatch, fuzzyFilter, fuzzyMatch } from "./fuzzy.js";
export { getLanguageFromPath, highlightCode } from "./highlight.js";
export { allocateImageId, calculateImageCellSize, calculateImageRows, deleteAllKittyImages, deleteKittyImage, encodeITerm2, encodeKitty, getGifDimensions, getImageDimensions, getJpegDimensions, getPngDimensions, getWebpDimensions, Image, type ImageDimensions, type ImageOptions, imageFallback, renderImage, } from "./image.js";
export { Input } from "./input.js";
export { getKeybindings, type KeybindingDefinition, type KeybindingsConfig, KeybindingsManager, setKeybindings, TUI_KEYBINDINGS, } from "./keybindings.js";
export { isKeyRelease, Key, matchesKey, parseKey } from "./keys.js";
export { CancellableLoader, Loader, type LoaderIndicatorOptions } from "./loader.js";
export { type DefaultTextStyle, Markdown, type MarkdownTheme, renderInlineMarkdown, } from "./markdown.js";
export type { CellDimensions } from "./screen.js";
export { type SelectItem, SelectList, type SelectListTheme } from "./select-list.js";
export { type SettingItem, SettingsList, type SettingsListOptions, type SettingsListTheme, } from "./settings-list.js";
export { CombinedAutocompleteProvider, detectCapabilities, getCapabilities, getCellDimensions, hyperlink, ProcessTerminal, resetCapabilitiesCache, StdinBuffer, setCapabilities, setCellDimensions, type TerminalCapabilities, TUI, } from "./terminal.js";
export { Box, type BoxBorder, Text, TruncatedText } from "./text.js";
export { ansi256ToHex, initTheme, Theme, theme } from "./theme.js";
export { getEditorTheme, getMarkdownTheme, getSelectListTheme, getSettingsListTheme, keyHint, keyText, rawKeyHint, } from "./theme-components.js";
export { getSegmenter, replaceTabs, stripEscapes as stripTerminalSequences, visibleWidth, } from "./width.js";
export { sliceByColumn, sliceWithWidth, truncateToWidth, wrapTextWithAnsi } from "./wrap.js";
/** How `truncateToWidth` of omp names what it puts at the end. */
export declare const Ellipsis: {
    readonly Unicode: 0;
    readonly Ascii: 1;
    readonly Omit: 2;
};
