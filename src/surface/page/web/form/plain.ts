// Fields for simple values: text, numbers, booleans, enums, constants.

import { button, el, freshId } from "../dom.ts";
import { isSecret } from "../secrets.ts";
import { prose } from "../visible.ts";
import type { Field, Place } from "./field.ts";
import { initial, type Schema, same } from "./schema.ts";

const NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/;

/** Input types of the browser for formats of JSON Schema. */
const INPUTS: { [format: string]: string } = {
  date: "date",
  time: "time",
  "date-time": "datetime-local",
  color: "color",
};

/** Keyboards of phones for formats of JSON Schema. */
const KEYBOARDS: { [format: string]: string } = { email: "email", uri: "url", url: "url" };

type Control = HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement;

/** Creates a field with a single control, which shows `start`. */
export function single(
  control: Control,
  element: HTMLElement,
  start: unknown,
  rest: Pick<Field, "text" | "set">,
): Field {
  const note = el("p.wrong", { id: freshId("wrong"), hidden: true });
  const wrapped = el("div.single", element, note);
  const field: Field = {
    element: wrapped,
    control,
    find: (path) => (path.length === 0 ? field : null),
    mark(message) {
      note.textContent = prose(message);
      note.hidden = message === "";
      control.toggleAttribute("aria-invalid", message !== "");
      if (message !== "") control.setAttribute("aria-errormessage", note.id);
    },
    ...rest,
  };
  field.set(start);
  return field;
}

export function textField(node: Schema, place: Place): Field {
  const format: string = node["format"] ?? "";
  const input = isSecret(node) ? "password" : INPUTS[format];
  const common = {
    id: freshId("field"),
    "aria-label": place.name,
    placeholder: example(node),
    spellcheck: "false",
    // Browsers fill in stored passwords unless a field says that its password is new.
    autocomplete: input === "password" ? "new-password" : "off",
    inputmode: KEYBOARDS[format],
    step: input === "time" || input === "datetime-local" ? "1" : null,
    on: { input: place.changed },
  };
  // Text may contain line breaks, so it gets a text area that grows.
  const control = input
    ? el("input", { ...common, type: input })
    : el("textarea", { ...common, rows: "1", class: "grows" });
  const isMoment = input === "datetime-local";
  return single(control, withHelp(control, node, place), initial(node), {
    text() {
      if (control.value === "" && !place.required) return undefined;
      return JSON.stringify(isMoment ? withZone(control.value) : control.value);
    },
    set(value) {
      const text = value === undefined ? "" : String(value);
      control.value = isMoment ? local(text) : text;
    },
  });
}

/** Adds a button to a text field: to show a password, or to read a file. */
function withHelp(control: Control, node: Schema, place: Place): HTMLElement {
  if (control instanceof HTMLInputElement && control.type === "password") {
    const show = button("Show", () => {
      const isHidden = control.type === "password";
      control.type = isHidden ? "text" : "password";
      show.textContent = isHidden ? "Hide" : "Show";
      show.setAttribute("aria-pressed", String(isHidden));
    });
    show.setAttribute("aria-pressed", "false");
    show.setAttribute("aria-label", `Show ${place.name}`);
    return el("div.with-help", control, show);
  }
  const isFile =
    node["contentEncoding"] === "base64" || ["byte", "binary"].includes(node["format"] ?? "");
  if (!isFile || !(control instanceof HTMLTextAreaElement)) return control;
  const name = el("span.calm");
  const file = el("input", {
    type: "file",
    "aria-label": `File for ${place.name}`,
    accept: node["contentMediaType"],
    on: {
      async change() {
        const chosen = file.files?.[0];
        if (!chosen) return;
        control.value = base64(new Uint8Array(await chosen.arrayBuffer()));
        name.textContent = prose(`${chosen.name}, ${chosen.size} bytes, as base64`);
        place.changed();
      },
    },
  });
  return el("div.file", file, name, control);
}

function base64(bytes: Uint8Array): string {
  const parts: string[] = [];
  for (let at = 0; at < bytes.length; at += 0x8000) {
    parts.push(String.fromCharCode(...bytes.subarray(at, at + 0x8000)));
  }
  return btoa(parts.join(""));
}

/** Returns a local time with the offset of the browser's zone (RFC 3339). */
function withZone(text: string): string {
  const date = new Date(text);
  if (Number.isNaN(date.getTime())) return text;
  const minutes = -date.getTimezoneOffset();
  const two = (of: number) => String(Math.floor(Math.abs(of))).padStart(2, "0");
  const seconds = text.length === 16 ? `${text}:00` : text;
  if (minutes === 0) return `${seconds}Z`;
  return `${seconds}${minutes < 0 ? "-" : "+"}${two(minutes / 60)}:${two(minutes % 60)}`;
}

/** Returns a moment in the browser's zone, as its input wants it. */
function local(text: string): string {
  const date = new Date(text);
  if (Number.isNaN(date.getTime())) return "";
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}

export function numberField(node: Schema, place: Place): Field {
  const isWhole = node["type"] === "integer";
  const control = el("input", {
    id: freshId("field"),
    type: "text",
    inputmode: isWhole ? "numeric" : "decimal",
    class: "number",
    "aria-label": place.name,
    placeholder: example(node),
    autocomplete: "off",
    on: { input: place.changed },
  });
  const field: Field = single(control, control, initial(node), {
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
  });
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
    return single(control, control, start, {
      text: () => String(control.checked),
      set(value) {
        control.checked = value === true;
      },
    });
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
    el("option", { value: "" }, unset),
    ...values.map((value, index) =>
      el(
        "option",
        { value: String(index) },
        typeof value === "string" ? value : JSON.stringify(value),
      ),
    ),
  );
  return single(control, control, initial(node), {
    text: () => (control.value === "" ? undefined : JSON.stringify(values[Number(control.value)])),
    set(value) {
      const index = values.findIndex((one) => same(one, value));
      control.value = value === undefined || index === -1 ? "" : String(index);
    },
  });
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
  const start = place.required ? value : node["default"];
  return single(control, el("span.fixed", control, el("code", text)), start, {
    text: () => (control.checked ? text : undefined),
    set(given) {
      control.checked = place.required || given !== undefined;
    },
  });
}

function example(node: Schema): string | undefined {
  const examples = node["examples"];
  const first = Array.isArray(examples) ? examples[0] : node["example"];
  if (first === undefined) return undefined;
  return typeof first === "string" ? first : JSON.stringify(first);
}
