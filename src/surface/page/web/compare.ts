// Dialog that compares two calls of a tool line by line: arguments and results.

import { diffLines } from "diff";
import { el, fill, openDialog } from "./dom.ts";
import { prose } from "./visible.ts";

/** A call that can be compared. */
export interface Comparable {
  name: string;
  arguments: string;
  result: string;
}

/** Limit of a compared text in characters. */
const LONG = 200_000;

/** Shows the dialog; `first` is compared with one of the others. */
export function compare(first: Comparable, others: Comparable[]): void {
  const choice = el(
    "select",
    { "aria-label": "Compare with", on: { change: draw } },
    ...others.map((one, index) => el("option", { value: String(index) }, one.name)),
  );
  const content = el("div.compare");
  function draw(): void {
    const other = others[Number(choice.value)];
    if (!other) return;
    fill(
      content,
      el("h3", "Arguments"),
      difference(other.arguments, first.arguments),
      el("h3", "Result"),
      difference(other.result, first.result),
    );
  }
  draw();
  openDialog(`Compare ${first.name}`, el("div.bar", el("span", "with"), choice), content);
}

/** Creates the lines of two texts: removed, added and common ones. */
export function difference(before: string, after: string): HTMLElement {
  const [one, other] = [readable(before), readable(after)];
  if (one === other) return el("p.calm", "No difference.");
  const block = el("pre.diff", { tabindex: "0" });
  for (const part of diffLines(`${one}\n`, `${other}\n`)) {
    const [sign, kind] = part.added ? ["+", "added"] : part.removed ? ["-", "removed"] : [" ", ""];
    for (const line of part.value.replace(/\n$/, "").split("\n")) {
      block.append(el("span", { class: `line ${kind}`.trim() }, `${sign} ${prose(line)}`));
    }
  }
  return block;
}

/** Formats JSON over several lines, so that its parts are compared. */
function readable(text: string): string {
  const shown = text.slice(0, LONG);
  try {
    const value = JSON.parse(shown);
    return typeof value === "object" ? JSON.stringify(value, null, 2) : shown;
  } catch {
    return shown;
  }
}
