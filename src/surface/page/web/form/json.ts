// Field that edits any value as JSON text, for schemas without a better control.

import { stringify } from "../digits.ts";
import { el, freshId } from "../dom.ts";
import type { Field, Place } from "./field.ts";
import { single } from "./plain.ts";
import { initial, type Schema } from "./schema.ts";

export function jsonField(node: Schema, place: Place): Field {
  const control = el("textarea", {
    id: freshId("field"),
    rows: "1",
    class: "grows code",
    spellcheck: "false",
    autocomplete: "off",
    "aria-label": `${place.name}, as JSON`,
    placeholder: "JSON",
    on: { input: place.changed },
  });
  const field: Field = single(control, control, initial(node), {
    text(wrong) {
      const written = control.value.trim();
      if (written === "") return undefined;
      const message = faultOf(written);
      if (message === null) return written;
      wrong.push({ field, message });
      return undefined;
    },
    set(value) {
      control.value = value === undefined ? "" : stringify(value, 2);
    },
  });
  return field;
}

/** Returns the syntax error of a JSON text; null if it is valid. */
export function faultOf(text: string): string | null {
  try {
    JSON.parse(text);
    return null;
  } catch (error) {
    return `not JSON: ${error instanceof Error ? error.message : error}`;
  }
}
