// Fields for objects: one for each property, and rows for properties of any name.

import { el, focusFirst, freshId, quietButton } from "../dom.ts";
import { constraints, valuesOf } from "./constraints.ts";
import { type Field, fieldFor, groupNote, inside, type Place, type Wrong } from "./field.ts";
import { jsonField } from "./json.ts";
import { initial, isRecord, kindOf, type Schema } from "./schema.ts";

interface Property {
  name: string;
  field: Field;
}

export function objectField(node: Schema, place: Place): Field {
  const declared: [string, unknown][] = Object.entries(node["properties"] ?? {});
  const required = new Set<string>(Array.isArray(node["required"]) ? node["required"] : []);
  // Required properties come first. Otherwise the order of the schema is kept.
  const ordered = [
    ...declared.filter(([name]) => required.has(name)),
    ...declared.filter(([name]) => !required.has(name)),
  ];
  const properties: Property[] = [];
  const rows = el("div.rows");
  const free = freeRows(node, place);
  for (const [name, schema] of ordered) {
    const at = inside(place, name, required.has(name));
    const field = at.required ? fieldFor(schema, at) : optional(schema, at);
    properties.push({ name, field });
    rows.append(row(name, place.schemas.resolve(schema), field, at));
  }
  const { note, mark } = groupNote();
  const self: Field = {
    element: el("div.object", rows, free?.element, note),
    control: null,
    text(wrong) {
      const pairs = properties.flatMap(({ name, field }) => pair(name, field.text(wrong)));
      pairs.push(...(free?.pairs(wrong) ?? []));
      const isEmpty = pairs.length === 0 && !place.required && declared.length > 0;
      return isEmpty && place.depth > 0 ? undefined : `{${pairs.join(",")}}`;
    },
    set(value) {
      const given = isRecord(value) ? value : {};
      for (const { name, field } of properties) {
        field.set(Object.hasOwn(given, name) ? given[name] : undefined);
      }
      const names = new Set(properties.map(({ name }) => name));
      free?.set(Object.entries(given).filter(([name]) => !names.has(name)));
    },
    find(path) {
      const [name, ...rest] = path;
      if (name === undefined) return self;
      const found = properties.find((property) => property.name === name);
      return found?.field.find(rest) ?? found?.field ?? free?.find(name, rest) ?? null;
    },
    mark,
  };
  if (isRecord(node["default"])) self.set(node["default"]);
  return self;
}

function pair(name: string, text: string | undefined): string[] {
  return text === undefined ? [] : [`${JSON.stringify(name)}:${text}`];
}

/**
 * Creates the field of an optional property. A group is only created when the user adds it, because
 * its schema may contain itself.
 */
function optional(schema: unknown, place: Place): Field {
  const node = place.schemas.resolve(schema);
  if (!fillsItself(node)) return fieldFor(schema, place);
  let field: Field | null = null;
  const holder = el("div.optional");
  const add = quietButton("+ Add", () => open(undefined, true), `Add ${place.name}`);
  const away = quietButton("Remove", () => close(true), `Remove ${place.name}`);
  function open(value: unknown, byHand: boolean): void {
    field = fieldFor(schema, { ...place, required: true });
    if (value !== undefined) field.set(value);
    holder.replaceChildren(field.element, away);
    if (!byHand) return;
    place.changed();
    focusFirst(holder);
  }
  function close(byHand: boolean): void {
    field = null;
    holder.replaceChildren(add);
    if (!byHand) return;
    place.changed();
    add.focus();
  }
  const self: Field = {
    element: holder,
    control: null,
    text: (wrong) => field?.text(wrong),
    set: (value) => (value === undefined ? close(false) : open(value, false)),
    find: (path) => (path.length === 0 ? self : (field?.find(path) ?? self)),
    mark: (message) => field?.mark(message),
  };
  self.set(initial(node));
  return self;
}

/** Returns true if the field has content as soon as it exists. */
function fillsItself(node: Schema): boolean {
  const isTuple = Array.isArray(node["prefixItems"]) || Number(node["minItems"] ?? 0) > 0;
  return kindOf(node) === "object" || (kindOf(node) === "array" && isTuple);
}

