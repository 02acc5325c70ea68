// View of all calls, including those of other clients: filters, arguments, results, and a button to
// repeat them.

import { json, Refusal, request } from "./api.ts";
import { copyAs } from "./copy_as.ts";
import { parse, stringify } from "./digits.ts";
import { button, el, fill, reconcile } from "./dom.ts";
import { drawingElement } from "./drawing.ts";
import { type CallEntry, callerName, isRunning, placeOf, STATES } from "./log.ts";
import { copyButton, moment, resultElements, time } from "./result.ts";
import { withoutSecrets } from "./secrets.ts";
import { address } from "./side.ts";
import type { Store } from "./store.ts";
import { exact } from "./visible.ts";

type Again = (tool: string, args: unknown) => void;

export function callsView(store: Store, again: Again): HTMLElement {
  const list = el("ol.calls", { "aria-label": "Calls" });
  const nothing = el("p.calm");
  const text = el("input", {
    type: "search",
    placeholder: "Tool, argument, client, host, trace",
    "aria-label": "Filter calls",
    autocomplete: "off",
    spellcheck: "false",
    on: { input: draw },
  });
  const state = el(
    "select",
    { "aria-label": "State", on: { change: draw } },
    el("option", { value: "" }, "all states"),
    ...Object.entries(STATES).map(([value, word]) => el("option", { value }, word)),
  );
  const surface = el("select", { "aria-label": "Surface", on: { change: draw } });
  const known = new Map<string, { entry: CallEntry; item: HTMLElement }>();

  function draw(): void {
    const { calls } = store.state;
    drawSurfaces(calls);
    const words = text.value.toLowerCase().split(/\s+/).filter(Boolean);
    const shown = calls.filter(
      (entry) =>
        (state.value === "" || entry.state === state.value) &&
        (surface.value === "" || entry.caller.surface === surface.value) &&
        words.every((word) => textOf(entry, store).includes(word)),
    );
    reconcile(
      list,
      nested(shown).map(({ entry, depth }) => {
        const item = itemOf(entry);
        item.dataset["depth"] = String(Math.min(depth, 3));
        return item;
      }),
    );
    list.hidden = shown.length === 0;
    nothing.hidden = shown.length > 0;
    nothing.textContent =
      calls.length === 0 ? "Nobody has called a tool yet." : "No call matches the filters.";
    const ids = new Set(calls.map(({ id }) => id));
    for (const id of known.keys()) if (!ids.has(id)) known.delete(id);
  }
  /** Returns the item of a call; the same one while the call has not changed. */
  function itemOf(entry: CallEntry): HTMLElement {
    const before = known.get(entry.id);
    if (before && JSON.stringify(before.entry) === JSON.stringify(entry)) return before.item;
    const item = callItem(entry, store, again);
    known.set(entry.id, { entry, item });
    return item;
  }
  function drawSurfaces(calls: CallEntry[]): void {
    const names = [...new Set(calls.map(({ caller }) => caller.surface))].filter(Boolean).sort();
    if (surface.options.length === names.length + 1) return;
    const chosen = surface.value;
    fill(
      surface,
      el("option", { value: "" }, "all surfaces"),
      ...names.map((name) => el("option", { value: name }, name)),
    );
    surface.value = names.includes(chosen) ? chosen : "";
  }
  store.draws(draw, "calls", "tools");
  return el(
    "article.wide",
    el("h1", { tabindex: "-1" }, "Calls"),
    el("div.filters", { role: "search" }, text, state, surface),
    nothing,
    list,
  );
}

/** Returns the calls with their parts directly below them. */
function nested(calls: CallEntry[]): { entry: CallEntry; depth: number }[] {
  const ids = new Set(calls.map(({ id }) => id));
  const children = Map.groupBy(
    calls.filter(({ id, parentId }) => parentId !== id && ids.has(parentId ?? "")),
    ({ parentId }) => parentId ?? "",
  );
  const parts = new Set([...children.values()].flat());
  const below = (entry: CallEntry, depth: number): { entry: CallEntry; depth: number }[] => [
    { entry, depth },
    ...(children.get(entry.id) ?? []).toReversed().flatMap((part) => below(part, depth + 1)),
  ];
  return calls.filter((entry) => !parts.has(entry)).flatMap((entry) => below(entry, 0));
}

function textOf(entry: CallEntry, store: Store): string {
  const { tool, host, traceId } = entry;
  const words = [tool, shortArguments(entry, store), callerName(entry), host, traceId];
  return words.filter(Boolean).join(" ").toLowerCase();
}

