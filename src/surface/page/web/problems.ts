// View of the problems that were found, with the source lines and hints for solving them, and of what
// changed since the page was opened.

import type { Problem } from "./api.ts";
import { changesElement } from "./changed.ts";
import { button, el, fill } from "./dom.ts";
import { hintElement } from "./hint.ts";
import { address } from "./side.ts";
import type { Store } from "./store.ts";

const ORDER = ["error", "warning", "info"] as const;
const TITLES = { error: "Errors", warning: "Warnings", info: "Good to know" };

export function problemsView(store: Store, reload: () => Promise<void>): HTMLElement {
  const list = el("div");
  const note = el("p.wrong", { role: "alert" });
  const again = button("Look again", async () => {
    again.disabled = true;
    note.textContent = "";
    await reload()
      .catch((error) => {
        note.textContent = error instanceof Error ? error.message : String(error);
      })
      .finally(() => {
        again.disabled = false;
      });
  });
  const draw = () => {
    const { problems } = store.state;
    const groups = ORDER.map((severity) => {
      const these = problems.filter((problem) => problem.severity === severity);
      if (these.length === 0) return null;
      return el("section", el("h2", TITLES[severity]), ...these.map(problemCard));
    });
    const nothing = el("p.calm", "Nothing is wrong.");
    fill(list, ...(problems.length === 0 ? [nothing] : groups));
  };
  store.draws(draw, "problems");
  return el(
    "article.wide",
    el("div.bar", el("h1", { tabindex: "-1" }, "Problems"), again),
    note,
    list,
    changesElement(store),
  );
}

/** Creates the card of a problem. */
export function problemCard(problem: Problem): HTMLElement {
  const { path, file, line, column, toolName, frame } = problem;
  const place = [file ?? path, line, column].filter((part) => part !== undefined).join(":");
  return el(
    "div",
    { class: `card problem ${problem.severity}` },
    el("pre.message", problem.message),
    place !== "" && el("p.path", { named: place }),
    frame !== undefined && el("pre.frame", { tabindex: "0" }, frame),
    file !== undefined && path !== undefined && el("p.path", { named: `for ${path}` }),
    toolName !== undefined &&
      el("p", "Tool ", el("a", { href: address(toolName), named: toolName })),
    problem.hint !== undefined && hintElement(problem.hint),
  );
}