/** Creates the row of a property: its name, type, description and field. */
function row(name: string, node: Schema, field: Field, place: Place): HTMLElement {
  const hint = freshId("hint");
  const head = el(
    field.control ? "label" : "span",
    { class: "name", for: field.control?.id },
    name,
  );
  const facts = el(
    "span.facts",
    typeName(node, place),
    place.required && el("span.required", "required"),
    ...constraints(node).map((text) => el("span.constraint", text)),
  );
  const description = node["description"];
  const about = typeof description === "string" && el("p.about", { id: hint }, description);
  if (about && field.control) field.control.setAttribute("aria-describedby", hint);
  const isGroup = field.control === null;
  return el(
    "div",
    isGroup ? { class: "row group", role: "group", "aria-label": name } : { class: "row" },
    el("div.head", head, facts),
    about,
    field.element,
  );
}

/** Returns a short name of the type. */
export function typeName(node: Schema, place: Place): string {
  switch (kindOf(node)) {
    case "const":
      return "fixed";
    case "enum":
      return valuesOf(node);
    case "any":
      return "any";
    case "union": {
      const { variants, nullable } = place.schemas.variants(node);
      const names = variants.map((variant) => typeName(variant, place));
      return [...new Set([...names, ...(nullable ? ["null"] : [])])].join(" or ");
    }
    case "array": {
      const items = node["items"];
      return isRecord(items) ? `list of ${typeName(place.schemas.resolve(items), place)}` : "list";
    }
    case "string":
      return typeof node["format"] === "string" ? node["format"] : "text";
    default:
      return kindOf(node);
  }
}

/**
 * Returns true if the form offers properties that the schema does not name. A schema without
 * `additionalProperties` gets such rows only if it says nothing about properties.
 */
export function acceptsMore(node: Schema): boolean {
  const schema = node["additionalProperties"] ?? Object.values(node["patternProperties"] ?? {})[0];
  if (schema === undefined) return node["properties"] === undefined;
  return isRecord(schema) || schema === true;
}

interface FreeRows {
  element: HTMLElement;
  pairs(wrong: Wrong[]): string[];
  set(entries: [string, unknown][]): void;
  find(name: string, rest: string[]): Field | null;
}

/** Creates rows for properties that the schema does not name, if it allows them. */
function freeRows(node: Schema, place: Place): FreeRows | null {
  const schema = node["additionalProperties"] ?? Object.values(node["patternProperties"] ?? {})[0];
  const isOpen = acceptsMore(node);
  const list = el("div.free");
  const all = new Map<HTMLElement, { key: HTMLInputElement; field: Field }>();
  function add(name: string, value: unknown): HTMLInputElement {
    const at = inside(place, name || "value", true);
    const field = isRecord(schema) ? fieldFor(schema, at) : jsonField({}, at);
    if (value !== undefined) field.set(value);
    const key = el("input", {
      type: "text",
      class: "key",
      placeholder: "name",
      "aria-label": "Name of the property",
      spellcheck: "false",
      autocomplete: "off",
      on: { input: place.changed },
    });
    key.value = name;
    const line = el("div.pair", key, field.element);
    const drop = quietButton("Remove", () => remove(line));
    line.append(drop);
    all.set(line, { key, field });
    list.append(line);
    return key;
  }
  function remove(line: HTMLElement): void {
    all.delete(line);
    line.remove();
    place.changed();
    more.focus();
  }
  const more = quietButton("+ Add a property", () => add("", undefined).focus());
  const element = el("div", list, isOpen && more);
  return {
    element,
    pairs: (wrong) =>
      [...all.values()].flatMap(({ key, field }) => pair(key.value, field.text(wrong))),
    set(entries) {
      all.clear();
      list.replaceChildren();
      for (const [name, value] of entries) add(name, value);
    },
    find(name, rest) {
      const found = [...all.values()].find(({ key }) => key.value === name);
      return found?.field.find(rest) ?? found?.field ?? null;
    },
  };
}
