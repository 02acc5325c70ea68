// `pi-tui`: the components that tools draw their calls and results with.
//
// Written for the contract of the original (spec omp 9), not from its code. Here are components
// and text measures only; a screen, a terminal and an editor belong to the program around the tool.

export { type Component, Container, Spacer, type Style } from "./component.ts";
export { getImageDimensions, Image, type ImageDimensions, type ImageOptions } from "./image.ts";
export { Input } from "./input.ts";
export { isKeyRelease, Key, matchesKey, parseKey } from "./keys.ts";
export { type DefaultTextStyle, Markdown, type MarkdownTheme } from "./markdown.ts";
export { type SelectItem, SelectList, type SelectListTheme } from "./select-list.ts";
export { Box, Text, TruncatedText } from "./text.ts";
export { visibleWidth } from "./width.ts";
export { truncateToWidth, wrapTextWithAnsi } from "./wrap.ts";
