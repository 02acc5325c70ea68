// Display of what changed since the page was opened.

import type { Change } from "./changes.ts";
import { difference } from "./compare.ts";
import { el, fill } from "./dom.ts";
import { moment } from "./result.ts";
import { address } from "./side.ts";
import type { Store } from "./store.ts";

export function changesElement(store: Store): HTMLElement {
  const element = el("section.changes", { hidden: true });
  const draw = () => {
    const { changes } = store.state;
    element.hidden = changes.length === 0;
    fill(element, el("h2", "Changed since this page was opened"), ...changes.map(card));
  };
  store.draws(draw, "changes");
  return element;
}

function card(change: Change): HTMLElement {
  const { added, removed, changed, solved, found } = change;
  const names = (what: string, tools: string[], isThere: boolean) =>
    tools.length > 0 &&
    el(
      "p",
      `${what}: `,
      ...tools.flatMap((name, index) => [
        index > 0 ? ", " : "",
        isThere ? el("a", { href: address(name), named: name }) : el("code", { named: name }),
      ]),
    );
  return el(
    "div.card.change",
    el("p.calm", moment(change.at)),
    names("Added", added, true),
    names("Removed", removed, false),
    ...changed.map(({ name, parts }) =>
      el(
        "details.more",
        el(
          "summary",
          "Changed: ",
          el("code", { named: name }),
          ` (${parts.map((part) => part.name).join(", ")})`,
        ),
        ...parts.flatMap((part) => [el("h3", part.name), difference(part.before, part.after)]),
      ),
    ),
    ...found.map((problem) => el("p.trouble", `New problem: ${problem.message}`)),
    ...solved.map((problem) => el("p", `Solved: ${problem.message}`)),
  );
}