function schemaOf(tool: string, store: Store): unknown {
  return store.state.tools.find(({ name }) => name === tool)?.inputSchema;
}

/** Returns the arguments in one line; empty if they are not known. */
function shortArguments(entry: CallEntry, store: Store): string {
  if (entry.arguments === undefined) return "";
  const text = JSON.stringify(entry.arguments);
  return text === "{}" ? "" : withoutSecrets(text, schemaOf(entry.tool, store));
}

function callItem(entry: CallEntry, store: Store, again: Again): HTMLElement {
  const more = el("div.more-of-call", { hidden: true });
  const started = new Date(entry.started);
  return el(
    "li.call.card",
    { "data-state": entry.state },
    el("span.state", el("span.dot"), STATES[entry.state]),
    el(
      "span.what",
      el("a.tool-name", { href: address(entry.tool), named: entry.tool }),
      el("span.path", shortArguments(entry, store)),
    ),
    el(
      "span.when",
      el(
        "time",
        { datetime: started.toISOString(), title: started.toLocaleString() },
        moment(entry.started),
      ),
      el("span", entry.durationMs === undefined ? "" : time(entry.durationMs)),
      el("span", callerName(entry)),
      el("span", { title: entry.traceId ?? "" }, exact(placeOf(entry))),
    ),
    isRunning(entry) ? stopButton(entry) : showButton(entry, more, store, again),
    more,
  );
}

function stopButton(entry: CallEntry): HTMLButtonElement {
  const stop = button("Cancel", () => {
    stop.disabled = true;
    json("DELETE", `/api/calls/${encodeURIComponent(entry.id)}`).catch(() => {
      stop.disabled = false;
    });
  });
  stop.setAttribute("aria-label", `Cancel ${exact(entry.tool)}`);
  return stop;
}

/**
 * A button that shows the result of a call. The result is only requested when the user opens it.
 */
function showButton(
  entry: CallEntry,
  more: HTMLElement,
  store: Store,
  again: Again,
): HTMLButtonElement {
  const show = button("Show", async () => {
    if (more.hidden) fill(more, ...(await detailsOf(entry, store, again)));
    more.hidden = !more.hidden;
    draw();
  });
  function draw(): void {
    const word = more.hidden ? "Show" : "Hide";
    show.textContent = word;
    show.setAttribute("aria-expanded", String(!more.hidden));
    show.setAttribute("aria-label", `${word} the result of ${exact(entry.tool)}`);
  }
  draw();
  return show;
}

async function detailsOf(entry: CallEntry, store: Store, again: Again): Promise<HTMLElement[]> {
  try {
    const answer = await request("GET", `/api/calls/${encodeURIComponent(entry.id)}`);
    const call = parse(await answer.text()) as any;
    const shown: (HTMLElement | null)[] = [];
    const result = call.result ?? call.partialResult;
    if (call.arguments !== undefined) shown.push(...argumentsOf(entry, call, store, again));
    if (result) {
      const drawing = await drawingElement(entry.id);
      shown.push(el("div.result", drawing, ...resultElements(result)));
    }
    if (call.error) {
      const message = call.error.detail ?? call.error.message ?? String(call.error);
      shown.push(el("pre.text.trouble", message));
    }
    if (!result && !call.error) {
      shown.push(el("p.calm", "The result is not kept."));
    }
    return shown.filter((one) => one !== null);
  } catch (error) {
    const gone = error instanceof Refusal && error.status === 404;
    const text = gone ? "The server does not remember this call any more." : String(error);
    return [el("p.calm", text)];
  }
}

/** Shows the arguments of a call, and what can be done with them. */
function argumentsOf(entry: CallEntry, call: any, store: Store, again: Again): HTMLElement[] {
  const given = stringify(call.arguments);
  const text = withoutSecrets(given, schemaOf(entry.tool, store));
  const tool = store.state.tools.find(({ name }) => name === entry.tool);
  const take = tool && {
    tool,
    arguments: given,
    ...(call.result && { result: call.result }),
  };
  return [
    el(
      "div.bar",
      tool && button("Fill in the form again", () => again(entry.tool, call.arguments)),
      take && button("Copy as …", () => copyAs(take)),
    ),
    el(
      "details.more",
      { open: true },
      el("summary", "Arguments"),
      el("pre.text", { tabindex: "0" }, text),
      copyButton(text),
    ),
  ];
}
