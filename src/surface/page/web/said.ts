// Display of a call's result: text, images, JSON as a tree, details.

import type { Block, Said } from "./api.ts";
import { button, el } from "./dom.ts";
import { parse, tree } from "./tree.ts";
import { prose } from "./visible.ts";

/** Length above which a text is cut until the user expands it. */
const LONG = 40_000;

/** Returns the elements that show the result. */
export function said(what: Said): HTMLElement[] {
  const shown = (what.content ?? []).map(block);
  const { details } = what;
  const hasDetails =
    details !== undefined &&
    details !== null &&
    !(typeof details === "object" && Object.keys(details).length === 0);
  if (hasDetails) {
    shown.push(el("details", { class: "more" }, el("summary", { text: "Details" }), tree(details)));
  }
  if (shown.length === 0) shown.push(el("p", { class: "calm", text: "The tool said nothing." }));
  return shown;
}

function block(one: Block): HTMLElement {
  if (one.type === "text") return text(one.text);
  if (one.type === "image") return image(one.data, one.mimeType);
  if (one.type === "audio") return named(`${one.mimeType}, ${kibibytes(one.data)}`);
  if (one.type === "resource_link") return named(one.title ?? one.name, one.uri, one.description);
  const { uri, mimeType, text: words, blob } = one.resource;
  if (words === undefined) return named(uri, mimeType, blob && kibibytes(blob));
  return el("div", {}, named(uri, mimeType), text(words));
}

/** A description of content that is not shown itself, from its known properties. */
function named(...facts: (string | undefined)[]): HTMLElement {
  return el("p", { class: "path", text: facts.filter(Boolean).join(", ") });
}

function kibibytes(base64: string): string {
  return `${Math.ceil((base64.length * 3) / 4 / 1024)} KiB`;
}

function text(value: string): HTMLElement {
  const found = structured(value);
  const plain = el("pre", { class: "text", tabindex: "0" });
  plain.textContent = prose(value.slice(0, LONG));
  const whole = el("div", { class: "block" }, plain);
  if (value.length > LONG) {
    const more = button(`Show ${value.length - LONG} more characters`, () => {
      plain.textContent = prose(value);
      more.remove();
    });
    more.className = "quiet";
    whole.append(more);
  }
  whole.append(copyButton(value));
  if (found === undefined) return whole;
  const asTree = el("div", { class: "block" }, tree(found), copyButton(value));
  const swap = button("Show the text", () => {
    const isTree = asTree.isConnected;
    (isTree ? asTree : whole).replaceWith(isTree ? whole : asTree);
    swap.textContent = isTree ? "Show the tree" : "Show the text";
  });
  swap.className = "quiet";
  return el("div", {}, asTree, swap);
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
  const caption = el("figcaption", { text: `${mimeType}, ${kibibytes(data)}` });
  if (!isDrawn) return el("figure", {}, caption);
  const drawn = el("img", { src: source, alt: `Image from the tool (${mimeType})` });
  drawn.addEventListener("error", () => drawn.replaceWith("This image cannot be shown."));
  return el("figure", {}, drawn, caption);
}

export function copyButton(value: string): HTMLButtonElement {
  const copy = button("Copy", async () => {
    try {
      await navigator.clipboard.writeText(value);
      copy.textContent = "Copied";
    } catch {
      copy.textContent = "Cannot copy";
    }
    setTimeout(() => {
      copy.textContent = "Copy";
    }, 1500);
  });
  copy.className = "quiet copy";
  return copy;
}

/** Formats milliseconds for the user. */
export function time(milliseconds: number): string {
  if (milliseconds < 10) return `${milliseconds.toFixed(1)} ms`;
  if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`;
  if (milliseconds < 60_000) return `${(milliseconds / 1000).toFixed(1)} s`;
  const minutes = Math.floor(milliseconds / 60_000);
  return `${minutes} min ${Math.round((milliseconds % 60_000) / 1000)} s`;
}
