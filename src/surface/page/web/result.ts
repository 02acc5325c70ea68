// Display of a call's result: text, Markdown, JSON as a tree or a table, images, details.

import type { Block, CallResult } from "./api.ts";
import { parse } from "./digits.ts";
import { el, fill, quietButton, viewButtons } from "./dom.ts";
import { isMarkdown, markdown } from "./markdown.ts";
import { asTable, tree } from "./tree.ts";
import { prose } from "./visible.ts";

/** Length above which a text is cut until the user expands it. */
const LONG = 40_000;

/** Returns the elements that show the result. */
export function resultElements(result: CallResult): HTMLElement[] {
  const shown = (result.content ?? []).map(block);
  const { details } = result;
  const hasDetails =
    details !== undefined &&
    details !== null &&
    !(typeof details === "object" && Object.keys(details).length === 0);
  if (hasDetails) {
    shown.push(el("details.more", el("summary", "Details"), tree(details)));
  }
  if (shown.length === 0) {
    shown.push(el("p.calm", "The tool returned nothing."));
  }
  return shown;
}

/** Returns the texts of a result, for comparisons and tests. */
export function resultText(result: CallResult): string {
  const texts = (result.content ?? []).map((one) => {
    if (one.type === "text") return one.text;
    if (one.type === "image" || one.type === "audio") return `[${one.type}: ${one.mimeType}]`;
    return one.type === "resource" ? (one.resource.text ?? one.resource.uri) : one.uri;
  });
  return texts.join("\n");
}

function block(one: Block): HTMLElement {
  if (one.type === "text") return textBlock(one.text);
  if (one.type === "image") return image(one.data, one.mimeType);
  if (one.type === "audio") return named(`${one.mimeType}, ${kibibytes(one.data)}`);
  if (one.type === "resource_link") return named(one.title ?? one.name, one.uri, one.description);
  const { uri, mimeType, text: words, blob } = one.resource;
  if (words === undefined) return named(uri, mimeType, blob && kibibytes(blob));
  return el("div", named(uri, mimeType), textBlock(words));
}

/** A description of content that is not shown itself, from its known properties. */
function named(...facts: (string | undefined)[]): HTMLElement {
  return el("p.path", facts.filter(Boolean).join(", "));
}

function kibibytes(base64: string): string {
  return `${Math.ceil((base64.length * 3) / 4 / 1024)} KiB`;
}

/** One way to show a value. */
export interface ValueView {
  name: string;
  make: () => HTMLElement;
}

/** Creates a text with the views that suit it: as a table, a tree, Markdown, or as it is. */
function textBlock(value: string): HTMLElement {
  const views: ValueView[] = [{ name: "Text", make: () => plainText(value) }];
  const found = structured(value);
  if (found !== undefined) {
    views.unshift({ name: "Tree", make: () => tree(found) });
    const rows = asTable(found);
    if (rows !== null) views.unshift({ name: "Table", make: rows });
  } else if (isMarkdown(value)) {
    views.unshift({ name: "Markdown", make: () => markdown(value) });
  }
  return viewer(views, value);
}

/** Creates a block that shows the first view, with buttons for the others and for copying. */
export function viewer(views: ValueView[], value: string): HTMLElement {
  const body = el("div.view");
  const names = views.map(({ name }) => name);
  const tabs = viewButtons("View", names, (index) => fill(body, views[index]?.make()));
  const bar = el("div.view-bar", names.length > 1 && tabs, el("span.space"), copyButton(value));
  return el("div.block", bar, body);
}

function plainText(value: string): HTMLElement {
  const plain = el("pre.text", { tabindex: "0" });
  plain.textContent = prose(value.slice(0, LONG));
  if (value.length <= LONG) return plain;
  const more = quietButton(`Show ${value.length - LONG} more characters`, () => {
    plain.textContent = prose(value);
    more.remove();
  });
  return el("div", plain, more);
}

/** Parses a text that is a JSON object or array; undefined for other texts. */
function structured(value: string): unknown {
  const start = value.trimStart()[0];
  if (start !== "{" && start !== "[") return undefined;
  try {
    return parse(value);
  } catch {
    return undefined;
  }
}

function image(data: string, mimeType: string): HTMLElement {
  // Only image types that browsers can show. Other types only get a caption.
  const isDrawn = /^image\/(png|jpeg|gif|webp|avif|bmp|svg\+xml)$/.test(mimeType);
  const source = `data:${mimeType};base64,${data.replaceAll(/[^A-Za-z0-9+/=]/g, "")}`;
  const caption = el("figcaption", `${mimeType}, ${kibibytes(data)}`);
  if (!isDrawn) return el("figure", caption);
  const drawn = el("img", { src: source, alt: `Image from the tool (${mimeType})` });
  drawn.addEventListener("error", () => drawn.replaceWith("This image cannot be shown."));
  return el("figure", drawn, caption);
}

export function copyButton(value: string, label = "Copy"): HTMLButtonElement {
  const copy = quietButton(label, async () => {
    copy.textContent = (await copyText(value)) ? "Copied" : "Cannot copy";
    setTimeout(() => {
      copy.textContent = label;
    }, 1500);
  });
  copy.classList.add("copy");
  return copy;
}

/** Copies a text. Returns false if the browser refuses. */
async function copyText(value: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(value);
    return true;
  } catch {
    // Browsers have the clipboard on secure addresses only; the old way works elsewhere, too.
    const field = el("textarea.unseen");
    field.value = value;
    const parent = document.querySelector("dialog[open]") ?? document.body;
    parent.append(field);
    field.select();
    const isCopied = document.execCommand("copy");
    field.remove();
    return isCopied;
  }
}

/** Formats milliseconds for the user. */
export function time(milliseconds: number): string {
  if (milliseconds < 10) return `${milliseconds.toFixed(1)} ms`;
  if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`;
  if (milliseconds < 60_000) return `${(milliseconds / 1000).toFixed(1)} s`;
  const minutes = Math.floor(milliseconds / 60_000);
  return `${minutes} min ${Math.round((milliseconds % 60_000) / 1000)} s`;
}

/** Formats a moment: the time, and the date unless it is today. */
export function moment(milliseconds: number): string {
  const date = new Date(milliseconds);
  const clock = date.toLocaleTimeString();
  const isToday = date.toDateString() === new Date().toDateString();
  return isToday ? clock : `${date.toLocaleDateString()} ${clock}`;
}
