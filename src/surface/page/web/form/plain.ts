// Fields for simple values: text, numbers, booleans, enums, constants.

import { el, freshId } from "../dom.ts";
import { prose } from "../visible.ts";
import type { Field, Place } from "./field.ts";
import { initial, type Schema, same } from "./schema.ts";

const NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/;

/** Input types of the browser for formats of JSON Schema. */
const INPUTS: { [format: string]: string } = { date: "date", time: "time", color: "color" };

type Control = HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement;

/** Creates the common part of the fields with a single control. */
export function single(
  control: Control,
  element: HTMLElement,
  rest: Pick<Field, "text" | "set">,
): Field {
  const note = el("p", { class: "wrong", id: freshId("wrong"), hidden: true });
  const wrapped = el("div", { class: "single" }, element, note);
  return {
    element: wrapped,
    control,
    find: (path) => (path.length === 0 ? self() : null),
    mark(message) {
      note.textContent = prose(message);
      note.hidden = message === "";
      control.toggleAttribute("aria-invalid", message !== "");
      if (message !== "") control.setAttribute("aria-errormessage", note.id);
    },
    ...rest,
  };
  function self(): Field {
    return fields.get(wrapped) as Field;
  }
}

// Maps the elements to their fields, so that a field can be a plain object.
const fields = new WeakMap<HTMLElement, Field>();

function known(field: Field): Field {
  fields.set(field.element, field);
  return field;
}

export function textField(node: Schema, place: Place): Field {
  const input = INPUTS[node["format"]];
  const common = {
    id: freshId("field"),
    "aria-label": place.name,
    placeholder: example(node),
    spellcheck: "false",
    autocomplete: "off",
    on: { input: place.changed },
  };
  // Text may contain line breaks, so it gets a text area that grows.
  const control = input
    ? el("input", { ...common, type: input })
    : el("textarea", { ...common, rows: "1", class: "grows" });
  const field = known(
    single(control, control, {
      text() {
        if (control.value === "" && !place.required) return undefined;
        return JSON.stringify(control.value);
      },
      set(value) {
        control.value = value === undefined ? "" : String(value);
      },
    }),
  );
  field.set(initial(node));
  return field;
}

export function numberField(node: Schema, place: Place): Field {
  const isWhole = node["type"] === "integer";
  const control = el("input", {
    id: freshId("field"),
    type: "text",
    inputmode: isWhole ? "numeric" : "decimal",
    class: "number",
    "aria-label": place.name,
    placeholder: example(node) ?? range(node),
    autocomplete: "off",
    on: { input: place.changed },
  });
  const field: Field = known(
    single(control, control, {
      text(wrong) {
        const written = control.value.trim();
        if (written === "") return undefined;
        // The text itself is sent, since `Number` would lose digits.
        if (NUMBER.test(written)) return written;
        wrong.push({ field, message: isWhole ? "not a whole number" : "not a number" });
        return undefined;
      },
      set(value) {
        control.value = value === undefined || value === null ? "" : String(value);
      },
    }),
  );
  field.set(initial(node));
  return field;
}

export function booleanField(node: Schema, place: Place): Field {
  const start = initial(node);
  if (place.required || typeof start === "boolean") {
    const control = el("input", {
      id: freshId("field"),
      type: "checkbox",
      role: "switch",
      "aria-label": place.name,
      on: { change: place.changed },
    });
    const field = known(
      single(control, control, {
        text: () => String(control.checked),
        set(value) {
          control.checked = value === true;
        },
      }),
    );
    field.set(start);
    return field;
  }
  return choice([true, false], "not set", node, place);
}

export function choiceField(node: Schema, place: Place): Field {
  return choice(node["enum"], place.required ? "choose …" : "not set", node, place);
}

function choice(values: unknown[], unset: string, node: Schema, place: Place): Field {
  const control = el(
    "select",
    { id: freshId("field"), "aria-label": place.name, on: { change: place.changed } },
    el("option", { value: "", text: unset }),
    ...values.map((value, index) =>
      el("option", {
        value: String(index),
        text: typeof value === "string" ? value : JSON.stringify(value),
      }),
    ),
  );
  const field = known(
    single(control, control, {
      text: () =>
        control.value === "" ? undefined : JSON.stringify(values[Number(control.value)]),
      set(value) {
        const index = values.findIndex((one) => same(one, value));
        control.value = value === undefined || index === -1 ? "" : String(index);
      },
    }),
  );
  field.set(initial(node));
  return field;
}

/** Creates the field of a constant. If the constant is optional, the user can switch it on. */
export function fixedField(node: Schema, place: Place): Field {
  const value = "const" in node ? node["const"] : null;
  const text = JSON.stringify(value);
  const control = el("input", {
    id: freshId("field"),
    type: "checkbox",
    role: "switch",
    "aria-label": `${place.name}: ${text}`,
    disabled: place.required,
    on: { change: place.changed },
  });
  const field = known(
    single(control, el("span", { class: "fixed" }, control, el("code", { text })), {
      text: () => (control.checked ? text : undefined),
      set(given) {
        control.checked = place.required || given !== undefined;
      },
    }),
  );
  field.set(place.required ? value : node["default"]);
  return field;
}

function example(node: Schema): string | undefined {
  const examples = node["examples"];
  const first = Array.isArray(examples) ? examples[0] : node["example"];
  if (first === undefined) return undefined;
  return typeof first === "string" ? first : JSON.stringify(first);
}

function range(node: Schema): string | undefined {
  const { minimum, maximum } = node;
  if (minimum !== undefined && maximum !== undefined) return `${minimum} … ${maximum}`;
  if (minimum !== undefined) return `at least ${minimum}`;
  return maximum === undefined ? undefined : `at most ${maximum}`;
}
