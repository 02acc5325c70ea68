export { type Component, Container, Spacer, type Style } from "./component.js";
export { getImageDimensions, Image, type ImageDimensions, type ImageOptions } from "./image.js";
export { Input } from "./input.js";
export { isKeyRelease, Key, matchesKey, parseKey } from "./keys.js";
export { type DefaultTextStyle, Markdown, type MarkdownTheme } from "./markdown.js";
export { type SelectItem, SelectList, type SelectListTheme } from "./select-list.js";
export { Box, Text, TruncatedText } from "./text.js";
export { visibleWidth } from "./width.js";
export { truncateToWidth, wrapTextWithAnsi } from "./wrap.js";
