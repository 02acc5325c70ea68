// Constraints of a schema in words, which are shown beside the field.

import { stringify } from "../digits.ts";
import { initial, kindOf, type Schema } from "./schema.ts";

/** Limit of a shown value in characters. */
const LONG = 60;

/** Returns the constraints of a resolved node, and its default. */
export function constraints(node: Schema): string[] {
  const all = [...ofText(node), ...ofNumber(node), ...ofList(node), ...ofObject(node)];
  const value = initial(node);
  const hasDefault = value !== undefined && kindOf(node) !== "const";
  return hasDefault ? [...all, `default ${short(show(value))}`] : all;
}

/** Returns the values of an enum in one line. */
export function valuesOf(node: Schema): string {
  return short(node["enum"].map(show).join(" | "));
}

function ofText(node: Schema): string[] {
  const length = range(node["minLength"], node["maxLength"], "character");
  // The pattern of a format says less than its name.
  const pattern = node["format"] === undefined ? node["pattern"] : undefined;
  const encoding = node["contentEncoding"];
  return [
    ...length,
    ...(typeof pattern === "string" ? [`matches ${short(pattern)}`] : []),
    ...(typeof encoding === "string" ? [encoding] : []),
  ];
}

function ofNumber(node: Schema): string[] {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = node;
  const words: string[] = [];
  if (isNumber(minimum) && isNumber(maximum)) words.push(`${minimum} to ${maximum}`);
  else if (isNumber(minimum)) words.push(`at least ${minimum}`);
  else if (isNumber(maximum)) words.push(`at most ${maximum}`);
  if (isNumber(exclusiveMinimum)) words.push(`more than ${exclusiveMinimum}`);
  if (isNumber(exclusiveMaximum)) words.push(`less than ${exclusiveMaximum}`);
  if (isNumber(multipleOf)) words.push(`a multiple of ${multipleOf}`);
  return words;
}

function ofList(node: Schema): string[] {
  const length = range(node["minItems"], node["maxItems"], "item");
  return node["uniqueItems"] === true ? [...length, "no duplicates"] : length;
}

function ofObject(node: Schema): string[] {
  const names = node["propertyNames"]?.["pattern"];
  const words = range(node["minProperties"], node["maxProperties"], "property", "properties");
  return typeof names === "string" ? [...words, `names match ${short(names)}`] : words;
}

function range(least: unknown, most: unknown, one: string, many = `${one}s`): string[] {
  const count = (of: number) => `${of} ${of === 1 ? one : many}`;
  if (isNumber(least) && isNumber(most)) {
    return [least === most ? `exactly ${count(least)}` : `${least} to ${count(most)}`];
  }
  if (isNumber(least) && least > 0) return [`at least ${count(least)}`];
  return isNumber(most) ? [`at most ${count(most)}`] : [];
}

function isNumber(value: unknown): value is number {
  return typeof value === "number";
}

function show(value: unknown): string {
  return typeof value === "string" && value !== "" ? value : stringify(value);
}

function short(text: string): string {
  return text.length > LONG ? `${text.slice(0, LONG)}…` : text;
}
