// Fields for arrays: a list of any length, or one field for each item of a tuple.

import { el, fill, focusFirst, quietButton } from "../dom.ts";
import { type Field, fieldFor, groupNote, inside, type Place } from "./field.ts";
import { initial, type Schema, same } from "./schema.ts";

export function arrayField(node: Schema, place: Place): Field {
  const tuple: unknown[] = Array.isArray(node["prefixItems"]) ? node["prefixItems"] : [];
  const rest = node["items"];
  const choices = uniqueChoices(node, place);
  if (choices !== null && tuple.length === 0) return checkList(choices, node, place);
  const list = el("ol.items");
  const { note, mark } = groupNote();
  let items: Field[] = [];
  const more = quietButton(
    "+ Add an item",
    () => {
      add(undefined);
      place.changed();
      focusFirst(list.lastElementChild);
    },
    `Add an item to ${place.name}`,
  );
  const canGrow = rest !== false;

  function add(value: unknown): void {
    const index = items.length;
    const schema = tuple[index] ?? rest ?? {};
    const field = fieldFor(schema, inside(place, `${place.name} ${index + 1}`, true));
    if (value !== undefined) field.set(value);
    items.push(field);
    draw();
  }
  function move(index: number, by: number): void {
    const [field] = items.splice(index, 1);
    if (field) items.splice(index + by, 0, field);
    draw();
    place.changed();
  }
  function drop(index: number): void {
    items.splice(index, 1);
    draw();
    place.changed();
    more.focus();
  }
  function draw(): void {
    const lines = items.map((field, index) => {
      const isFixed = index < tuple.length;
      const tool = (text: string, action: () => void, what: string) =>
        quietButton(text, action, `${what} item ${index + 1}`);
      return el(
        "li",
        field.element,
        !isFixed &&
          el(
            "span.tools",
            index > tuple.length && tool("↑", () => move(index, -1), "Move up"),
            index < items.length - 1 && tool("↓", () => move(index, 1), "Move down"),
            tool("Remove", () => drop(index), "Remove"),
          ),
      );
    });
    fill(list, ...lines);
  }
  function set(value: unknown): void {
    items = [];
    const values = Array.isArray(value) ? value : [];
    const least = Math.max(tuple.length, Number(node["minItems"] ?? 0), values.length);
    for (let index = 0; index < Math.min(least, 1000); index++) add(values[index]);
    draw();
  }
  const self: Field = {
    element: el("div.array", list, canGrow && more, note),
    control: null,
    text(wrong) {
      const texts = items.map((field) => field.text(wrong) ?? "null");
      return texts.length === 0 && !place.required ? undefined : `[${texts.join(",")}]`;
    },
    set,
    find(path) {
      const [index, ...below] = path;
      if (index === undefined) return self;
      const item = items[Number(index)];
      return item?.find(below) ?? item ?? self;
    },
    mark,
  };
  set(initial(node));
  return self;
}

/** Returns the choices of an array whose items are unique values of an enum; else null. */
function uniqueChoices(node: Schema, place: Place): unknown[] | null {
  if (node["uniqueItems"] !== true) return null;
  const items = place.schemas.resolve(node["items"]);
  return Array.isArray(items["enum"]) ? items["enum"] : null;
}

function checkList(choices: unknown[], node: Schema, place: Place): Field {
  const boxes = choices.map((value) => {
    const box = el("input", { type: "checkbox", on: { change: place.changed } });
    const text = typeof value === "string" ? value : JSON.stringify(value);
    return { value, box, line: el("label", box, text) };
  });
  const { note, mark } = groupNote();
  const self: Field = {
    element: el("div.checks", ...boxes.map(({ line }) => line), note),
    control: null,
    text() {
      const chosen = boxes
        .filter(({ box }) => box.checked)
        .map(({ value }) => JSON.stringify(value));
      return chosen.length === 0 && !place.required ? undefined : `[${chosen.join(",")}]`;
    },
    set(value) {
      const given = Array.isArray(value) ? value : [];
      for (const { box, value: own } of boxes) box.checked = given.some((one) => same(one, own));
    },
    find: () => self,
    mark,
  };
  self.set(initial(node));
  return self;
}
