// Interface of the form controls, and the selection of a control for a schema.

import { el } from "../dom.ts";
import { prose } from "../visible.ts";
import { arrayField } from "./array.ts";
import { jsonField } from "./json.ts";
import { objectField } from "./object.ts";
import { booleanField, choiceField, fixedField, numberField, textField } from "./plain.ts";
import { kindOf, type Schema, type Schemas } from "./schema.ts";
import { unionField } from "./union.ts";

/** A control, or a group of controls. */
export interface Field {
  /** The element to show. */
  readonly element: HTMLElement;
  /** The element for a label's `for`; null if the field is a group. */
  readonly control: HTMLElement | null;
  /**
   * The value as JSON text, which keeps all digits of a number; undefined: nothing is set.
   * What cannot be JSON is added to `wrong`.
   */
  text(wrong: Wrong[]): string | undefined;
  /** Shows a value; undefined clears the field. */
  set(value: unknown): void;
  /** Returns the field below this one at the path, if any. */
  find(path: string[]): Field | null;
  /** Shows an error message; an empty text removes it. */
  mark(message: string): void;
}

export interface Wrong {
  field: Field;
  message: string;
}

/** Creates the place for the error message of a group of controls. */
export function groupNote(): { note: HTMLElement; mark: Field["mark"] } {
  const note = el("p.wrong", { hidden: true });
  const mark = (message: string) => {
    note.textContent = prose(message);
    note.hidden = message === "";
  };
  return { note, mark };
}

/** Context of a field. */
export interface Place {
  schemas: Schemas;
  required: boolean;
  /** Name of the field for screen readers. */
  name: string;
  depth: number;
  changed: () => void;
}

/** Depth limit of nested fields. Deeper values are edited as JSON. */
const DEEPEST = 8;

/** Creates the field for a schema. */
export function fieldFor(schema: unknown, place: Place): Field {
  const node: Schema = place.schemas.resolve(schema);
  if (place.depth > DEEPEST) return jsonField(node, place);
  switch (kindOf(node)) {
    case "const":
    case "null":
      return fixedField(node, place);
    case "enum":
      return choiceField(node, place);
    case "union":
      return unionField(node, place);
    case "string":
      return textField(node, place);
    case "number":
    case "integer":
      return numberField(node, place);
    case "boolean":
      return booleanField(node, place);
    case "object":
      return objectField(node, place);
    case "array":
      return arrayField(node, place);
    case "any":
      return jsonField(node, place);
  }
}

/** Returns the context of a field inside of the field at `place`. */
export function inside(place: Place, name: string, required: boolean): Place {
  return { ...place, name, required, depth: place.depth + 1 };
}
