// What every control of a form is, and which one a schema gets.

import { arrayField } from "./array.ts";
import { jsonField } from "./json.ts";
import { objectField } from "./object.ts";
import { booleanField, choiceField, fixedField, numberField, textField } from "./plain.ts";
import { kindOf, type Schema, type Schemas } from "./schema.ts";
import { unionField } from "./union.ts";

/** One control, or a group of them. */
export interface Field {
  /** What is shown. */
  readonly element: HTMLElement;
  /** The element that a label is for; null where the field is a group. */
  readonly control: HTMLElement | null;
  /**
   * The value as JSON text, which keeps all digits of a number; undefined: nothing is set.
   * What cannot be JSON is added to `wrong`.
   */
  text(wrong: Wrong[]): string | undefined;
  /** Shows a value; undefined clears the field. */
  set(value: unknown): void;
  /** The field below this one that the path leads to, if any. */
  find(path: string[]): Field | null;
  /** Says what is wrong with it; an empty text takes that back. */
  mark(message: string): void;
}

export interface Wrong {
  field: Field;
  message: string;
}

/** Where a field stands. */
export interface Place {
  schemas: Schemas;
  required: boolean;
  /** What it is called, for those who cannot see where it is. */
  name: string;
  depth: number;
  changed: () => void;
}

/** Deeper than this a form is of no help; the rest is written as JSON. */
const DEEPEST = 8;

/** The field for a schema. */
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

/** The place of something inside of the field at `place`. */
export function inside(place: Place, name: string, required: boolean): Place {
  return { ...place, name, required, depth: place.depth + 1 };
}
