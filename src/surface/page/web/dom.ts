// Elements made and filled in one call. Text is always text: nothing here ever parses markup, and no
// character of it hides or reorders what is around it.

import { exact, prose } from "./visible.ts";

export type Child = Node | string | number | false | null | undefined;

export interface Attributes {
  class?: string;
  id?: string;
  text?: string;
  /** Text that is a name or a path. */
  named?: string;
  on?: { [Event in keyof HTMLElementEventMap]?: (event: HTMLElementEventMap[Event]) => void };
  /** Any other attribute; `false`, null and undefined leave it out, `true` sets it empty. */
  [name: string]: unknown;
}

/** A new element. */
export function el<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[Name] {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (key === "text") element.textContent = prose(String(value));
    else if (key === "named") element.textContent = exact(String(value));
    else if (key === "on") listen(element, value as NonNullable<Attributes["on"]>);
    else element.setAttribute(key, value === true ? "" : attribute(key, String(value)));
  }
  append(element, children);
  return element;
}

/** What people read of an attribute is text as well. */
function attribute(key: string, value: string): string {
  return key === "title" || key === "placeholder" || key === "aria-label" ? prose(value) : value;
}

/** Replaces everything in `parent`. */
export function fill(parent: Element, ...children: Child[]): void {
  parent.replaceChildren();
  append(parent, children);
}

function append(parent: Element, children: Child[]): void {
  for (const child of children) {
    if (child === undefined || child === null || child === false) continue;
    parent.append(typeof child === "object" ? child : prose(String(child)));
  }
}

function listen(element: HTMLElement, listeners: NonNullable<Attributes["on"]>): void {
  for (const [name, listener] of Object.entries(listeners)) {
    element.addEventListener(name, listener as EventListener);
  }
}

let ids = 0;

/** An id that no other element has. */
export function freshId(prefix: string): string {
  ids += 1;
  return `${prefix}-${ids}`;
}

/** A button that submits nothing. */
export function button(
  text: string,
  action: () => void,
  attributes: Attributes = {},
): HTMLButtonElement {
  return el("button", { type: "button", text, on: { click: action }, ...attributes });
}

/** Tells those who listen to the page instead of looking at it. */
export function announce(text: string): void {
  const region = document.getElementById("announcer");
  if (region) region.textContent = prose(text);
}
