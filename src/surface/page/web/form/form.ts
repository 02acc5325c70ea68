// Arguments of a tool, edited in a form or as JSON. Both views have the same content.

import { parse, stringify } from "../digits.ts";
import { el, fill, focusFirst } from "../dom.ts";
import { viewer } from "../result.ts";
import { tree } from "../tree.ts";
import { type Field, fieldFor, type Wrong } from "./field.ts";
import { faultOf, jsonField } from "./json.ts";
import { acceptsMore } from "./object.ts";
import { isRecord, kindOf, type Schema, Schemas } from "./schema.ts";

export type Mode = "form" | "json" | "schema";

export interface Form {
  element: HTMLElement;
  /**
   * Returns the arguments as JSON text; null if they are invalid, in which case the errors are
   * shown.
   */
  arguments(): string | null;
  /** Shows these arguments. */
  set(value: unknown): void;
  /** Shows the tool's errors at the arguments. Errors for unknown arguments are left out. */
  mark(message: string): void;
  clear(): void;
  focus(): void;
}

const MODES: Mode[] = ["form", "json", "schema"];

/** Creates a form for a schema. `changed` is called after each change by the user. */
export function makeForm(schema: unknown, changed: () => void): Form {
  const root: Schema = isRecord(schema) ? schema : {};
  const schemas = new Schemas(root);
  const place = { schemas, required: true, name: "arguments", depth: 0, changed: edited };
  const canForm = kindOf(schemas.resolve(root)) !== "any";
  let field = fieldFor(root, place);
  const raw = jsonField({}, place);
  let mode: Mode = canForm ? "form" : "json";
  /** The view in which the arguments were edited last. */
  let edit: "form" | "json" = canForm ? "form" : "json";
  const body = el("div.form-body");
  const tabs = new Map<Mode, HTMLButtonElement>();
  const element = el("div.form", tabList(), body);
  let marked: Field[] = [];

  function edited(): void {
    unmark();
    changed();
  }
  function tabList(): HTMLElement {
    const list = el("div.tabs", { role: "tablist", "aria-label": "Arguments" });
    for (const [name, text] of [
      ["form", "Form"],
      ["json", "JSON"],
      ["schema", "Schema"],
    ] as [Mode, string][]) {
      const tab = el(
        "button",
        {
          type: "button",
          role: "tab",
          disabled: name === "form" && !canForm,
          on: { click: () => show(name), keydown: (event) => turn(event, name) },
        },
        text,
      );
      tabs.set(name, tab);
      list.append(tab);
    }
    return list;
  }
  function turn(event: KeyboardEvent, from: Mode): void {
    if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
    event.preventDefault();
    const order = MODES.filter((one) => one !== "form" || canForm);
    const step = event.key === "ArrowRight" ? 1 : order.length - 1;
    show(order[(order.indexOf(from) + step) % order.length] ?? from);
    tabs.get(mode)?.focus();
  }
  function show(wanted: Mode): void {
    if (wanted === mode || (wanted === "form" && !canForm)) return;
    if (wanted === "schema" || wanted === edit) {
      // The view of the arguments that was edited last is unchanged.
    } else if (wanted === "json") {
      const text = field.text([]);
      raw.set(text === undefined ? undefined : parse(text));
    } else {
      const text = raw.text([]);
      if (text === undefined && faultOf(rawText()) !== null && rawText().trim() !== "") return;
      field.set(text === undefined ? undefined : parse(text));
    }
    mode = wanted;
    if (wanted !== "schema") edit = wanted;
    draw();
  }
  function rawText(): string {
    return (raw.control as HTMLTextAreaElement).value;
  }
  function draw(): void {
    for (const [name, tab] of tabs) {
      tab.setAttribute("aria-selected", String(name === mode));
      tab.tabIndex = name === mode ? 0 : -1;
    }
    const node = schemas.resolve(root);
    const isEmpty = kindOf(node) === "object" && Object.keys(node["properties"] ?? {}).length === 0;
    const nothing = mode === "form" && isEmpty && !acceptsMore(node);
    fill(
      body,
      nothing && el("p.calm", "This tool takes no arguments."),
      mode === "schema" ? schemaView(schema) : mode === "form" ? field.element : raw.element,
    );
  }
  function unmark(): void {
    for (const one of marked) one.mark("");
    marked = [];
  }
  draw();
  return {
    element,
    arguments() {
      unmark();
      const wrong: Wrong[] = [];
      if (mode === "schema") show(edit);
      const text = (edit === "form" ? field : raw).text(wrong);
      for (const { field: where, message } of wrong) {
        where.mark(message);
        marked.push(where);
      }
      wrong[0]?.field.control?.focus();
      return wrong.length > 0 ? null : (text ?? "{}");
    },
    set(value) {
      if (mode === "schema") show(edit);
      if (edit === "json") raw.set(value);
      field = fieldFor(root, place);
      field.set(value);
      draw();
    },
    mark(message) {
      unmark();
      if (edit !== "form") return;
      for (const { path, text } of complaints(message)) {
        const where = field.find(path);
        if (where === null || where === field) continue;
        where.mark(text);
        marked.push(where);
      }
      marked[0]?.control?.focus();
    },
    clear() {
      unmark();
      raw.set(undefined);
      field = fieldFor(root, place);
      draw();
    },
    focus: () => focusFirst(body),
  };
}

function schemaView(schema: unknown): HTMLElement {
  const text = stringify(schema, 2);
  const views = [
    { name: "Tree", make: () => tree(schema) },
    { name: "JSON", make: () => el("pre.text", { tabindex: "0" }, text) },
  ];
  return viewer(views, text);
}

/** Parses the lines `- path.to.argument: error` of a message. */
export function complaints(message: string): { path: string[]; text: string }[] {
  const lines = message.split("\n").map((line) => /^\s*-\s+([^\s:]+):\s+(.+)$/.exec(line));
  return lines.flatMap((found) => {
    const [, where, text] = found ?? [];
    if (where === undefined || text === undefined) return [];
    const path = where
      .replace(/^\//, "")
      .replaceAll(/\[(\d+)\]/g, ".$1")
      .split(/[./]/);
    return [{ path: path.filter(Boolean), text }];
  });
}
