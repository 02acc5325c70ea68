// View of all calls, including those of other clients: their end, their result, and a button to
// repeat them.

import { json, Refusal } from "./api.ts";
import { button, el, fill } from "./dom.ts";
import { argumentsOf, type CallEntry, isRunning } from "./log.ts";
import { said, time } from "./said.ts";
import { address } from "./side.ts";
import type { Store } from "./store.ts";
import { exact } from "./visible.ts";

const WORDS: { [State in CallEntry["state"]]: string } = {
  running: "running",
  done: "done",
  failed: "failed",
  refused: "not run",
  stopped: "stopped",
};

type Again = (tool: string, args: unknown) => void;

export function callsView(store: Store, again: Again): HTMLElement {
  const rows = el("tbody", {});
  const table = el(
    "table",
    { class: "log" },
    el(
      "thead",
      {},
      el("tr", {}, ...["State", "Tool", "Started", "Took", ""].map((text) => el("th", { text }))),
    ),
    rows,
  );
  const nothing = el("p", { class: "calm", text: "Nobody has called a tool yet." });
  const known = new Map<string, { entry: CallEntry; row: HTMLTableRowElement }>();
  const draw = () => {
    const { calls } = store.state;
    table.hidden = calls.length === 0;
    nothing.hidden = calls.length > 0;
    const drawn = calls.map((entry) => {
      const before = known.get(entry.id);
      if (before?.entry === entry) return before.row;
      const row = rowOf(entry, again);
      known.set(entry.id, { entry, row });
      return row;
    });
    fill(rows, ...drawn);
  };
  store.on("calls", draw);
  draw();
  return el(
    "article",
    { class: "wide" },
    el("h1", { text: "Calls", tabindex: "-1" }),
    nothing,
    table,
  );
}

function rowOf(entry: CallEntry, again: Again): HTMLTableRowElement {
  const more = el("td", { colspan: "5" });
  const row = el(
    "tr",
    { "data-state": entry.state },
    el("td", {}, el("span", { class: "state" }, el("span", { class: "dot" }), WORDS[entry.state])),
    el("td", {}, el("a", { class: "tool-name", href: address(entry.tool), named: entry.tool })),
    el("td", { class: "when", text: new Date(entry.started).toLocaleTimeString() }),
    el("td", { class: "took", text: entry.durationMs === undefined ? "" : time(entry.durationMs) }),
    el("td", {}, isRunning(entry) ? stopButton(entry) : showButton(entry, more, again)),
  );
  return row;
}

function stopButton(entry: CallEntry): HTMLButtonElement {
  const stop = button("Cancel", () => {
    stop.disabled = true;
    json("DELETE", `/api/calls/${encodeURIComponent(entry.id)}`).catch(() => {
      stop.disabled = false;
    });
  });
  stop.className = "quiet";
  stop.setAttribute("aria-label", `Cancel ${exact(entry.tool)}`);
  return stop;
}

/**
 * A button that shows the result of a call. The result is only requested when the user opens it.
 */
function showButton(entry: CallEntry, more: HTMLElement, again: Again): HTMLButtonElement {
  const line = el("tr", {}, more);
  const show = button("Show", async () => {
    if (line.isConnected) {
      line.remove();
      show.setAttribute("aria-expanded", "false");
      return;
    }
    fill(more, ...(await detailsOf(entry, again)));
    show.closest("tr")?.after(line);
    show.setAttribute("aria-expanded", "true");
  });
  show.className = "quiet";
  show.setAttribute("aria-expanded", "false");
  show.setAttribute("aria-label", `Show what ${exact(entry.tool)} said`);
  return show;
}

async function detailsOf(entry: CallEntry, again: Again): Promise<HTMLElement[]> {
  try {
    const call = await json<any>("GET", `/api/calls/${encodeURIComponent(entry.id)}`);
    const shown: HTMLElement[] = [];
    const text = argumentsOf(entry.id);
    if (text !== undefined) {
      const once = button("Fill in the form again", () => again(entry.tool, JSON.parse(text)));
      once.className = "quiet";
      shown.push(
        el(
          "details",
          { class: "more" },
          el("summary", { text: "Arguments" }),
          el("pre", { class: "text", text, tabindex: "0" }),
        ),
        once,
      );
    }
    const result = call.result ?? call.partialResult;
    if (result) shown.push(el("div", { class: "said" }, ...said(result)));
    if (call.error) {
      const message = call.error.detail ?? call.error.message ?? String(call.error);
      shown.push(el("pre", { class: "text trouble", text: message }));
    }
    if (!result && !call.error) {
      shown.push(el("p", { class: "calm", text: "The result was too long to be kept." }));
    }
    return shown;
  } catch (error) {
    const gone = error instanceof Refusal && error.status === 404;
    const text = gone ? "The server does not remember this call any more." : String(error);
    return [el("p", { class: "calm", text })];
  }
}
