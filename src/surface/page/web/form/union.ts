// Field for a value of several possible types: a selection of the type, then the field for it.

import { el, freshId } from "../dom.ts";
import { type Field, fieldFor, inside, type Place } from "./field.ts";
import { fits, initial, type Schema, titleOf } from "./schema.ts";

const NOTHING = "";
const NULL = "null";

export function unionField(node: Schema, place: Place): Field {
  const { variants, nullable } = place.schemas.variants(node);
  const [only] = variants;
  if (only !== undefined && variants.length === 1 && !nullable) return fieldFor(only, place);
  const holder = el("div.variant");
  const control = el(
    "select",
    { id: freshId("field"), "aria-label": `Kind of ${place.name}`, on: { change: byHand } },
    el("option", { value: NOTHING }, place.required ? "choose …" : "not set"),
    ...variants.map((variant, index) =>
      el("option", { value: String(index) }, titleOf(variant, place.schemas)),
    ),
    nullable && el("option", { value: NULL }, "null"),
  );
  let field: Field | null = null;
  function choose(which: string, value: unknown): void {
    control.value = which;
    const variant = variants[Number(which)];
    field =
      which === NOTHING || which === NULL || variant === undefined
        ? null
        : fieldFor(variant, { ...inside(place, place.name, true) });
    if (field && value !== undefined) field.set(value);
    holder.replaceChildren(...(field ? [field.element] : []));
  }
  function byHand(): void {
    choose(control.value, undefined);
    place.changed();
  }
  const self: Field = {
    element: el("div.union", control, holder),
    control,
    text(wrong) {
      if (control.value === NULL) return "null";
      return field?.text(wrong);
    },
    set(value) {
      if (value === undefined) return choose(start(), undefined);
      if (value === null && nullable) return choose(NULL, undefined);
      const index = variants.findIndex((variant) => fits(value, variant, place.schemas));
      choose(index === -1 ? NOTHING : String(index), value);
    },
    find: (path) => field?.find(path) ?? self,
    mark(message) {
      control.toggleAttribute("aria-invalid", message !== "");
      field?.mark(message);
    },
  };
  /** A required value is shown at once. The user can still change its type. */
  function start(): string {
    return place.required && !nullable ? "0" : NOTHING;
  }
  self.set(initial(node));
  return self;
}
